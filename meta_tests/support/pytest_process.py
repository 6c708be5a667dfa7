"""Run pytest as a user does: in its own process and an empty folder, on a backend of a few lines."""

from __future__ import annotations

import atexit
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import xml.etree.ElementTree as ElementTree
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .paths import ROOT

# A shell's background ignores SIGINT, and nohup ignores SIGHUP. Child processes would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

NUMPY = 'import numpy as np\n\nframework = "numpy"\ndtypes = ("float32",)\n'
SOFTMAX = """
def softmax(x, *, axis):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)
"""
RELU = """
def relu(x):
    return np.maximum(x, 0)
"""
RMS_NORM = """
def rms_norm(x, weight, *, eps):
    h = x.astype(np.float64)
    return (h / np.sqrt(np.mean(np.square(h), -1, keepdims=True) + eps) * weight).astype(x.dtype)
"""
EPS_OUTSIDE = """
def rms_norm(x, weight, *, eps):
    h = x.astype(np.float64)
    return (h / (np.sqrt(np.mean(np.square(h), -1, keepdims=True)) + eps) * weight).astype(x.dtype)
"""

ATTENTION = """
def attention(q, k, v, mask=None, bias=None, is_causal=False, scale=None, softcap=None):
    q, k, v = (a.astype(np.float64) for a in (q, k, v))
    s = q @ np.swapaxes(k, -1, -2) * (k.shape[-1] ** -0.5 if scale is None else scale)
    s = s if softcap is None else softcap * np.tanh(s / softcap)
    if bias is not None:
        s = s + bias
    for seen in (mask, np.tri(q.shape[-2], k.shape[-2], dtype=bool) if is_causal else None):
        s = s if seen is None else np.where(seen, s, -np.inf)
    e = np.exp(s - np.max(s, axis=-1, keepdims=True))
    return (e / np.sum(e, axis=-1, keepdims=True) @ v).astype(np.float32)
"""
ROPE = """
def turned(x, positions, theta=10000.0, layout="interleaved"):
    d = x.shape[-1]
    pairs = (slice(0, d, 2), slice(1, d, 2)) if layout == "interleaved" else (slice(0, d // 2), slice(d // 2, d))
    angle = positions[..., None] * float(theta) ** (-np.arange(0, d, 2) / d)
    a, b = (x[..., pair].astype(np.float64) for pair in pairs)
    y = np.empty(x.shape, np.float64)
    y[..., pairs[0]], y[..., pairs[1]] = a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)
    return y.astype(x.dtype)
"""


@dataclass(frozen=True)
class Run:
    """How a run of pytest ended, and what it recorded."""

    code: int
    text: str
    nodes: dict[str, str]  # test: "" if it passed, else its tag in junit.xml, such as "failure"
    facts: list[dict[str, Any]]  # the suite's verdicts

    def count(self, status: str) -> int:
        return Counter(fact["status"] for fact in self.facts)[status]

    @property
    def ids(self) -> set[str]:
        """The ids of the invariants that ran."""
        return {fact["id"] for fact in self.facts if fact["status"] != "skipped"}

    @property
    def statuses(self) -> dict[str, str]:
        """The status of each verdict, by "id backend dtype"."""
        return {f"{fact['id']} {fact['backend']} {fact['dtype']}": fact["status"] for fact in self.facts}

    def message(self, backend: str = "mine") -> str:
        """Return the message of the backend's first cause, from its first line to the command that shows it again."""
        assert self.code == 1, self.text
        begins = rf"^cause \d+: [^\n]*\n({re.escape(backend)} breaks .*?^again: [^\n]*)"
        found = re.search(begins, self.text, re.MULTILINE | re.DOTALL)
        assert found, f"there is no message about {backend} in\n{self.text}"
        return found[1].rstrip()

    @property
    def complaint(self) -> str:
        """The one sentence that a refused run prints."""
        assert self.code == 4, self.text
        assert "Traceback" not in self.text, self.text
        assert "collected" not in self.text, self.text
        lines = [line for line in self.text.splitlines() if line.strip()]
        assert len(lines) == 1, self.text
        return lines[0].removeprefix("ERROR: ")


