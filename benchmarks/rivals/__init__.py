"""Other projects' tests, applied to the operations of this project with the same inputs, comparisons and tolerances.

Each file in this folder is a rival, except `cases.py`, `rules.py` and files whose names begin with _. A rival has TITLE, START
(the code that its process runs before the first case) and `build_judge()`, which may raise Absent.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spec_tests.implementation.backend import Backend


class Absent(Exception):
    """A library that the rival needs is not installed. The message is one sentence."""


@dataclass(frozen=True)
class Judge:
    """A rival's test cases, ready to judge backends."""

    passes: Callable[[Backend, str], bool]  # whether this operation of this backend passes all cases
    calls: dict[str, frozenset[str]]  # the operations that it calls, and in which dtypes
    cases: int
    alarms: int = 0  # cases left out because correct code fails them

    def select_operations(self, operations: tuple[str, ...], dtypes: tuple[str, ...]) -> list[str]:
        """Return those of the operations that the rival calls in one of the dtypes."""
        return [name for name in operations if self.calls.get(name, frozenset()) & {*dtypes}]


def list_rivals() -> list[str]:
    return sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py") if path.stem not in ("cases", "rules"))


def load_rival(name: str) -> Any:
    return importlib.import_module(f"benchmarks.rivals.{name}")
