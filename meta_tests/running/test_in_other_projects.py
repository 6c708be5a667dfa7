"""Tests of `check` and `parametrize` in another project, which has pytest and Hypothesis settings of its own."""

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import spec_tests
from spec_tests.implementation.lookup import BackendError
from spec_tests.inputs import effort

from ..support.paths import ROOT
from ..support.pytest_process import EPS_OUTSIDE, NUMPY, RELU, RMS_NORM, Run, environment, pytest_run, python, suite, write

SETTINGS = """
[tool.pytest.ini_options]
filterwarnings = ["error"]
addopts = ["--strict-markers", "--strict-config", "-p", "no:cacheprovider"]
xfail_strict = true
"""
CONFTEST = """
from datetime import timedelta

from hypothesis import settings

settings.register_profile("theirs", max_examples=1, deadline=timedelta(milliseconds=1), derandomize=True)
settings.load_profile("theirs")
"""
TESTS = """
import spec_tests
from hypothesis import given, settings
from hypothesis import strategies as st


@spec_tests.parametrize("my_package.kernels", operations=("rms_norm", "relu.idempotent"), effort="smoke"{more})
def test_conforms(check):
    facts = check()
    assert facts["examples"] + facts["refused"] > (".reference" in facts["id"])


@given(st.integers())
def test_own(number):
    assert settings().max_examples == 1
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in {"pyproject.toml": SETTINGS, "conftest.py": CONFTEST}.items():
        (tmp_path / name).write_text(text)
    (package := tmp_path / "my_package").mkdir()
    write(package, __init__="", kernels=NUMPY + "dtypes = ('float64', 'float32')" + RMS_NORM + RELU)
    (tmp_path / "tests").mkdir()
    return tmp_path


def run_project(project: Path, *args: str, more: str = "") -> Run:
    """Run pytest in the project. `more` is added to the arguments of `parametrize`."""
    write(project / "tests", test_kernels=TESTS.format(more=more))
    return pytest_run(project, "-q", *args, env=environment(ROOT, project))


def collect_outcomes(found: Run) -> dict[str, str]:
    """Return the outcome of each check of a run, by its id."""
    return {name.partition("test_conforms[")[2].removesuffix("]"): tag for name, tag in found.nodes.items() if "conforms" in name}


@pytest.mark.rotating
def test_there_is_an_item_for_each_invariant_and_dtype(project: Path) -> None:
    found = run_project(project)
    assert found.code == 0, found.text
    ran = collect_outcomes(found)
    assert {"rms_norm.reference[float64]", "rms_norm.reference[float32]"} <= ran.keys()
    assert len({"rms_norm.not_an_alias[float64]", "rms_norm.not_an_alias[float32]"} & ran.keys()) == 1
    assert {name.partition(".")[0] for name in ran} == {"rms_norm", "relu"}
    assert len([name for name in ran if name.startswith("relu")]) == 1
    assert len(found.nodes) == len(ran) + 1
    assert collect_outcomes(run_project(project, "-n", "2")) == ran


@pytest.mark.rotating
def test_a_failure_is_its_message(project: Path) -> None:
    write(project / "my_package", kernels=NUMPY + EPS_OUTSIDE + RELU)
    found = run_project(project, "-k", "rms_norm.reference or rms_norm.odd")
    assert found.code == 1
    assert collect_outcomes(found) == {"rms_norm.reference[float32]": "failure", "rms_norm.odd[float32]": ""}
    message = found.text.partition("DoesNotConform: ")[2].splitlines()
    assert message[0] == "my_package.kernels breaks rms_norm.reference"
    again = (
        r"again: pytest --pyargs spec_tests --backend=my_package.kernels --dtype=float32 --example=[\d.]+ -k rms_norm.reference"
    )
    assert re.search(again, found.text)
    assert "x = [" in found.text
    assert "running/check.py" not in found.text  # no frame of this suite between the test and the message
    single = run_project(project, "tests/test_kernels.py::test_conforms[rms_norm.odd[float32]]")
    assert collect_outcomes(single) == {"rms_norm.odd[float32]": ""}


@pytest.mark.rotating
def test_what_is_known_to_fail_must_fail(project: Path) -> None:
    more = ", known_failing={'rms_norm.reference': 'eps is outside, issue 7', 'rms_norm.eps_is_inside_the_root[float32]': 'too'}"
    only = ("-k", "rms_norm.reference or rms_norm.odd")
    write(project / "my_package", kernels=NUMPY + EPS_OUTSIDE + RELU)
    assert collect_outcomes(run_project(project, *only, more=more)) == {
        "rms_norm.reference[float32]": "skipped",
        "rms_norm.odd[float32]": "",
    }
    write(project / "my_package", kernels=NUMPY + RMS_NORM + RELU)
    repaired = run_project(project, *only, more=more)
    assert collect_outcomes(repaired) == {"rms_norm.reference[float32]": "failure", "rms_norm.odd[float32]": ""}
    assert "XPASS(strict)" in repaired.text
    unknown = run_project(project, more=", known_failing={'rms_norm.refrence': 'eps'}")
    assert "known_failing names rms_norm.refrence, which is not among the" in unknown.text


def test_the_package_weighs_nothing_until_it_is_used(project: Path) -> None:
    heavy = "sorted(sys.modules.keys() & {'numpy', 'hypothesis', 'pytest', 'spec_tests.running.check'})"
    printed = python(project, "-c", f"import sys, spec_tests; print({heavy}); spec_tests.check; print({heavy})")
    assert printed.stdout.splitlines() == ["[]", "['hypothesis', 'numpy', 'pytest', 'spec_tests.running.check']"]


# --- check ------------------------------------------------------------------------------------------------------------


def relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)


def negative(x: np.ndarray) -> np.ndarray:
    return np.minimum(x, 0)


class Kernels:
    framework, dtypes = "numpy", ("float32",)
    relu = staticmethod(relu)


def build_module() -> ModuleType:
    module = ModuleType("made")
    module.__dict__.update(framework="numpy", dtypes=("float32",), relu=relu)
    return module


BACKEND_OBJECTS = {
    "module": build_module(),
    "namespace": SimpleNamespace(framework="numpy", dtypes=("float32",), relu=relu),
    "class": Kernels,
    "instance": Kernels(),
    "mapping": {"framework": "numpy", "dtypes": ("float32",), "relu": relu},
}


@pytest.mark.parametrize("how", BACKEND_OBJECTS)
def test_any_object_can_be_checked(how: str) -> None:
    verdicts = spec_tests.check(BACKEND_OBJECTS[how], "relu.rectifies", effort="smoke")
    assert [(fact.id, fact.dtype, fact.status) for fact in verdicts] == [("relu.rectifies", "float32", "passed")]
    assert effort.current_effort().name == "default"


def test_what_the_command_line_takes_can_be_checked(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    monkeypatch.syspath_prepend(str(project))
    for text in ("numpy-cpu", "my_package.kernels", "my_package/kernels.py"):
        (fact,) = spec_tests.check(text, "rms_norm.reference", dtype="float32", precision="fused", effort="smoke")
        assert (fact.status, fact.precision) == ("passed", "fused")
        assert 0 <= fact.median <= fact.worst <= 1


def test_all_that_it_has_is_checked() -> None:
    verdicts = spec_tests.check(Kernels, effort="smoke")
    assert {fact.operation for fact in verdicts} == {"relu"}
    assert {fact.level for fact in verdicts} == {None}
    assert {"relu.reference", "relu.rectifies", "relu.layout_blind"} <= {fact.id for fact in verdicts}


def test_the_first_violation_is_raised_shrunk() -> None:
    with pytest.raises(spec_tests.DoesNotConform) as caught:
        spec_tests.check({**BACKEND_OBJECTS["mapping"], "relu": negative}, ("relu.rectifies", "relu.idempotent"))
    text = str(caught.value)
    assert text.startswith("the backend breaks relu.rectifies\n")
    assert "    x = [" in text
    assert "backend = ...  # the backend, as it was given" in text
    assert re.search(r"again: spec_tests\.check\(…, 'relu\.rectifies', dtype='float32', example='[\d.]+'\)$", text)
    assert [(fact.id, fact.status) for fact in caught.value.verdicts][-1] == ("relu.rectifies", "failed")


def test_a_level_is_required_where_it_is_named() -> None:
    swallowing = {**BACKEND_OBJECTS["mapping"], "relu": lambda x: np.where(x > 0, x, np.float32(0))}
    assert spec_tests.check(swallowing, "relu.rectifies", effort="smoke")
    for named in ({"operations": "relu", "levels": "nan-propagation"}, {"operations": "relu.nan_propagation"}):
        with pytest.raises(spec_tests.DoesNotConform, match=r"breaks relu\.nan_propagation"):
            spec_tests.check(swallowing, effort="smoke", **named)  # type: ignore[arg-type]


def unwritten(x: np.ndarray) -> np.ndarray:
    raise NotImplementedError("next week")


REFUSED: dict[str, tuple[Any, dict[str, Any], type[Exception], str]] = {
    "operation": (
        Kernels,
        {"operations": "reluu"},
        ValueError,
        "^operation=reluu: there is no operation 'reluu'. Did you mean relu",
    ),
    "invariant": (Kernels, {"operations": "relu.odd"}, ValueError, "^no invariant relu.odd can be tried on Kernels$"),
    "absent": (Kernels, {"operations": "silu"}, BackendError, "^Kernels does not implement silu$"),
    "dtype": (Kernels, {"dtype": "float31"}, ValueError, "^dtype=float31: there is no dtype 'float31'"),
    "lacking": (Kernels, {"dtype": "float64"}, ValueError, "^dtype=float64: Kernels offers float32; nothing would run"),
    "effort": (Kernels, {"effort": "much"}, ValueError, "^effort=much: there is no effort 'much'"),
    "precision": (
        Kernels,
        {"precision": "mixt"},
        ValueError,
        "^precision=mixt: there is no precision class 'mixt'. Did you mean mixed",
    ),
    "level": (Kernels, {"levels": "limit"}, ValueError, "^level=limit: there is no level 'limit'. Did you mean limits"),
    "framework": ({"relu": relu}, {}, BackendError, "^the backend: it does not say whose arrays it takes"),
    "nothing": ({"framework": "numpy"}, {}, BackendError, "^the backend: it defines none of the operations"),
    "unwritten": (
        {**BACKEND_OBJECTS["mapping"], "relu": unwritten},
        {"effort": "smoke"},
        spec_tests.DoesNotConform,
        "^nothing could be tried of relu: not implemented in any variant tried: next week$",
    ),
}


@pytest.mark.parametrize("how", REFUSED)
def test_what_cannot_be_checked_is_one_sentence(how: str) -> None:
    backend, options, error, sentence = REFUSED[how]
    with pytest.raises(error, match=sentence):
        spec_tests.check(backend, **options)


# --- a distribution that registers a backend --------------------------------------------------------------------------

ACME = """
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "acme"
version = "1.0"

[project.entry-points."spec_tests.backends"]
acme-numpy = "acme:Kernels"

[tool.setuptools]
py-modules = ["acme"]
"""


@pytest.mark.rotating
def test_an_installed_distribution_registers_its_backend(tmp_path: Path) -> None:
    pytest.importorskip("build")
    (source := tmp_path / "source").mkdir()
    (source / "pyproject.toml").write_text(ACME)
    write(source, acme=NUMPY + "\n\nclass Kernels:\n    framework, dtypes = framework, dtypes\n" + RELU.replace("\n", "\n    "))
    (source / "acme.py").write_text((source / "acme.py").read_text().replace("relu(x)", "relu(self, x)"))
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-compile"]
    done = subprocess.run(
        [*install, "--target", "site", "./source"], cwd=tmp_path, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    env = environment(ROOT, tmp_path / "site")
    ran = suite(tmp_path, "--backend=acme-numpy", "-k", "relu.reference", env=env)
    assert ran.statuses == {"relu.reference acme-numpy float32": "passed"}
    lines = "import spec_tests\nprint(spec_tests.check('acme-numpy', 'relu.reference', effort='smoke')[0].status)"
    assert python(tmp_path, "-c", lines, env=env).stdout == "passed\n"