def environment(*paths: Path, **extra: str) -> dict[str, str]:
    """Return this process's environment without what the surrounding pytest has set, with `paths` as PYTHONPATH."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "PYTHON", "HYPOTHESIS"))}
    return {**inherited, "PYTHONPATH": os.pathsep.join(map(str, paths)), "COLUMNS": "160", **extra}


def python(
    folder: Path, *args: str, env: dict[str, str] | None = None, timeout: float | None = 300
) -> subprocess.CompletedProcess[str]:
    """Run `python ARGS` in the folder."""
    env, command = env or environment(ROOT), [sys.executable, *args]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=timeout, check=False)


def write(folder: Path, **files: str) -> None:
    """Write each keyword's text to <keyword>.py."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text))


@cache
def shared_constants() -> Path:
    """Return the folder in which Hypothesis keeps the constants of the suite's modules, for all runs that this process starts."""
    folder = tempfile.mkdtemp(prefix="constants-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def share_constants(folder: Path) -> None:
    """Let a run in this folder read the constants of modules that an earlier one has found. In an empty folder it parses them."""
    own = folder / ".hypothesis"
    with suppress(OSError):  # a folder that no one may write to, or that has its own
        own.mkdir()
        (own / "constants").symlink_to(shared_constants(), target_is_directory=True)


def pytest_run(folder: Path, *args: str, env: dict[str, str] | None = None, timeout: float | None = 300) -> Run:
    """Run `pytest ARGS` in the folder."""
    report = folder / "junit.xml"
    report.unlink(missing_ok=True)
    share_constants(folder)
    done = python(folder, "-m", "pytest", f"--junitxml={report}", *args, env=env, timeout=timeout)
    cases = list(ElementTree.parse(report).iter("testcase")) if report.exists() else []
    nodes = {f"{case.get('classname')}::{case.get('name')}": case[-1].tag if len(case) else "" for case in cases}
    recorded = [tag.get("value", "") for case in cases for tag in case.iter("property") if tag.get("name") == "spec_tests"]
    return Run(done.returncode, done.stdout + done.stderr, nodes, [json.loads(value) for value in recorded])


REFUSALS = """
import contextlib, io, json, sys, pytest

for args in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        code = pytest.main(["-p", "spec_tests.plugin", "--pyargs", "spec_tests", "--effort=smoke", *args])
    print(json.dumps([code, out.getvalue()]))
"""


def complaints(folder: Path, *commands: str | tuple[str, ...], env: dict[str, str] | None = None) -> list[str]:
    """Return the sentence with which each command is refused. One process runs all of them, one after the other."""
    words = [[command] if isinstance(command, str) else [*command] for command in commands]
    done = python(folder, "-c", REFUSALS, json.dumps(words), env=env)
    assert done.returncode == 0, done.stderr
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    return [Run(code, text, {}, []).complaint for code, text in outcomes]


def suite(folder: Path, *args: str, env: dict[str, str] | None = None, timeout: float | None = 300) -> Run:
    """Run the suite as an installed one at smoke effort, on backends in the folder.

    The argument "cacheprovider" keeps pytest's cache, which is switched off otherwise.
    """
    cache = () if "cacheprovider" in args else ("-p", "no:cacheprovider")
    args = tuple(arg for arg in args if arg != "cacheprovider")
    plugin = ("-p", "spec_tests.plugin", "--hypothesis-profile=default")  # with CI set, Hypothesis's profile ignores the seed
    return pytest_run(folder, *plugin, *cache, "--pyargs", "spec_tests", "--effort=smoke", *args, env=env, timeout=timeout)


def suite_of_each(folder: Path, bodies: dict[str, str], *args: str, **keywords: Any) -> Run:
    """Run the suite once on several backends, each the code of a file that is named after it."""
    write(folder, **{name: NUMPY + body for name, body in bodies.items()})
    return suite(folder, *(f"--backend={name}.py" for name in bodies), *args, **keywords)


def green(folder: Path, body: str, *args: str) -> dict[str, Any]:
    """Assert that a backend with this code conforms, and return its verdicts by the ids of the invariants."""
    write(folder, mine=NUMPY + body)
    run = suite(folder, "--backend=mine.py", *args)
    assert run.code == 0, run.text
    assert run.count("passed") > 0
    return {fact["id"]: fact for fact in run.facts}
