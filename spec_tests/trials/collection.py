"""The invariants of the suite, and the files that hold them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ..specification.first_use import import_modules

SUITE = Path(__file__).parents[1]


def is_law_file(path: Path) -> bool:
    """Whether this is a file of laws: spec_tests/test_*.py."""
    return path.suffix == ".py" and path.name.startswith("test_") and is_beside_laws(path)


def is_beside_laws(path: Path) -> bool:
    """Whether this is a file or a folder in the folder of the laws."""
    return _is_suite(path.parent)


@cache  # pytest asks of each file several times, and to resolve a path is slow
def _is_suite(folder: Path) -> bool:
    return folder.resolve() == SUITE.resolve()


def is_law(config: pytest.Config, location: tuple[str, int | None, str]) -> bool:
    """Whether a test, by its pytest location, is one of this suite's laws."""
    return is_law_file(config.rootpath / location[0])


def module_name(path: Path) -> str:
    """Return the dotted name of a file of laws."""
    return f"{SUITE.name}.{path.stem}"


@cache
def invariants() -> tuple[Any, ...]:
    """Return the test function of every invariant, in the order of a run: those of gradients come last."""
    found: list[Any] = []
    files = sorted(SUITE.glob("test_*.py"), key=lambda path: (path.stem.endswith(("_vjp", "_gradient")), path))
    for module in import_modules(*map(module_name, files)):
        found += [f for f in vars(module).values() if getattr(f, "invariant", None) and f.__module__ == module.__name__]
    return tuple(found)
