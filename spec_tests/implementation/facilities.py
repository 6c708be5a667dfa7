"""What this system lacks of what the suite uses, each in one sentence: a run goes on with a lesser guarantee, or is refused."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from collections.abc import Iterator


def find_obstacles_to_processes() -> list[str]:
    """Return what this system lacks for a backend in a process of its own. [] if it has all of it."""
    missing = [f"os.{name}" for name in ("killpg", "setsid") if not hasattr(os, name)]
    return missing + ["select on pipes"] * (sys.platform == "win32")


def has_timer() -> bool:
    """Whether a signal can end a call in the suite's own process after --time-limit."""
    return hasattr(signal, "setitimer") and hasattr(signal, "SIGALRM")


def can_limit_memory() -> bool:
    """Whether a process can limit its own memory. What is in `sys.modules` counts."""
    try:
        return importlib.util.find_spec("resource") is not None
    except ValueError:  # None in sys.modules
        return False


def describe_lesser_guarantees(*, in_processes: bool) -> Iterator[str]:
    """Yield what a run does not guarantee on this system, each in one sentence."""
    if not in_processes and not has_timer():
        yield "this system has no signal.setitimer: --time-limit ends no call, so that one that hangs stops the run"
    if in_processes and not can_limit_memory():
        yield "this system has no resource module: the backend's process has no memory limit"
