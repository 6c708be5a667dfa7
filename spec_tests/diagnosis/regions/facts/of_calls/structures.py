"""How the entries of floating arrays stand to one another, in every row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .....calls.call import Call
from .....specification.formats import is_floating
from .....specification.structures import equal_rows
from ....wish import Wish
from ..fact import Fact, Flag, Largest
from ..structures import RowStructure, find_structures

ORDER = 17


@dataclass(frozen=True, eq=False, repr=False)
class EveryRow(Fact):
    """Whether every row of an argument has a structure."""

    argument: str
    structure: RowStructure

    is_derived = True

    def say_flag(self, holds: bool) -> str:
        every, words = ("every", self.structure.has) if holds else ("a", self.structure.has_not)
        return f"where {every} row of {self.argument} {words}"

    def change(self, wish: Wish, value: Any, like: Call, largest: Largest) -> Wish | None:
        return wish.with_rows(self.structure.fill(1.0) if value else None)


class EqualRows(Flag):
    """Whether all rows of an argument are equal."""

    is_derived = True

    def change(self, wish: Wish, value: Any, like: Call, largest: Largest) -> Wish | None:
        return wish.with_rows(_fill_equal if value else None)


class ZeroAtTheEnd(Flag):
    """Whether the last row of an argument is 0."""

    is_derived = True

    def change(self, wish: Wish, value: Any, like: Call, largest: Largest) -> Wish | None:
        return wish.with_rows(_fill_zero_at_the_end if value else None)


def _fill_equal(rng: np.random.Generator, shape: tuple[int, int], _: Any) -> Any:
    return equal_rows(rng, rng.standard_normal(shape))


def _fill_zero_at_the_end(rng: np.random.Generator, shape: tuple[int, int], _: Any) -> Any:
    x = rng.standard_normal(shape)
    x[-1] = 0.0
    return x


def read(call: Call, known: Mapping[Fact, Any]) -> Iterator[tuple[Fact, Any]]:
    """Yield the structures of each floating array. Its rows lie along the axis that the call names, else along the last."""
    for name, x in call.named.items():
        if not (isinstance(x, np.ndarray) and is_floating(x) and x.ndim and x.size) or name == "cotangent":
            continue
        axis = call.keywords.get("axis", -1) if name == "x" else -1
        rows = np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis])
        for structure, holds in find_structures(rows).items():
            yield EveryRow.of(f"every row of {name} {structure.has}", name, structure), bool(holds.all())
        equal = f"all rows of {name} are equal", f"where all rows of {name} are equal", f"where rows of {name} differ"
        yield EqualRows.of(*equal), bool((rows == rows[:1]).all())
        last = f"the last row of {name} is 0"
        yield ZeroAtTheEnd.of(last, f"where {last}", f"where the last row of {name} is not 0"), not rows[-1].any()
