"""Tests of what a report survives: kills, signals, a second run, a full disk, a worker that is killed, another version."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from spec_tests.report import Report, read
from spec_tests.report.records import to_record
from spec_tests.running.imported_files import hash_imports
from spec_tests.running.report_folder import LOCK

from ..support.paths import ROOT
from ..support.pytest_process import EPS_OUTSIDE, NUMPY, RELU, SOFTMAX, complaints, environment, suite, write

pytestmark = [pytest.mark.rotating, pytest.mark.xdist_group("running/survival")]  # which share a run
NO_SUMMARY = environment(ROOT, GITHUB_STEP_SUMMARY="")
WORDS = ("--backend=mine.py", "--report=out", "--hypothesis-seed=1")
HANGING = f"""{NUMPY}
import os, time
{RELU}
def sigmoid(x):
    if not os.path.exists("pid"):  # later calls, such as those of a search for a cause, are answered
        open("pid", "w").write(str(os.getpid()))
        time.sleep(120)
    return (1 / (1 + np.exp(-x.astype(np.float64)))).astype(x.dtype)
"""
TWO_LAWS = ("-k", "relu.reference or sigmoid.reference")


def wait_for(condition: Callable[[], Any], run: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 300  # a safety net
    while not condition():
        assert run.poll() is None, run.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.05)


@contextmanager
def start_run(folder: Path, *args: str, before: Callable[[], object] | None = None) -> Iterator["subprocess.Popen[str]"]:
    """Start a run on a backend whose sigmoid hangs, and yield it when it does."""
    write(folder, mine=HANGING)
    options = ("-p", "spec_tests.plugin", "-p", "no:cacheprovider", "--pyargs", "spec_tests", "--effort=smoke", *WORDS)
    command = [sys.executable, "-m", "pytest", *options, *TWO_LAWS, *args]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=folder, env=NO_SUMMARY, preexec_fn=before, start_new_session=True, **pipes) as run:
        try:
            wait_for(lambda: (folder / "pid").exists() and (folder / "pid").read_text(), run)
            yield run
        finally:
            run.kill()


def read_lines(folder: Path) -> list[str]:
    return (folder / "out" / "report.jsonl").read_text().splitlines()


# --- --resume ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run that wrote a report into its folder `out`."""
    write(folder := tmp_path_factory.mktemp("whole"), mine=NUMPY + RELU + SOFTMAX)
    assert suite(folder, *WORDS, "-k", "relu or softmax.reference", env=NO_SUMMARY).code == 0
    return folder


@pytest.fixture
def cut(whole: Path, tmp_path: Path) -> str:
    """Return the text of a report in the folder `out` that lacks its end."""
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    file = tmp_path / "out" / "report.jsonl"
    text = "".join(file.read_text().splitlines(keepends=True)[:6])
    file.write_text(text)
    return text


@pytest.mark.parametrize("place", ["pytest_sessionstart(session):\n    ", "pytest_sessionstart(session):\n    os.replace = "])
def test_a_resumed_run_that_is_killed_at_its_start_loses_nothing(place: str, cut: str, tmp_path: Path) -> None:
    """It is killed before it has touched the data, and in the moment in which it would replace them."""
    kill = "os.kill(os.getpid(), signal.SIGKILL)"
    code = f"lambda *_: {kill}" if place.endswith("= ") else kill
    write(tmp_path, theirs=f"import os, signal, pytest\n\n@pytest.hookimpl(tryfirst=True)\ndef {place}{code}\n")
    words = (*WORDS, "-k", "relu or softmax.reference", "--resume")
    env = environment(ROOT, tmp_path, GITHUB_STEP_SUMMARY="")
    assert suite(tmp_path, *words, "-p", "theirs", env=env).code == -signal.SIGKILL
    assert (tmp_path / "out" / "report.jsonl").read_text() == cut
    assert suite(tmp_path, *words, env=NO_SUMMARY).code == 0
    assert read(tmp_path / "out").complete
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["badge.json", "report.html", "report.jsonl"]


def test_a_report_of_another_version_is_refused(cut: str, tmp_path: Path) -> None:
    header, *others = re.sub(', "before": "[0-9a-f]{64}"', "", cut).splitlines()  # the hashes of the lines before
    commands = []
    for name in ("suite", "spec"):
        (folder := tmp_path / name).mkdir()
        (folder / "report.jsonl").write_text("\n".join([json.dumps({**json.loads(header), name: "0.0.1"}), *others, ""]))
        commands.append((*WORDS, f"--report={name}", "-k", "relu or softmax.reference", "--resume"))
    found = complaints(tmp_path, *commands, env=NO_SUMMARY)
    for name, complaint in zip(("suite", "spec"), found, strict=True):
        assert re.fullmatch(rf"--resume: {name} is of version 0\.0\.1 of the {name}, and this is \S+; start anew", complaint)


