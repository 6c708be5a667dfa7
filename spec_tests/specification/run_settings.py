"""What a run sets for all packages: the effort, the memory budget, the number of shapes, and the limits of a call.

This is the one module-level state that a run changes. `running/session.py` sets it once, from the options of the command line;
`spec_tests.check` sets it for a block.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

MEMORY_BUDGET_GB = 4.0


@dataclass(frozen=True)
class Limits:
    """How much time and memory a call may use."""

    seconds: float = 60.0  # enough for a kernel that is compiled in its first call
    memory: int | None = None  # bytes of the isolated process; None: no limit
    confined: bool = False  # whether the isolated process is kept from other processes and from the judge's files


@dataclass(frozen=True)
class RunSettings:
    effort: str = "default"  # a key of EFFORTS in inputs/effort.py
    memory_budget_gb: float = MEMORY_BUDGET_GB  # for one call and what it is compared with
    shape_count: int | None = None  # how many shapes each operation may have at most; None: no limit
    seeds: range | None = None  # seeds whose examples are tried one after the other; None: those of Hypothesis's seed alone
    limits: Limits = Limits()
    request_folder: Path | None = None  # where failing requests to a process are kept; None: the system's temporary folder
    max_calls: int | None = None  # of each backend in this process, after which no example is drawn; None: no limit
    failures_folder: Path | None = None  # where arrays of failures are saved; None: the system's temporary folder
    device: str | None = None  # on which backends make their arrays, in place of the one that they state
    python: tuple[str, ...] = ()  # the words that start the Python of the backends; () is the suite's own
    measures_skill: bool = False  # whether comparisons with the oracle are graded: see trials/skill.py
    seeks_causes: bool = True  # whether failing examples are shrunk and their causes looked for


_current = RunSettings()


def current_settings() -> RunSettings:
    """Return the settings of this process."""
    return _current


def set_settings(settings: RunSettings) -> None:
    """Set the settings of this process, for every backend and every later call."""
    global _current
    _current = settings


@contextmanager
def using_settings(**changes: Any) -> Iterator[None]:
    """Use settings that differ from the current ones, in a block."""
    before = current_settings()
    set_settings(replace(before, **changes))
    try:
        yield
    finally:
        set_settings(before)
