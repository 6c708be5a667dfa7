"""What floating arrays hold: the largest magnitude, infinities and NaN; and the largest position."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .....calls.call import Call
from .....specification.formats import is_floating
from ....wish import Wish
from ...fills import MAX_ORDINARY, WITH_NAN, fill_up_to
from ..fact import Fact, Largest

ORDER = 7


class LargestMagnitude(Fact):
    """The largest magnitude in an array. Where it is chosen, a sign stands for values of that sign."""

    is_derived = is_counted = True

    def change(self, wish: Wish, value: Any, like: Call, largest: Largest) -> Wish | None:
        return wish.but(fill=fill_up_to(abs(value), np.sign(value)), is_ordinary=abs(value) < MAX_ORDINARY)

    def list_near(self, kind: str, values: Sequence[Any]) -> list[Any] | None:
        if kind not in ("above", "below"):
            return None
        return [sign * share * values[0] for share in (0.5, 0.9, 1.1, 2.0) for sign in (1, -1)]

    def list_pool(self, values: Sequence[Any]) -> list[Any]:
        return [sign * share * value for value in values for share in (0.25, 0.9, 1.1, 3.0) for sign in (1, -1)]


class LargestPosition(Fact):
    """The largest position."""

    is_derived = is_counted = True


@dataclass(frozen=True, eq=False, repr=False)
class Holds(Fact):
    """Whether an array holds −∞, or NaN."""

    value: str
    argument: str

    def say_flag(self, holds: bool) -> str:
        return f"where {self.argument} holds {'' if holds else 'no '}{self.value}"


class HoldsMinusInfinity(Holds):
    """Whether an array holds −∞."""


class HoldsNaN(Holds):
    """Whether an array holds NaN."""

    def change(self, wish: Wish, value: Any, like: Call, largest: Largest) -> Wish | None:
        return wish.but(fill=WITH_NAN if value else None)


class IsFinite(Fact):
    """Whether every number of an array is finite."""

    def say_flag(self, holds: bool) -> str:
        return f"where {self.name}" if holds else f"where {self.name.removesuffix(' is finite')} holds NaN or an infinity"

    def change(self, wish: Wish, value: Any, like: Call, largest: Largest) -> Wish | None:
        return wish.but(fill=None if value else WITH_NAN)


def largest_magnitude(argument: str) -> LargestMagnitude:
    """Return the fact of the largest magnitude in an argument."""
    return LargestMagnitude.of(f"the largest |{argument}|")


def read(call: Call, known: Mapping[Fact, Any]) -> Iterator[tuple[Fact, Any]]:
    """Yield the facts of each floating array, those of a gradient without infinities and NaN, and of positions."""
    for name, x in call.named.items():
        if is_floating(x) and isinstance(x, np.ndarray) and x.size:
            yield largest_magnitude(name), float(np.max(np.abs(x), initial=0.0, where=~np.isnan(x)))  # ∞ if x holds −∞
            if not call.operation.spec.is_gradient:
                yield HoldsMinusInfinity.of(f"−∞ in {name}", "−∞", name), bool(np.isneginf(x).any())
                yield HoldsNaN.of(f"NaN in {name}", "NaN", name), bool(np.isnan(x).any())
                yield IsFinite.of(f"{name} is finite"), bool(np.isfinite(x).all())
        elif name == "positions" and isinstance(x, np.ndarray) and x.size:
            yield LargestPosition.of("the largest position"), int(x.max())
