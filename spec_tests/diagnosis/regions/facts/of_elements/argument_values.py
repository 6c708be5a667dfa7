"""The values of arguments that belong to an element: at its place, in its column, or of its whole row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from .....calls.call import Call
from .....specification.formats import is_floating
from .....specification.registry import core_of
from ...fills import Fill
from ._element_fact import ElementFact, Place, say_comparison

ORDER = 6

STATISTICS: MappingProxyType[str, Callable[..., Any]] = MappingProxyType(
    {
        "largest entry of": np.max,
        "smallest entry of": np.min,
        "largest magnitude in": lambda x, **axis: np.max(np.abs(x), **axis),
    }
)


class ValueAt(ElementFact):
    """The value of an argument at the place of the element, or in its row."""

    @property
    def argument(self) -> str:
        return self.name

    def fill_between(self, first: str) -> Callable[[float, float], Fill] | None:
        return (lambda low, high: lambda rng, shape, _: rng.uniform(low, high, shape)) if self.name == first else None


class ValueOfColumn(ElementFact):
    """The value that an argument has in the column of the element."""


@dataclass(frozen=True, eq=False, repr=False)
class OfRow(ElementFact):
    """A statistic of the whole row of an argument."""

    statistic: str
    owner: str

    @property
    def is_derived(self) -> bool:  # type: ignore[override]
        return self.statistic.startswith("largest")

    def say(self, kind: str, values: tuple[Any, ...]) -> str:
        return f"where the {self.statistic} the row of {self.owner} {say_comparison(kind, values)}"

    def fill_between(self, first: str) -> Callable[[float, float], Fill] | None:
        return self._make_fill if self.owner == first else None

    def _make_fill(self, low: float, high: float) -> Fill:
        def fill(rng: np.random.Generator, shape: tuple[int, int], _: Any) -> Any:
            wanted, x = rng.uniform(low, high, (shape[0], 1)), rng.standard_normal(shape)
            now = STATISTICS[self.statistic](x, axis=-1, keepdims=True)
            return x * (wanted / now) if "magnitude" in self.statistic else x - now + wanted

        return fill


def of_row(statistic: str, argument: str) -> OfRow:
    """Return the fact of a statistic of the rows of an argument."""
    return OfRow.of(f"the {statistic} a row of {argument}", statistic, argument)


def read(place: Place) -> Iterator[tuple[ElementFact, np.ndarray]]:
    """Yield the values of each argument that belong to elements."""
    if place.is_part:
        yield from _read_at(place)
        return
    call, shape = place.call, place.shape
    for name, x in call.named.items():
        if isinstance(x, np.ndarray) and x.dtype.kind in "iu" and x.size:
            yield from _read_integers(name, x, call, shape)
        if not (isinstance(x, np.ndarray) and is_floating(x)) or not x.size:
            continue
        if x.shape == shape:
            yield ValueAt.of(name), x
        if x.ndim == 1 and shape and x.shape == shape[-1:] and len(call.arguments) > 1:
            yield ValueOfColumn.of(f"{name} of the column"), x
        if x.ndim and name == next(iter(call.named)):
            yield from _read_statistics(name, x, call.keywords.get("axis", -1), shape)


def _read_statistics(name: str, x: np.ndarray, axis: int, shape: tuple[int, ...]) -> Iterator[tuple[ElementFact, np.ndarray]]:
    """Yield the statistics of the rows of the first argument."""
    for words, measure in STATISTICS.items():
        fact, statistic = of_row(words, name), measure(x, axis=axis, keepdims=True)
        if len(shape) == x.ndim and all(a in (b, 1) for a, b in zip(statistic.shape, shape, strict=True)):
            yield fact, statistic
        elif np.squeeze(statistic, axis).shape == shape:
            yield fact, np.squeeze(statistic, axis)


def _read_integers(name: str, x: np.ndarray, call: Call, shape: tuple[int, ...]) -> Iterator[tuple[ElementFact, np.ndarray]]:
    """Yield an array of integers that has one for each element, or for each row: ids, targets or positions."""
    core = core_of(call.operation.spec, call.named).get(name, 0)
    if x.shape == shape:
        yield ValueAt.of(name), x
    elif (shape and x.shape == shape[:-1]) or (core == 1 and x.shape == shape[-1 - x.ndim : -1]):
        yield ValueAt.of(name), x[..., None]


def _read_at(place: Place) -> Iterator[tuple[ElementFact, np.ndarray]]:
    """Yield the floating arguments of the shape of a part, whose values stand at its elements, and those of its rows."""
    for name, x in place.call.named.items():
        if isinstance(x, np.ndarray) and is_floating(x) and x.shape in (place.shape, place.shape[:-1]):
            yield ValueAt.of(name), (x if x.shape == place.shape else x[..., None]).astype(np.float64)
