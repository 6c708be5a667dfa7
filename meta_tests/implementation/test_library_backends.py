"""The built-in backends of libraries: each loads, or one sentence says what is missing, and the findings' pages are right."""

import re
from functools import partial
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from spec_tests.implementation.autodiff import Differentiation
from spec_tests.implementation.backend import load
from spec_tests.implementation.framework import Framework
from spec_tests.implementation.lookup import BackendError, built_in_backends
from spec_tests.inputs.draw import THETA
from spec_tests.specification import run_settings
from spec_tests.specification.registry import operations
from spec_tests.specification.run_settings import RunSettings

from ..support.in_process import attempt, backend, trials
from ..support.paths import ROOT
from ..support.pytest_process import complaints, environment, python, suite, write

pytestmark = pytest.mark.slow  # some minutes where the libraries are installed

PAGES = sorted((ROOT / "docs" / "findings").glob("*.md"))
CONFORMING = {  # in float32, but for these operations, which are known to be wrong
    "numpy-array-api": (),
    "torch-array-api": (),
    "array-api-strict-cpu": (),
    "dask-array-api": (),
    "jax-cpu": ("layer_norm",),
    "jax-jit": ("layer_norm",),
    "mlx-cpu": ("gelu", "adamw_step", "adamw_steps"),
}


@pytest.mark.parametrize("name", built_in_backends())
def test_a_backend_is_there_or_says_what_it_lacks(name: str) -> None:
    complaint, loaded = "", None
    try:
        loaded = load(name, ROOT, set(operations()))
    except BackendError as error:
        complaint = str(error)
    if loaded is None:
        reasons = (
            r"it imports '[\w.]+', which is not installed here|\w+ has no device '\w+' here|its framework '\w+' cannot|"
            "importing it raised ImportError: (triton was imported before, to compile|Keras runs on .*); run this backend alone|"
            "it runs on several ranks"
        )
        assert re.match(rf"--backend={name}: ({reasons})", complaint)
    else:
        assert set(loaded.dtypes) <= set(loaded.framework.dtypes)
        assert loaded.name == name


ABSENT = """
import sys

LIBRARIES = (
    "torch jax optax mlx onnxruntime transformers triton liger_kernel array_api_strict dask cupy equinox keras "
    "rotary_embedding_torch trl mlx_lm paddle torchao bitsandbytes"
)

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in LIBRARIES.split():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""


@pytest.mark.rotating
def test_without_its_library_a_backend_is_refused_in_one_sentence(tmp_path: Path) -> None:
    write(tmp_path, sitecustomize=ABSENT, of_cupy="framework = 'cupy'")
    names = [name for name in built_in_backends() if not name.startswith("numpy")]
    refusals = complaints(tmp_path, *(f"--backend={name}" for name in [*names, "of_cupy.py"]), env=environment(ROOT, tmp_path))
    for name, complaint in zip(names, refusals[:-1], strict=True):
        assert re.fullmatch(
            rf"--backend={name}: it imports '[\w.]+', which is not installed here \(line \d+ of \S+\); install it first, or "
            r"name the Python that has it, as in --python=\.venv/bin/python",
            complaint,
        )
    assert refusals[-1].startswith("--backend=of_cupy.py: its framework 'cupy' cannot be imported")


@pytest.mark.parametrize("name", CONFORMING)
def test_what_is_not_among_the_findings_conforms(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    under_test = load_or_skip(name)
    monkeypatch.setattr(run_settings, "_current", RunSettings("smoke"))
    tried = [(test, trial) for test, trial in trials(under_test) if test.invariant.id == "operation.reference"]
    tried = [
        (test, trial)
        for test, trial in tried
        if trial.dtype in ("float32", "bool") and trial.operation_name not in CONFORMING[name]
    ]
    assert len(tried) > 15
    assert {trial.operation_name: violation.what for test, trial in tried if (violation := attempt(test, trial, 1))} == {}


RIGHT_PARTS = {"mlx-cpu": {"adamw_step": ("moments_are_averages", "learning_rate_of_zero")}}


@pytest.mark.parametrize("name", RIGHT_PARTS)
def test_what_is_right_of_a_wrong_operation_conforms(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A finding is excluded by its operation above; the laws that do not concern it hold, in float32."""
    under_test = load_or_skip(name)
    monkeypatch.setattr(run_settings, "_current", RunSettings("smoke"))
    laws = {f"{operation}.{law}" for operation, names in RIGHT_PARTS[name].items() for law in names}
    tried = [(test, trial) for test, trial in trials(under_test) if test.invariant.id in laws and trial.dtype == "float32"]
    assert {test.invariant.id for test, _ in tried} == laws
    assert [test.invariant.id for test, trial in tried if attempt(test, trial, 1)] == []


