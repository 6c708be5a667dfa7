"""The invariants of the suite, and the files that hold them."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

SUITE = Path(__file__).parents[1]


def is_law_file(path: Path) -> bool:
    """Whether this is a file of laws: spec_tests/test_*.py."""
    return path.resolve().parent == SUITE.resolve() and path.suffix == ".py" and path.name.startswith("test_")


def is_law(config: pytest.Config, location: tuple[str, int | None, str]) -> bool:
    """Whether a test, by its pytest location, is one of this suite's laws."""
    return is_law_file(config.rootpath / location[0])


@cache
def invariants() -> tuple[Any, ...]:
    """Return the test function of every invariant, in the order of a run: those of gradients come last."""
    found: list[Any] = []
    files = SUITE.glob("test_*.py")
    for path in sorted(files, key=lambda path: (path.stem.endswith(("_vjp", "_gradient")), path)):
        module = importlib.import_module(f"spec_tests.{path.stem}")
        found += [f for f in vars(module).values() if getattr(f, "invariant", None) and f.__module__ == module.__name__]
    return tuple(found)
