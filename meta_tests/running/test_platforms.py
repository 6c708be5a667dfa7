"""Runs on a system that lacks a facility, which is simulated by removing it: one sentence at most, and no traceback."""

from pathlib import Path

import pytest

from ..support.paths import ROOT
from ..support.pytest_process import EPS_OUTSIDE, NUMPY, RELU, RMS_NORM, Run, environment, suite, write

ABSENCES = {  # what is removed, and the lines that do it in every process
    "setitimer": "import signal\ndel signal.setitimer, signal.SIGALRM",
    "resource": "import sys\nsys.modules['resource'] = None",
    "killpg": "import os\ndel os.killpg",
    "sysconf": "import os\ndel os.sysconf",
    "fcntl": "import sys\nsys.modules['fcntl'] = None",
    "proc": (
        "import pathlib\nread, write = pathlib.Path.read_text, pathlib.Path.write_text\n\n"
        "def refuse(self, *args, then, **options):\n"
        "    if str(self).startswith(('/proc/', '/sys/')):\n        raise FileNotFoundError(str(self))\n"
        "    return then(self, *args, **options)\n\n"
        "import functools\npathlib.Path.read_text = functools.partialmethod(refuse, then=read)\n"
        "pathlib.Path.write_text = functools.partialmethod(refuse, then=write)"
    ),
    "prctl": "import ctypes\nctypes.CDLL = None",
    "signals": "import signal\ndel signal.SIGHUP",
    "fork": "import os\ndel os.fork, os.register_at_fork\nimport sys\nsys.modules['fcntl'] = None",
}


EVERY = "\n".join(ABSENCES.values())
ALL_BUT_KILLPG = "\n".join(lines for name, lines in ABSENCES.items() if name != "killpg")
SINGLE = [pytest.param(name, marks=pytest.mark.nightly) for name in ABSENCES]


def run_without(folder: Path, absence: str, *args: str) -> Run:
    """Run the suite on a right and a wrong operation, in processes that lack the facility, or all of them."""
    write(folder, mine=NUMPY + RELU + RMS_NORM, wrong=NUMPY + EPS_OUTSIDE)
    (site := folder / "site").mkdir(exist_ok=True)
    write(site, sitecustomize={**ABSENCES, "all": EVERY, "all but killpg": ALL_BUT_KILLPG}[absence])
    selected = ("-k", "relu.reference or rms_norm.reference", "--backend=mine.py", "--report=seen")
    return suite(folder, *selected, *args, env=environment(ROOT, site))


@pytest.mark.parametrize("absence", ["all", *SINGLE])
def test_a_run_works_without_it(absence: str, tmp_path: Path) -> None:
    found = run_without(tmp_path, absence, "--backend=wrong.py")
    assert "Traceback" not in found.text, found.text
    assert found.code == 1, found.text
    statuses = {name.rpartition(" ")[0]: status for name, status in found.statuses.items() if status != "skipped"}
    assert statuses == {
        "relu.reference mine": "passed",
        "rms_norm.reference mine": "passed",
        "rms_norm.reference wrong": "failed",
    }
    assert (tmp_path / "seen" / "report.html").exists()
    said = "this system has no signal.setitimer: --time-limit ends no call" in found.text
    assert said == (absence in ("setitimer", "all"))


@pytest.mark.parametrize("absence", ["all but killpg", *SINGLE])
def test_isolation_works_without_it_or_is_refused_in_one_sentence(absence: str, tmp_path: Path) -> None:
    found = run_without(tmp_path, absence, "--isolate")
    assert "Traceback" not in found.text, found.text
    if absence == "killpg":
        assert found.complaint == WITHOUT_KILLPG
        return
    assert found.code == 0, found.text
    assert found.count("passed") == 2
    assert ("the backend's process has no memory limit" in found.text) == (absence in ("resource", "all but killpg"))


WITHOUT_KILLPG = "--isolate: this system lacks os.killpg; test a backend in the suite's own process here"


def test_isolation_is_refused_in_one_sentence_where_it_could_not_be_ended(tmp_path: Path) -> None:
    assert run_without(tmp_path, "all", "--isolate").complaint == WITHOUT_KILLPG


def test_a_memory_limit_that_cannot_be_set_is_refused(tmp_path: Path) -> None:
    complaint = run_without(tmp_path, "resource", "--isolate", "--memory-limit=1GiB").complaint
    assert complaint.startswith("--memory-limit=1GiB: this system has no resource module")
