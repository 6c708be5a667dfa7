"""Tests of the command line: naming a backend, choosing invariants, requirements, and the exit status."""

import html
from pathlib import Path

import pytest

from ..support.paths import ROOT
from ..support.pytest_process import (
    ATTENTION,
    EPS_OUTSIDE,
    NUMPY,
    RELU,
    RMS_NORM,
    ROPE,
    SOFTMAX,
    complaints,
    environment,
    python,
    suite,
    write,
)

RELU_REFERENCE = ("-k", "relu.reference")  # every backend here that has relu passes it


def write_distribution(folder: Path, entry_points: str) -> None:
    """Write the metadata that pip leaves of a distribution that registers backends."""
    (info := folder / "acme-1.0.dist-info").mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[spec_tests.backends]\n{entry_points}\n")


# --- naming a backend -------------------------------------------------------------------------------------------------


IN_CLASS = "\n\nclass Mine:\n    framework = 'numpy'\n    dtypes = ('float32',)\n    relu = staticmethod(relu)\n\nmine = Mine()"


def test_a_backend_is_found_however_it_is_named(tmp_path: Path) -> None:
    (folder := tmp_path / "of backends").mkdir()
    forms = {  # a file in the folder, and what names it
        "relative": "of backends/relative.py",
        "absolute": str(folder / "absolute.py"),
        "class_of_file": "of backends/class_of_file.py:Mine",
        "instance_of_file": f"{folder / 'instance_of_file.py'}:mine",
        "dotted": "dotted",
        "class_of_module": "class_of_module:Mine",
        "instance_of_module": "instance_of_module:mine",
        "registered": "acme-numpy",
    }
    write(folder, **dict.fromkeys(forms, NUMPY + RELU + IN_CLASS))
    write_distribution(folder, "acme-numpy = registered:Mine")
    words = (f"--backend={text}" for text in forms.values())
    run = suite(tmp_path, *words, *RELU_REFERENCE, env=environment(ROOT, folder))
    assert run.code == 0, run.text
    assert [(fact["id"], fact["status"]) for fact in run.facts] == [("relu.reference", "passed")] * len(forms)
    assert len({fact["backend"] for fact in run.facts}) == len(forms)


def test_a_backend_imports_its_neighbours(tmp_path: Path) -> None:
    (folder := tmp_path / "tests").mkdir()
    lines = {"absolute": "import helper_next_to_it as helper", "relative": "from . import helper_next_to_it as helper"}
    for name, line in lines.items():
        check = f"assert helper.relu is relu or {name == 'absolute'}"
        write(folder, **{name: f"{line}\nfrom .helper_next_to_it import *\n\n{check}"})
    write(folder, helper_next_to_it=NUMPY + RELU)
    run = suite(tmp_path, *(f"--backend=tests/{name}.py" for name in lines), *RELU_REFERENCE)
    assert run.code == 0, run.text
    assert run.count("passed") == len(lines)


REFUSED = {
    "numpy-cup": ("", "unknown; did you mean numpy-cpu or "),
    "nothing.like.it": ("", "unknown. Built in: array-api-strict-cpu, "),
    "mine:nowhere": (NUMPY, "mine has no attribute 'nowhere'"),
    "mien.py": ("", "there is no file"),
    "mien.py:Mine": ("", "there is no file"),
    "mine.py:Nowhere": ("", "mine.py has no attribute 'Nowhere'"),
    "raises.py": (
        "def f():\n    raise ValueError('no such gate')\n\nf()",
        "importing it raised ValueError: no such gate (line 2 of",
    ),
    "exits.py": ("import sys\nsys.exit(3)", "importing it raised SystemExit: 3 (line 2 of"),
    "syntax.py": ("framework = 'numpy'\ndef softmax(x:\n", "importing it raised SyntaxError"),
    "needs.py": (
        "import some_library_that_is_not_there",
        "it imports 'some_library_that_is_not_there', which is not installed here (line 1 of ",
    ),
    "anonymous.py": (SOFTMAX, "it does not say whose arrays it takes"),
    "framework.py": ("framework = 'pytroch'", "its framework 'pytroch' cannot be imported"),
    "no_array.py": ("framework = 'json'", "its framework 'json' has no array API namespace"),
    "dtype.py": (NUMPY + SOFTMAX + "dtypes = ('float31',)", "its dtypes name 'float31'; there are float64, float32,"),
    "empty.py": (NUMPY, "it defines none of the operations (spec-tests list operations prints them)"),
    "domain.py": (NUMPY + SOFTMAX + "domain = {'sofmax': {}}", "its domain names 'sofmax', which is no operation"),
    "dtypes.py": (NUMPY + SOFTMAX + "dtypes = 'float32'", "its dtypes is the string 'float32'; give a tuple"),
    "dimension.py": (
        NUMPY + SOFTMAX + "domain = {'softmax': {'axes': (-1,)}}",
        "its domain of softmax names 'axes'; did you mean axis?",
    ),
    "scalar.py": (NUMPY + SOFTMAX + "domain = {'softmax': {'n': 64}}", "its domain of softmax gives n = 64; give all the values"),
    "bare.py": (NUMPY + SOFTMAX + "domain = {'softmax': {'dtype': 'float32'}}", "gives dtype = 'float32'; give all the values"),
    "tied.py": (NUMPY + RMS_NORM + "domain = {'rms_norm': {'d': 'd_k'}}", "d = 'd_k'; a string names another dimension: none"),
    "nothing_allowed.py": (NUMPY + SOFTMAX + "domain = {'softmax': {'n': range(0)}}", "n = range(0, 0); it allows no value"),
    "cache_batch.py": (
        NUMPY + "def kv_cache_append(*arrays): ...\ndomain = {'kv_cache_append': {'batch_dims': (0, 2)}}",
        "gives batch_dims = (0, 2); its batch has 1 dimension in every call",
    ),
    "boolean.py": (NUMPY + SOFTMAX + "domain = {'softmax': {'empty': 0}}", "gives empty = 0; it is True or False"),
    "kinds.py": (
        NUMPY + ROPE + "rope = turned\ndomain = {'rope': {'positions': 'sorted'}}",
        "it is one of arbitrary, offset, consecutive",
    ),
    "convention.py": (NUMPY + SOFTMAX + "conventions = {'causal': 'left'}", "its conventions name 'causal'; there are"),
    "precision.py": (NUMPY + SOFTMAX + "precision = 'sloppy'", "its precision is 'sloppy'; there are fused, mixed, eager"),
}


