"""How others test: the same inputs, comparisons and tolerances as theirs, put to the operations of this project.

Presence in the folder is registration. A rival has TITLE; START, what a process of its own runs before the first case; and
`judging()`, which may raise Absent.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spec_tests.implementation.backend import Backend


class Absent(Exception):
    """What the rival needs is not installed; one sentence says so."""


@dataclass(frozen=True)
class Judging:
    passes: Callable[[Backend, str], bool]  # as far as it sees, this operation of this backend is right
    calls: dict[str, frozenset[str]]  # the operations that it calls, and in which dtypes
    cases: int
    alarms: int = 0  # cases left out, since correct code fails them

    def sees(self, operations: tuple[str, ...], dtypes: tuple[str, ...]) -> list[str]:
        """Those of the operations that it calls in one of the dtypes."""
        return [name for name in operations if self.calls.get(name, frozenset()) & {*dtypes}]


def names() -> list[str]:
    return sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py") if path.stem not in ("cases", "rules"))


def rival(name: str) -> Any:
    return importlib.import_module(f"benchmarks.rivals.{name}")
