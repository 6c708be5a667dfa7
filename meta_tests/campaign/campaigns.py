"""Campaigns of a few seconds, for the tests: two backends, of which one is wrong, and two cheap operations."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from spec_tests.report import Report

from ..support.paths import ROOT
from ..support.pytest_process import NUMPY, environment, write

RIGHT = """
def relu(x):
    return np.maximum(x, 0)

def sigmoid(x):
    return (1 / (1 + np.exp(-x.astype(np.float64)))).astype(x.dtype)
"""
WRONG = """
def relu(x):
    return np.minimum(np.maximum(x, 0), np.float32(6))
"""
PLAN = ("plan", "right.py", "wrong.py", "--effort=smoke", "--seeds=4", "--seeds-per-item=2", "-o", "campaign")


def spec_tests(folder: Path, *words: str, python: str = sys.executable) -> subprocess.CompletedProcess[str]:
    """Run the command `spec-tests` in a folder."""
    command = [python, "-m", "spec_tests", *words]
    return subprocess.run(command, cwd=folder, env=environment(ROOT), capture_output=True, text=True, check=False, timeout=600)


def make_campaign(folder: Path, *options: str) -> Path:
    """Write the backends and a plan into a folder. Return the folder of the campaign."""
    write(folder, right=NUMPY + RIGHT, wrong=NUMPY + WRONG)
    done = spec_tests(folder, *PLAN, *options)
    assert done.returncode == 0, done.stderr
    return folder / "campaign"


def summarize(report: Report, backend: str) -> dict[tuple[str, str], tuple[Any, ...]]:
    """Return what each verdict says. Where a law fails, each process counts examples up to its own first failure."""
    found: dict[tuple[str, str], tuple[Any, ...]] = {}
    for v in report.verdicts:
        if v.backend == backend:
            counts = [v.examples, v.drawn, v.answered] if v.status == "passed" else []
            causes = sorted(cause.key for cause in v.causes)
            found[v.id, v.dtype] = (v.status, v.precision, v.worst, *counts, causes)
    return found