@pytest.mark.rotating
def test_a_backend_that_cannot_be_had_is_one_sentence(tmp_path: Path) -> None:
    for name, (body, _) in REFUSED.items():
        if name.endswith(".py") and body:
            write(tmp_path, **{name.removesuffix(".py"): body})
    write(tmp_path, mine=NUMPY)
    found = complaints(tmp_path, *(f"--backend={name}" for name in REFUSED))
    for (name, (_, sentence)), complaint in zip(REFUSED.items(), found, strict=True):
        assert complaint.startswith(f"--backend={name}: ")
        assert sentence in complaint


def test_a_refused_run_says_so_and_runs_nothing(tmp_path: Path) -> None:
    run = suite(tmp_path, "--backend=numpy-cup")
    assert run.complaint.startswith("--backend=numpy-cup: unknown; did you mean numpy-cpu or ")
    assert "? Built in: " in run.complaint


@pytest.mark.rotating
def test_a_device_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    names = ("torch-cuda", "torch-fused-cuda", "torch-compile-cuda")
    for name, complaint in zip(names, complaints(tmp_path, *(f"--backend={name}" for name in names)), strict=True):
        assert complaint.startswith(f"--backend={name}: torch has no device 'cuda' here")
        assert "numpy-cpu, " in complaint.partition("built in are ")[2]


def test_backends_are_listed(tmp_path: Path) -> None:
    write_distribution(tmp_path, "acme-numpy = mine:Mine")
    run = python(tmp_path, "-m", "pytest", "-p", "spec_tests.plugin", "--list-backends", env=environment(ROOT, tmp_path))
    assert run.returncode == 0, run.stderr
    names = [line.split()[0] for line in run.stdout.splitlines()[:-1]]
    assert names == [*sorted(path.stem.replace("_", "-") for path in (ROOT / "backends").glob("[!_]*.py")), "acme-numpy"]


# --- what is asked of it ----------------------------------------------------------------------------------------------

UNKNOWN = {
    "--dtype=float23": "there is no dtype 'float23'. Did you mean float32",
    "--precision=fussed": "there is no precision class 'fussed'. Did you mean fused?",
    "--effort=smok": "there is no effort 'smok'. Did you mean smoke?",
    "--require=soft_max": "there is no operation 'soft_max'. Did you mean softmax",
    "--require-level=limit": "there is no level 'limit'. Did you mean limits?",
}


def test_an_option_that_cannot_be_met_is_one_sentence(tmp_path: Path) -> None:
    found = complaints(tmp_path, *UNKNOWN)
    for (option, sentence), complaint in zip(UNKNOWN.items(), found, strict=True):
        assert complaint.startswith(f"{option}: {sentence}")


def test_a_dtype_that_the_backend_lacks_is_one_sentence(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + SOFTMAX)
    (complaint,) = complaints(tmp_path, ("--backend=mine.py", "--dtype=float64"))
    assert complaint == "--dtype=float64: mine offers float32; nothing would run."


def test_only_the_dtype_asked_for_is_tried(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + "dtypes = ('float64', 'float32', 'float16')" + RELU)
    run = suite(tmp_path, "--backend=mine.py", "--dtype=float64,float16", *RELU_REFERENCE)
    assert {fact["dtype"] for fact in run.facts} == {"float64", "float16"}


