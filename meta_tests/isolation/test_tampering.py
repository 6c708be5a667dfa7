"""A backend in the suite's own process may replace what its verdicts depend on. The replacement is found, reported and undone."""

import json
import math
import time
from pathlib import Path

import numpy as np
import pytest

from spec_tests.implementation.lookup import BackendError
from spec_tests.isolation.tampering import ON_DEMAND, WITH_A_REPORT, PatchDetector, preloaded
from spec_tests.running.session import Session

from ..support.paths import ROOT
from ..support.pytest_process import NUMPY, RELU, environment, python, suite, write


def test_what_is_replaced_is_told_and_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from spec_tests.bounds.expectation import Expectation

    detector, code = PatchDetector(), Expectation.accepts.__code__
    assert detector.restore() == []
    monkeypatch.delattr(math, "erf")
    monkeypatch.setattr(np, "all", lambda *_: True)
    monkeypatch.setattr(time, "monotonic", lambda: 0.0)
    Expectation.accepts.__code__ = (lambda self, result: True).__code__
    method = "spec_tests.bounds.expectation.Expectation.accepts"
    assert detector.restore() == ["math.erf", "numpy.all", "time.monotonic", method]
    assert Expectation.accepts.__code__ is code
    assert detector.restore() == []


def test_what_anothers_fixture_replaces_is_no_backends_doing(tmp_path: Path) -> None:
    fixture = "@pytest.fixture(autouse=True)\ndef quick(monkeypatch): monkeypatch.setattr('time.sleep', lambda seconds: None)\n"
    (tmp_path / "fixtures.py").write_text(f"import pytest\n\n{fixture}")
    write(tmp_path, mine=NUMPY + RELU)
    run = suite(
        tmp_path, "-p", "fixtures", "--backend=mine.py", "-k", "relu.reference or relu.rectifies", env=environment(ROOT, tmp_path)
    )
    assert run.code == 0, run.text


def test_a_backend_that_replaces_something_is_refused(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "allclose", np.allclose)  # so that monkeypatch puts it back
    (tmp_path / "mine.py").write_text("import numpy as np\nnp.allclose = print\nframework = 'numpy'\ndef relu(x): return x\n")
    session = Session((), tmp_path, (), None, (), frozenset())
    with pytest.raises(BackendError, match=r"importing it replaced numpy\.allclose, on which its verdicts depend; --isolate"):
        session._load("mine.py")


# --- what it covers ---------------------------------------------------------------------------------------------------

MIN_NAMESPACES, MIN_FUNCTIONS = 169, 953  # watched when all modules of spec_tests lay in one folder
PROBE = """
import json, sys
from spec_tests.isolation.tampering import PatchDetector

detector = PatchDetector()
print(json.dumps([len(detector.ours.namespaces), len(detector.functions), sorted(sys.modules)]))
"""


def modules_to_protect() -> set[str]:
    """Return the modules of both packages, found in their folders, without laws and what is imported only when it is needed."""
    found = set()
    for package in ("reference_numpy", "spec_tests"):
        for path in (ROOT / package).rglob("*.py"):
            folder, *rest = names = path.relative_to(ROOT).with_suffix("").parts
            is_law = folder == "spec_tests" and len(rest) == 1 and rest[0].startswith("test_")
            imported_when_needed = folder == "spec_tests" and (rest[0] in ON_DEMAND or ".".join(rest) in WITH_A_REPORT)
            if not (is_law or imported_when_needed or rest[-1] == "__main__"):
                found.add(".".join(names).removesuffix(".__init__"))
    return found


def test_every_module_is_preloaded_but_those_imported_when_needed() -> None:
    """preloaded() names no package and no module with a leading underscore. The next test covers them."""
    packages = {name.rpartition(".")[0] for name in modules_to_protect()}
    expected = {name for name in modules_to_protect() - packages if not name.rpartition(".")[2].startswith("_")}
    assert set(preloaded()) == expected
    assert len(expected) > 100


def test_the_detector_watches_no_less_than_it_once_did(tmp_path: Path) -> None:
    """Count in a new process, in which nothing else imports modules. A smaller number means that modules moved out of sight."""
    run = python(tmp_path, "-c", PROBE)
    assert run.returncode == 0, run.stderr
    namespaces, functions, loaded = json.loads(run.stdout)
    assert modules_to_protect() <= set(loaded)
    assert namespaces >= MIN_NAMESPACES
    assert functions >= MIN_FUNCTIONS


def test_the_folders_and_modules_that_are_left_out_exist() -> None:
    """A name that no longer exists leaves nothing out, and hides that its module has moved."""
    package = ROOT / "spec_tests"
    assert all((package / folder).is_dir() for folder in ON_DEMAND if folder != "backends")  # which only the wheel has there
    assert all((package / name.replace(".", "/")).with_suffix(".py").is_file() for name in WITH_A_REPORT)
