"""What the process of an isolated backend gets, leaves behind, says of itself, and sends."""

import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from spec_tests.implementation.environment import find_module_file
from spec_tests.implementation.guard import Fault
from spec_tests.implementation.lookup import BackendError
from spec_tests.processes.child_environment import child_environment
from spec_tests.processes.isolated_backend import load_isolated
from spec_tests.processes.survivors import find_started
from spec_tests.report import ReportError, read
from spec_tests.specification.registry import gradients, operations

from ..support.paths import ROOT
from ..support.pytest_process import NUMPY, RELU, environment, suite, write


def load(folder: Path, body: str):
    write(folder, mine=NUMPY + body)
    return load_isolated("mine.py", folder, operations(), gradients())


def call_relu(backend):
    native = backend.framework.native(np.asarray([-1.0, 2.0]), "float32")
    return backend.framework.numpy(backend.run_guarded(lambda: backend.function("relu")(native), "relu")).tolist()


# --- its environment --------------------------------------------------------------------------------------------------

SECRETS = ("GITHUB_TOKEN", "GITHUB_ENV", "ACTIONS_RUNTIME_URL", "AWS_ACCESS_KEY_ID", "SSH_AUTH_SOCK", "HF_TOKEN", "TORCH_SECRET")
NEEDED = (
    "PATH",
    "HOME",
    "LC_ALL",
    "TMPDIR",
    "PYTHONPATH",
    "LD_LIBRARY_PATH",
    "CUDA_VISIBLE_DEVICES",
    "OMP_NUM_THREADS",
    "XLA_FLAGS",
)


def test_only_what_programs_need_is_passed_on() -> None:
    whole = dict.fromkeys((*SECRETS, *NEEDED), "value")
    assert set(child_environment({}, whole)) == set(NEEDED)
    assert child_environment({"GITHUB_TOKEN": "stated"}, whole)["GITHUB_TOKEN"] == "stated"


def test_an_isolated_backend_sees_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    tells = "\n\nimport os\nenvironment = {'MY_FLAG': '1'}\n\ndef relu(x):\n    raise ValueError(sorted(os.environ))\n"
    backend = load(tmp_path, tells)
    with pytest.raises(Exception, match="OMP_NUM_THREADS") as error:
        call_relu(backend)
    assert "GITHUB" not in str(error.value)
    assert "MY_FLAG" in str(error.value)


# --- what it leaves behind --------------------------------------------------------------------------------------------

STARTS = {
    "a process": "subprocess.Popen(SLEEP)",
    "a session": "subprocess.Popen(SLEEP, start_new_session=True)",
    "a daemon": "daemonize()",
    "a daemon without the environment": "daemonize(env={})",
    "a daemon, and ends": "daemonize(), os._exit(0)",
}
DAEMON = """

import os, subprocess, sys

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]

def daemonize(env=None):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execve(SLEEP[0], [*SLEEP, "left"], dict(os.environ) if env is None else env)
        os._exit(0)

def relu(x):
    START
    return np.maximum(x, 0)
"""


def processes_of(folder: Path) -> list[int]:
    """Return the processes that were started in this folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                found += [int(entry.name)] * (os.readlink(entry / "cwd") == str(folder))
            except OSError:
                continue
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="other systems end the process group alone")
@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
def test_nothing_that_it_starts_survives(start: str, tmp_path: Path) -> None:
    backend = load(tmp_path, DAEMON.replace("START", start))
    if "exit" in start:
        with pytest.raises(Fault, match="with exit status 0"):
            call_relu(backend)
    else:
        call_relu(backend)
    time.sleep(0.2)
    backend.framework.connection.discard_process(Fault(""))
    deadline = time.monotonic() + 120  # a safety net
    while processes_of(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert processes_of(tmp_path) == []


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_processes_of_others_are_not_taken_for_its_own() -> None:
    assert find_started(os.getpid(), "no mark") & {1, os.getppid()} == set()


# --- what it says of itself ---------------------------------------------------------------------------------------------


def test_its_file_is_the_one_that_was_asked_for_and_its_version_is_in_quotes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    backend = load(tmp_path, RELU + f"\n\n__file__ = {str(tmp_path / 'pipe')!r}\nversion = '2.0'\n")
    assert backend.source.__file__ == str(tmp_path / "mine.py")
    assert backend.version == '"2.0"'
    assert load(tmp_path, RELU).version == f"numpy {np.__version__}"


def test_it_cannot_take_the_name_of_another_backend(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match=r"mine\.py: it calls itself torch-cpu, which is a backend of the suite's own"):
        load(tmp_path, RELU + "\n\nname = 'torch-cpu'\n")


def test_the_file_of_a_dotted_module_is_found_without_running_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pack" / "inner").mkdir(parents=True)
    for name in ("pack/__init__", "pack/inner/__init__", "pack/inner/kernels"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('it ran')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find_module_file("pack.inner.kernels") == tmp_path / "pack" / "inner" / "kernels.py"
    assert find_module_file("pack.inner") == tmp_path / "pack" / "inner" / "__init__.py"
    assert find_module_file("pack.missing") is None
    assert find_module_file("pack.inner.kernels.deeper") is None


# --- the report --------------------------------------------------------------------------------------------------------------


def test_a_report_that_was_changed_after_the_run_is_refused(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU.replace("maximum(x, 0)", "zeros_like(x)"))
    run = suite(tmp_path, "--backend=mine.py", "-k", "relu.reference", "--report=out", "--isolate")
    assert run.code == 1, run.text
    data = tmp_path / "out" / "report.jsonl"
    assert read(data).footer is not None
    text = data.read_text()
    data.write_text(text.replace('"status": "failed"', '"status": "passed"'))
    with pytest.raises(ReportError, match="was changed after the run had written it: run the suite again"):
        read(data)
    data.write_text(text + text.splitlines()[2] + "\n")
    with pytest.raises(ReportError, match="was changed"):
        read(data)


def test_a_backend_that_edits_the_report_during_the_run_is_found(tmp_path: Path) -> None:
    edits = """

        def relu(x):
            from pathlib import Path
            path = Path("out/report.jsonl")
            path.write_text(path.read_text().replace("failed", "passed"))
            with path.open("a") as file:
                file.write('{"record": "error", "node": "", "when": "call", "message": "none of ours"}\\n')
            return np.maximum(x, 0)
    """
    write(tmp_path, mine=NUMPY + edits.replace("\n        ", "\n"))
    run = suite(
        tmp_path, "--backend=mine.py", "-k", "relu.reference", "--report=out", "--isolate", env=environment(ROOT, tmp_path)
    )
    assert run.code == 1, run.text
    assert "report.jsonl was changed after the run had written it" in run.text
