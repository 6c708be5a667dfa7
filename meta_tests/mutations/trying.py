"""Try a mutation: change the file in a copy of the checkout, and run there the tests that judge it, until one fails.

Nothing is written into the checkout, also if the run is killed: the copy is in a temporary folder. Runs are forks, which Windows
does not have.
"""

from __future__ import annotations

import compileall
import contextlib
import hashlib
import importlib
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import NoReturn

import pytest

from ..support.paths import ROOT
from .mutation import Mutation
from .selection import select_tests

COPIED = ("spec_tests", "reference_numpy", "backends", "meta_tests", "docs", "examples", "conftest.py", "pyproject.toml")
IGNORED = shutil.ignore_patterns("__pycache__", ".hypothesis", "_build", "node_modules", "*.egg-info")
OURS = ("spec_tests", "reference_numpy", "meta_tests", "backends", "conftest")
OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "-W", "ignore:Module already imported")
CPU_SECONDS = 60  # of all tests of one mutation
WALL_SECONDS = 1800  # a safety net, for a mutation by which a test waits for ever
KILLED, SURVIVED, NOT_DECIDED = "killed", "survived", "not decided"


@dataclass(frozen=True)
class Outcome:
    """What became of a mutation: killed by a test, survived all of them, or not decided in the time that it has."""

    name: str
    digest: str
    outcome: str
    by: str  # the test that failed first
    seconds: float  # of the processor
    sources: str = ""  # the hash of the suite and of the tests that were tried


@contextmanager
def copy_checkout() -> Iterator[Path]:
    """Copy what tests need of the checkout into a temporary folder, and remove it in the end."""
    with tempfile.TemporaryDirectory(prefix="mutations-") as name:
        folder = Path(name) / "checkout"
        folder.mkdir()
        for entry in COPIED:
            source = ROOT / entry
            if source.is_dir():
                shutil.copytree(source, folder / entry, ignore=IGNORED)
            else:
                shutil.copy2(source, folder / entry)
        compileall.compile_dir(folder, quiet=2)
        yield folder


def try_mutation(mutation: Mutation, folder: Path) -> Outcome:
    """Apply the mutation in the copy, run the tests of its file, and put the file back."""
    path = folder / mutation.file
    text = path.read_text(encoding="utf-8")
    _write_source(path, mutation.apply(text))
    try:
        outcome, by, seconds = run_tests(select_tests(mutation.file), folder)
    finally:
        _write_source(path, text)
    return Outcome(mutation.name, mutation.digest, outcome, by, round(seconds, 1), hash_sources(mutation.file, folder))


@cache
def hash_sources(file: str, folder: Path = ROOT) -> str:
    """Return a hash of the suite, and of the tests that judge a file: an outcome is that of these sources."""
    tests = [folder / argument for argument in select_tests(file)[0] if argument.endswith(".py")]
    suite = [path for name in ("spec_tests", "reference_numpy") for path in sorted((folder / name).rglob("*.py"))]
    found = hashlib.sha256()
    for path in (*suite, *tests):
        found.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:12]


def _write_source(path: Path, text: str) -> None:
    """Write a source file, without the bytecode of what stood there before."""
    Path(cache_from_source(str(path))).unlink(missing_ok=True)
    path.write_text(text, encoding="utf-8")


def run_tests(runs: tuple[tuple[str, ...], ...], folder: Path, limit: float = CPU_SECONDS) -> tuple[str, str, float]:
    """Run tests until one fails. Return the outcome, the test, and the seconds of the processor, of which `limit` are given."""
    spent = 0.0
    for arguments in runs:
        code, output, seconds = run_pytest(arguments, folder, limit - spent)
        spent += seconds
        if code < 0 or spent >= limit:
            return NOT_DECIDED, "", spent
        if code:
            return KILLED, _find_failed_test(output), spent
    return SURVIVED, "", spent


def run_pytest(arguments: tuple[str, ...], folder: Path, seconds: float) -> tuple[int, str, float]:
    """Run pytest in the copy. Return its exit status, below 0 if it was ended, its output, and its seconds of the processor.

    The run is a fork of this process, which has imported the libraries, and nothing of the suite.
    """
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if child == 0:
            _become_pytest(arguments, folder, seconds, output.fileno())
        status, usage = _wait(child)
        output.seek(0)
        text = output.read().decode(errors="replace")
    return os.waitstatus_to_exitcode(status), text, usage.ru_utime + usage.ru_stime


def _become_pytest(arguments: tuple[str, ...], folder: Path, seconds: float, output: int) -> NoReturn:
    """Run pytest in this process, as in one of its own, and end the process."""
    code = 70
    try:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
        for number in (1, 2):
            os.dup2(output, number)
        os.chdir(folder)
        for name in [name for name in os.environ if name.startswith(("PYTEST", "PYTHON", "HYPOTHESIS"))]:
            del os.environ[name]
        os.environ.update(PYTHONPATH=str(folder), OMP_NUM_THREADS="1", COLUMNS="160")
        sys.dont_write_bytecode = True
        sys.path[:] = [str(folder), *(path for path in sys.path if path not in ("", str(ROOT)))]
        for name in [name for name in sys.modules if name.partition(".")[0] in OURS]:
            del sys.modules[name]
        sys.argv = ["pytest", *arguments]
        code = int(pytest.main([*OPTIONS, *arguments]))
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _wait(child: int) -> tuple[int, resource.struct_rusage]:
    """Wait for a run and return how it ended, and what it and its children used. Kill it when the safety net's time is over."""
    deadline = time.monotonic() + WALL_SECONDS
    while True:
        found, status, usage = os.wait4(child, os.WNOHANG)
        if found:
            return status, usage
        if time.monotonic() > deadline:
            os.killpg(child, signal.SIGKILL)
            deadline = float("inf")
        time.sleep(0.02)


def import_libraries() -> None:
    """Import what most tests import, once for all runs."""
    for name in ("numpy", "hypothesis", "mpmath", "ml_dtypes", "torch"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def _find_failed_test(output: str) -> str:
    """Return the test that failed, or the last line of the output if none did."""
    lines = [line for line in output.splitlines() if line.strip()]
    failed = next((line.split(" ")[1] for line in lines if line.startswith(("FAILED ", "ERROR "))), "")
    return failed.partition(" - ")[0] or (lines[-1][:120] if lines else "no output")