def test_a_file_that_the_backend_imports_is_noticed_when_it_changes(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    write(tmp_path, mine=NUMPY + "\nfrom parts.kernels import relu\n", other=RELU)
    write(
        tmp_path / "parts",
        __init__="",
        kernels="from . import deep\nfrom .deep import relu\n",
        deep="import numpy as np\n" + RELU,
    )
    words = (*WORDS, "-k", "relu.reference")
    assert suite(tmp_path, *words, env=NO_SUMMARY).code == 0
    (backend,) = read(tmp_path / "out").backends
    assert sorted(backend.imports) == ["parts/__init__.py", "parts/deep.py", "parts/kernels.py"]
    (tmp_path / "other.py").write_text("# not imported\n")
    assert suite(tmp_path, *words, "--resume", env=NO_SUMMARY).code == 0
    with (tmp_path / "parts" / "deep.py").open("a") as file:
        file.write("# better\n")
    (complaint,) = complaints(tmp_path, (*words, "--resume"), env=NO_SUMMARY)
    assert complaint == (
        "--resume: parts/deep.py, which mine.py imports, has changed since out was written; start anew, without --resume"
    )


def test_imports_are_followed_without_running_them(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    write(
        package, __init__="", one="from .. import nowhere\nfrom . import two\nimport numpy, package.three.x\n", two="import one"
    )
    write(package, three="raise SystemExit\n", four="import five (")
    assert sorted(hash_imports(package / "one.py")) == ["package/__init__.py", "package/three.py", "package/two.py"]
    assert hash_imports(package / "four.py") == {}


# --- two runs ---------------------------------------------------------------------------------------------------------


def test_a_second_run_into_the_same_folder_is_refused_while_the_first_lives(tmp_path: Path) -> None:
    with start_run(tmp_path) as run:
        lines = read_lines(tmp_path)
        for more in ((), ("--resume",)):
            (complaint,) = complaints(tmp_path, (*WORDS, *TWO_LAWS, *more), env=NO_SUMMARY)
            assert complaint == (
                f"--report=out: another run, process {run.pid}, writes there; wait for its end, or name another folder"
            )
        assert read_lines(tmp_path) == lines
        run.kill()
        run.wait()
    assert (tmp_path / "out" / LOCK).exists()  # the file stays, and the lock does not
    write(tmp_path, mine=NUMPY + RELU)
    assert suite(tmp_path, *WORDS, *TWO_LAWS, env=NO_SUMMARY).code == 0
    assert not (tmp_path / "out" / LOCK).exists()


@pytest.mark.nightly
def test_a_process_that_outlives_the_run_does_not_keep_the_folder(tmp_path: Path) -> None:
    forking = """
import os, time

def relu(x):
    if not os.path.exists("forked"):
        open("forked", "w").close()
        if not os.fork():
            for file in range(3):
                os.close(file)
            time.sleep(20)
            os._exit(0)
    return np.maximum(x, 0)
"""
    write(tmp_path, mine=NUMPY + forking)
    words = (*WORDS, "-k", "relu.reference", "--effort=smoke")
    suite(tmp_path, *words, env=NO_SUMMARY)
    write(tmp_path, mine=NUMPY + RELU)
    assert suite(tmp_path, *words, env=NO_SUMMARY).code == 0


# --- signals ----------------------------------------------------------------------------------------------------------


def ignore_interrupts() -> None:
    """Do what a shell does for a job in the background of a script."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


SIGNALS = {
    "SIGHUP": (signal.SIGHUP, False, ()),
    "SIGTERM in the background": (signal.SIGTERM, True, ()),
    "SIGHUP in the background": (signal.SIGHUP, True, ()),
    "SIGTERM, parallel": (signal.SIGTERM, True, ("-n1",)),
    "SIGTERM, isolated": (signal.SIGTERM, True, ("--isolate",)),
}


@pytest.mark.parametrize(("number", "background", "more"), SIGNALS.values(), ids=SIGNALS)
def test_a_signal_ends_a_run_with_a_footer(number: int, background: bool, more: tuple[str, ...], tmp_path: Path) -> None:
    with start_run(tmp_path, *more, before=ignore_interrupts if background else None) as run:
        wait_for(lambda: any("relu.reference" in line for line in read_lines(tmp_path)), run)  # a worker may still be sending it
        run.send_signal(number)
        text = run.communicate(timeout=300)[0]
    report = read(tmp_path / "out")
    assert not report.complete
    assert report.ending.endswith("in sigmoid.reference (float32) after 1 of 2 laws")
    assert run.returncode == 2, text
    assert [(v.id, v.status) for v in report.verdicts] == [("relu.reference", "passed")]


def test_a_second_signal_does_not_cut_the_end(tmp_path: Path) -> None:
    with start_run(tmp_path) as run:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGTERM):
            run.send_signal(number)
            time.sleep(0.02)
        text = run.communicate(timeout=300)[0]
    assert run.returncode == 2, text
    assert read(tmp_path / "out").ending.startswith("cut by SIG")
    assert "Traceback" not in text


# --- a disk that is full ----------------------------------------------------------------------------------------------


def run_with_small_files(folder: Path, size: int, *args: str) -> "subprocess.CompletedProcess[str]":
    """Run the suite in a process that may write no file of more bytes."""
    options = ("-p", "spec_tests.plugin", "-p", "no:cacheprovider", "--pyargs", "spec_tests", "--effort=smoke", *WORDS, *args)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    command = [sys.executable, "-B", "-m", "pytest", *options]
    env = {**NO_SUMMARY, "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / "database")}
    return subprocess.run(command, cwd=folder, env=env, preexec_fn=limit, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("body", "status"), [(RELU, 0), (RELU + EPS_OUTSIDE, 1)])
def test_a_full_disk_is_a_sentence_and_the_status_is_that_of_the_verdicts(body: str, status: int, tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + body)
    done = run_with_small_files(tmp_path, 4000, "-k", "relu or rms_norm.reference")
    assert done.returncode == status, done.stdout
    assert "report.jsonl ends before the run does, because it could not be written (File too large)" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    report = read(tmp_path / "out")
    assert report.footer is None
    assert report.verdicts


def test_a_full_disk_at_the_start_loses_nothing(cut: str, tmp_path: Path) -> None:
    done = run_with_small_files(tmp_path, 1000, "-k", "relu or softmax.reference", "--resume")
    assert done.returncode == 4
    assert "ERROR: --report=out: nothing can be written there (File too large)" in done.stdout + done.stderr
    assert (tmp_path / "out" / "report.jsonl").read_text() == cut


# --- workers ----------------------------------------------------------------------------------------------------------


def kill_worker_in_its_test(folder: Path) -> Report:
    with start_run(folder, "-n1", "--max-worker-restart=0") as run:
        os.kill(int((folder / "pid").read_text()), signal.SIGKILL)
        run.communicate(timeout=300)
    assert run.returncode == 1
    return read(folder / "out")


def test_a_worker_that_is_killed_from_outside_leaves_an_incomplete_report(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    report = kill_worker_in_its_test(tmp_path)
    assert not report.complete
    assert report.ending == "cut by the end of a worker in sigmoid.reference (float32) after 1 of 2 laws"
    assert [v.id for v in report.verdicts] == ["relu.reference"]


def test_each_verdict_of_dist_each_counts_once(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    code = "\n\nimport os\n\nif os.environ.get('PYTEST_XDIST_WORKER') == 'gw1':\n    def sigmoid(x):\n        return x\nelse:\n"
    right = "    def sigmoid(x):\n        return (1 / (1 + np.exp(-x.astype(np.float64)))).astype(x.dtype)\n"
    write(tmp_path, mine=NUMPY + RELU + code + right)
    run = suite(tmp_path, *WORDS, *TWO_LAWS, "--dist=each", "--tx=2*popen", env=NO_SUMMARY)
    assert run.code == 1, run.text
    report = read(tmp_path / "out")
    assert {v.id: v.status for v in report.verdicts} == {"relu.reference": "passed", "sigmoid.reference": "failed"}
    assert report.footer is not None
    assert report.complete
    assert to_record(report.footer.totals) == {"passed": 1, "failed": 1, "skipped": 0, "not held": 0, "error": 0}
    examples = sum(verdict.examples for verdict in report.verdicts)
    assert report.footer.examples == examples
    assert f", {examples} examples" in run.text


def test_an_isolated_process_that_is_killed_from_outside_does_not_blame_the_operation(tmp_path: Path) -> None:
    with start_run(tmp_path, "--isolate") as run:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
        text = run.communicate(timeout=300)[0]
    assert run.returncode == 1
    (verdict,) = [v for v in read(tmp_path / "out").verdicts if v.status == "failed"]
    assert "its process was ended during the call by SIGKILL (Killed)" in verdict.reason, text
    assert "by the system" in verdict.reason
    assert "by someone else" in verdict.reason
