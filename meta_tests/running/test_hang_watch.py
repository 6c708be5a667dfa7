"""A call that never returns to Python, in a run without --isolate: what was found until then is written, and the run ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..support.hostile_process import run_hostile
from ..support.paths import BACKENDS
from ..support.pytest_process import suite

LAWS = ("-k", "reference and (relu or sigmoid or silu) and not vjp")
DEADLOCKED = """
import ctypes
import numpy as np

framework = "numpy"
dtypes = ("float32",)
calls = 0


def relu(x):
    return np.maximum(x, 0) + (x > 0)


def sigmoid(x):
    global calls
    calls += 1
    if calls > 3:
        mutex, library = ctypes.create_string_buffer(64), ctypes.CDLL(None)
        library.pthread_mutex_lock(mutex)
        library.pthread_mutex_lock(mutex)
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x / (1 + np.exp(-x))
"""


@pytest.mark.rotating
def test_the_verdict_so_far_is_written(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(DEADLOCKED)
    run = suite(tmp_path, "--backend=mine.py", "--time-limit=1", "--hypothesis-seed=1", *LAWS)
    words = " ".join(run.text.split())
    assert run.code == 1, run.text
    assert 'mine: cut by "a call that never returned" after 2 of 3 laws; until then 2 causes of failures' in words
    assert "no answer within 1 s (--time-limit)" in words
    assert "the call has not come back to Python since, so that the run ends here" in words
    assert "cause 1: relu" in words
    assert "cut before their last law: silu" in words
    assert "Fatal Python error" not in words
    assert {fact["operation"]: fact["status"] for fact in run.facts} == {"relu": "failed", "sigmoid": "failed"}


@pytest.mark.rotating
def test_code_that_keeps_all_threads_waiting_is_ended_too() -> None:
    run = run_hostile("--pyargs", "spec_tests", f"--backend={BACKENDS / 'broken' / 'hangs_in_c.py'}", "--time-limit=1", *LAWS)
    assert run.status == 1
    assert "in sigmoid" in run.text  # where it waits


@pytest.mark.rotating
def test_a_slow_call_is_not_ended_early(tmp_path: Path) -> None:
    """A call that comes back after its limit is a failure of its own, and the run goes on."""
    slow = DEADLOCKED.replace("mutex, library = ctypes.create_string_buffer(64), ctypes.CDLL(None)", "import hashlib")
    slow = slow.replace("library.pthread_mutex_lock(mutex)\n", "hashlib.pbkdf2_hmac('sha256', b'', b'', 6_000_000)\n")
    slow = slow.replace("calls > 3", "calls == 4")  # the call takes seconds
    (tmp_path / "mine.py").write_text(slow)
    run = suite(tmp_path, "--backend=mine.py", "--time-limit=1", "--hypothesis-seed=1", *LAWS)
    assert {fact["operation"]: fact["status"] for fact in run.facts}["silu"] == "passed", run.text
    assert "never returned" not in run.text