@pytest.mark.rotating
def test_torch_compile_compiles_and_conforms(monkeypatch: pytest.MonkeyPatch) -> None:
    under_test = load_or_skip("torch-compile")
    monkeypatch.setattr(run_settings, "_current", RunSettings("smoke"))
    tried = [t for t in trials(under_test) if t[0].invariant.id_for(t[1].operation_name) == "rms_norm.reference"]
    assert [attempt(test, trial, 1) for test, trial in tried] == [None, None]


def test_the_kernels_of_liger_run_in_the_interpreter(tmp_path: Path) -> None:
    """In a process of its own: a process that has imported Triton before, to compile, cannot interpret."""
    if not find_spec("liger_kernel"):
        pytest.skip("liger_kernel is not installed here")
    kernels = "rms_norm or layer_norm or gated_activation or cross_entropy or mixture_of_experts"
    run = suite(tmp_path, "--backend=liger-kernel-interpret", "--effort=smoke", "-k", f"reference and ({kernels}) and not vjp")
    assert (run.count("failed"), run.count("passed")) == (0, 14), run.text  # of seven operations, in float32 and in float16


def test_torch_compile_has_one_program_for_every_theta() -> None:
    under_test = load_or_skip("torch-compile")
    torch, statistics = import_module("torch"), import_module("torch._dynamo.utils").counters["stats"]
    rope, x, before = under_test.function("rope"), torch.ones(3, 5, 8), statistics["unique_graphs"]
    for theta in THETA:
        under_test.run_guarded(partial(rope, x, torch.arange(5), theta=theta), "rope")
    assert statistics["unique_graphs"] == before + 1


def test_results_that_jax_traces_have_gradients_also_where_they_are_wider_than_their_cotangent() -> None:
    pytest.importorskip("jax")
    framework = Framework("jax")
    x = framework.native(np.array([1.0, 2.0]), "float16")
    several = Differentiation("attention_with_lse", ("q",), ("out", "lse"), (x,), {})
    _, pull = several.linearize(framework, lambda q: {"out": q, "lse": 2 * q.astype("float32")})
    assert list(framework.numpy(pull((x, x))["q"])) == [3.0, 6.0]
    alone = Differentiation("relu", ("x",), (), (x,), {})
    _, pull = alone.linearize(framework, lambda x: 3 * x.astype("float32"))
    assert list(framework.numpy(pull(x)["x"])) == [3.0, 6.0]


WITHOUT_GRADIENT = {
    "jax": """
import jax

framework = "jax"

def relu(x):
    return jax.lax.while_loop(lambda carry: carry[0] < 1, lambda carry: (carry[0] + 1, jax.nn.relu(carry[1])), (0, x))[1]
""",
    "mlx": """
import mlx.core as mx

framework = "mlx"
dtypes = ("float32",)

def relu(x):
    with mx.stream(mx.cpu):
        return mx.view(mx.view(mx.maximum(x, 0), mx.uint32), mx.float32)
""",
}


@pytest.mark.parametrize("library", WITHOUT_GRADIENT)
def test_what_a_framework_cannot_differentiate_is_not_implemented(library: str, tmp_path: Path) -> None:
    pytest.importorskip(library)
    write(tmp_path, mine=WITHOUT_GRADIENT[library])
    run = suite(tmp_path, "--backend=mine.py", "-k", "relu_vjp")
    assert run.count("failed") == 0, run.text
    assert "relu_vjp (its result carries no gradient)" in run.text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_findings_show_themselves(page: Path, tmp_path: Path) -> None:
    """Run the examples of a page if the version of the library that the page names is installed.

    They run in a process of their own, because some libraries read their settings only once.
    """
    if not find_spec(page.stem):
        pytest.skip(f"{page.stem} is not installed here")
    text = page.read_text()
    versions = {metadata.version(name).partition("+")[0] for name in metadata.packages_distributions()[page.stem]}
    if not any(version in text for version in versions):
        pytest.skip(f"the page is about another version of {page.stem}")
    examples = "\n".join(re.findall(r"```pycon\n(.*?)```", text, re.DOTALL))
    assert ">>> " in examples
    (tmp_path / page.name).write_text(examples)
    done = python(tmp_path, "-m", "doctest", "-o", "NORMALIZE_WHITESPACE", "-o", "ELLIPSIS", page.name)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def load_or_skip(name: str):  # type: ignore[no-untyped-def]
    """Return the backend. Skip the test if it cannot be loaded."""
    try:
        return backend(name)
    except BackendError as error:
        pytest.skip(str(error))
