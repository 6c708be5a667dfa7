"""What may be computed in place of the equation: a change of the call or of the result, perhaps in some elements alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...calls.in_domain import sizes_of
from ...specification.registry import Specification, specification
from ..equations.neighbours.mode import Mode
from ..result_parts import map_parts
from .indices import IndexSet

Named = dict[str, Any]  # the arguments of a call by name
RIGHT = "right"  # the key of the right results


@dataclass(frozen=True)
class Where:
    """Some elements of a result: those whose index along one axis is in a set, or all of one of several results."""

    axis: int = (
        0  # counted from the last, so that it is the same with and without a batch; 0: the rows, over all axes but the last
    )
    indices: IndexSet | None = None  # None: all

    def mask(self, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        """Return which elements of an array of this shape they are, as an array that broadcasts to it."""
        if self.indices is None:
            return np.ones((), dtype=bool)
        if len(shape) < -self.axis or not shape:
            return np.zeros((), dtype=bool)
        if self.axis == 0:
            rows = int(np.prod(shape[:-1]))
            held = np.broadcast_to(self.indices.holds(np.arange(rows), rows, sizes), (rows,))
            return held.reshape(*shape[:-1], 1)
        length = shape[self.axis]
        held = np.broadcast_to(self.indices.holds(np.arange(length), length, sizes), (length,))
        return held.reshape(length, *(1,) * (-self.axis - 1))


@dataclass(eq=False)
class Alternative:
    """An equation that gives other answers than the right one, as `diagnosis/fit.py` judges it."""

    operation: str
    what: str
    compute: Callable[[Specification, Named], Any] | None  # the results, as the reference equation returns them
    cost: float = 0.0
    where: tuple[str, Where] | None = None  # the result and the elements of it in which it is given; the right ones elsewhere
    words: str = ""  # for `where`
    mode: Mode | None = None
    kind: str = "equation"
    evaluations: int = 1  # of the right equation that one of this costs
    change: Callable[[Specification, Named, Any], Any] | None = None  # of the right results, where there is no `compute`
    only_in: str = ""  # the one of several results, or gradients, that it changes, where that is known
    of_part: str = ""  # what is said of that result

    @property
    def sentence(self) -> str:
        return " ".join(
            filter(None, [f"{self.what}{',' if self.words else ''}", self.words, self.mode.words if self.mode else ""])
        )

    @property
    def id(self) -> str:
        return f"{self.operation}: {self.sentence}"

    @property
    def price(self) -> float:
        """How far it is from the equation; the cheapest of those that explain everything is said."""
        indices = self.where[1].indices if self.where else None
        where = 1 + indices.cost if indices else 0.5 if self.where else 0.0
        return self.cost + where + (len(self.mode.settings) if self.mode else 0)

    @property
    def function(self) -> Callable[..., Any]:
        return self.function_with(None)

    def function_with(self, shared: dict[str, Any] | None) -> Callable[..., Any]:
        """Return the equation. `shared` keeps the right results, of one call in one number type, for other alternatives."""
        spec = specification(self.operation)

        def evaluate(*arguments: Any, **keywords: Any) -> Any:
            known = {} if shared is None else shared
            named = {**dict(zip(spec.positional, arguments, strict=False)), **keywords}

            def find_right() -> Any:
                if RIGHT not in known:
                    known[RIGHT] = spec.reference(*arguments, **keywords)
                return known[RIGHT]

            if self.mode and not self.mode.read(self.operation, arguments, keywords):
                return find_right()
            if self.compute is not None:
                found = self.compute(spec, named)
            else:
                assert self.change is not None
                found = self.change(spec, named, find_right())
            if self.where is None:
                return found
            part, where = self.where
            sizes, right = sizes_of(spec, named), find_right()

            def choose(name: str, other: Any, own: Any) -> Any:
                if name != part:
                    return own
                return np.where(np.broadcast_to(where.mask(own.shape, sizes), own.shape), other, own)

            return map_parts(choose, spec, found, right)

        return evaluate

    def shows_in(self, dtype: str) -> bool:
        return True

    def in_mode(self, mode: Mode | None) -> Alternative:
        """Return the same alternative in another mode."""
        return replace(self, mode=mode)

    def within(self, part: str, where: Where, words: str) -> Alternative:
        return replace(self, where=(part, where), words=words)


def call_right(spec: Specification, named: Named) -> Any:
    """Return what the reference equation gives for arguments by name."""
    return call_equation(spec.reference, spec, named)


def call_equation(equation: Callable[..., Any], spec: Specification, named: Named) -> Any:
    """Return what an equation of the operation gives for arguments by name."""
    given = dict(named)
    positional = []
    for name in spec.positional:
        if name not in given:
            break
        positional.append(given.pop(name))
    return equation(*positional, **given)


def take(x: Any, indices: np.ndarray, axis: int) -> Any:
    """Return the entries of an array at these indices along an axis, which is counted from the last. Number types only index."""
    return x[(..., indices, *(slice(None),) * (-axis - 1))]