@pytest.mark.rotating
def test_a_stricter_precision_is_held(tmp_path: Path) -> None:
    """float16 code that is not fused is eager. That is enough for softmax, unless --precision=fused requires more."""
    total = "np.sum(e, axis=axis, keepdims=True"
    half = NUMPY + "dtypes = ('float16',)" + SOFTMAX.replace(f"{total})", f"{total}, dtype=np.float32).astype(x.dtype)")
    write(tmp_path, mine=half, fused=half + "\n\nprecision = 'fused'")
    args = ("-k", "softmax.reference", "--hypothesis-seed=0")
    stated = suite(tmp_path, "--backend=mine.py", "--backend=fused.py", *args)
    assert stated.statuses == {"softmax.reference mine float16": "passed", "softmax.reference fused float16": "failed"}
    assert next(fact["class"] for fact in stated.facts if fact["backend"] == "mine") == "eager"
    assert suite(tmp_path, "--backend=mine.py", "--precision=fused", *args).code == 1


def test_what_is_required_must_be_there(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU)
    run = suite(tmp_path, "--backend=mine.py", "--require=silu,relu", "-k", "relu.reference or silu.reference")
    assert run.code == 1
    assert run.statuses == {"relu.reference mine float32": "passed", "silu.reference mine float32": "failed"}
    assert "required, but mine does not implement silu" in run.text
    assert suite(tmp_path, "--backend=mine.py", "--require=relu", *RELU_REFERENCE).code == 0


@pytest.mark.rotating
def test_a_requirement_is_not_missed_where_another_operation_of_the_law_is_missing(tmp_path: Path) -> None:
    """Laws that compare softmax with log_softmax, logsumexp or sigmoid are skipped. They do not fail."""
    write(tmp_path, mine=NUMPY + SOFTMAX)
    run = suite(tmp_path, "--backend=mine.py", "--require=softmax", "-k", "softmax or sigmoid")
    assert run.code == 0, run.text
    assert run.statuses["softmax.reference mine float32"] == "passed"
    assert "failed" not in run.statuses.values()
    run = suite(tmp_path, "--backend=mine.py", "--require=softmax,log_softmax", "-k", "softmax")
    assert run.code == 1
    failed = {name for name, status in run.statuses.items() if status == "failed"}
    assert "log_softmax.reference mine float32" in failed
    assert not any(name.startswith("softmax.reference") for name in failed)
    assert run.text.count("required, but mine does not implement log_softmax") > 0
    assert "does not implement sigmoid" not in "".join(line for line in run.text.splitlines() if "required, but" in line)


UNEQUAL_REFUSED = """

def scaled_dot_product_attention(q, k, v, mask=None, *, is_causal=False):
    assert not is_causal or q.shape[-2] == k.shape[-2], "unequal lengths"
    return attention(q, k, v, mask, is_causal=is_causal)
"""


def test_a_convention_that_is_not_stated_misses_no_requirement(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + ATTENTION + UNEQUAL_REFUSED)
    args = ("--require=scaled_dot_product_attention", "-k", "scaled_dot_product_attention and causal_alignment")
    run = suite(tmp_path, "--backend=mine.py", *args)
    assert set(run.statuses.values()) == {"skipped"}, run.text
    assert "required, but" not in run.text


def test_the_convention_that_is_found_is_printed_with_the_line_that_states_it(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + ATTENTION + "\n\nscaled_dot_product_attention = attention")
    args = ("--backend=mine.py", "-k", "scaled_dot_product_attention and (causal_alignment or fully_masked_rows)")
    run = suite(tmp_path, *args, "--report=found")
    assert run.code == 0, run.text
    assert "causal_alignment of scaled_dot_product_attention: " in run.text
    line = next(line for line in run.text.splitlines() if "add: conventions = {" in line)
    assert line.partition("add: ")[2] in html.unescape((tmp_path / "found/report.html").read_text())


def test_a_level_fails_the_run_only_where_it_is_required(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + "\n\ndef relu(x):\n    return np.where(x > 0, x, np.float32(0))  # of NaN: 0")
    args = ("--backend=mine.py", "-k", "relu and nan_propagation or relu.reference")
    run = suite(tmp_path, *args)
    assert run.code == 0
    assert run.statuses["relu.nan_propagation mine float32"] == "not held"
    assert "nan-propagation 0 of 1" in run.text
    run = suite(tmp_path, *args, "--require-level=nan-propagation")
    assert run.code == 1
    assert run.statuses["relu.nan_propagation mine float32"] == "failed"


def test_several_backends_are_tried_side_by_side(tmp_path: Path) -> None:
    write(tmp_path, right=NUMPY + RMS_NORM, wrong=NUMPY + EPS_OUTSIDE)
    run = suite(tmp_path, "--backend=right.py", "--backend=wrong.py", "--backend=right.py", "-k", "rms_norm.reference")
    assert run.statuses == {"rms_norm.reference right float32": "passed", "rms_norm.reference wrong float32": "failed"}
    assert "= right: precision class reached" in run.text
    assert "= wrong: precision class reached" in run.text
