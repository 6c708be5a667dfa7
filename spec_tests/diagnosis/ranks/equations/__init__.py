"""The equations of operations as several ranks compute them, a file for each family. A file is registered by its presence."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ...operator.alternative import Named
from ..layout import Layout
from ..steps import Steps

Evaluate = Callable[[Steps, Layout, Named, list[Named]], list[Any]]
"""From the steps, the cuts, the whole arguments and those of each rank to the result of each rank."""


@dataclass(frozen=True)
class EquationOverRanks:
    """An equation as ranks compute it, and the cuts with which they do so."""

    operation: str
    evaluate: Evaluate
    cuts: dict[str, int | None]


class Equations:
    """The equations of one file."""

    def __init__(self) -> None:
        self.found: tuple[EquationOverRanks, ...] = ()

    def add(self, *operations: str, **cuts: int | None) -> Callable[[Evaluate], Evaluate]:
        """Register a function for some operations, with the axes along which the arguments have to be cut."""

        def register(function: Evaluate) -> Evaluate:
            self.found += tuple(EquationOverRanks(operation, function, cuts) for operation in operations)
            return function

        return register


@cache
def _load() -> tuple[EquationOverRanks, ...]:
    names = sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return tuple(equation for module in modules for equation in module.EQUATIONS.found)


def list_equations(layout: Layout) -> Iterator[EquationOverRanks]:
    """Yield the equations over ranks of an operation that is cut like this."""
    for equation in _load():
        if equation.operation == layout.spec.name and layout.is_cut(equation.cuts):
            yield equation


def list_cuts(operation: str) -> list[dict[str, int | None]]:
    """Return the ways to cut the arrays of an operation in which it is known over ranks."""
    return [equation.cuts for equation in _load() if equation.operation == operation]
