"""The product of two sizes: kernels count their elements through both."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Self

from .....calls.call import Call
from .....calls.in_domain import dimension_sizes
from ....wish import Wish
from ..fact import Fact, Largest, say_number
from .batch import BATCH_ENTRIES, ENTRIES

ORDER = 11

MAX_ENTRIES = 300  # of a batch that is asked for


@dataclass(frozen=True, eq=False, repr=False)
class Product(Fact):
    """The product of two sizes. Either may be the number of batch entries."""

    one: str
    other: str

    is_derived = True

    @classmethod
    def of_sizes(cls, one: str, other: str) -> Self:
        """Return the fact of the product of two sizes."""
        return cls.of(f"{one} · {other}", one, other)

    @property
    def is_of_batch(self) -> bool:  # type: ignore[override]
        return ENTRIES in (self.one, self.other)

    def say_values(self, kind: str, values: tuple[Any, ...]) -> str:
        return say_number(self.name.replace(ENTRIES, f"the number of {ENTRIES}"), kind, values)

    def change(self, wish: Wish, value: Any, like: Call, largest: Largest) -> Wish | None:
        """Return the wish with two sizes that have this product, None if there are none. The first changes little."""
        now = _size_of(wish, self.one)
        if now is None or _size_of(wish, self.other) is None:
            return None
        most, most_of_other = (MAX_ENTRIES if name == ENTRIES else largest(name) for name in (self.one, self.other))
        pairs = [(a, b) for a, b in _list_factors(int(value)) if a <= most and b <= most_of_other]
        if not pairs:
            return None
        a, b = min(pairs, key=lambda pair: abs(math.log(pair[0] / max(now, 1))))
        return _with_size(_with_size(wish, self.one, a), self.other, b)


def read(call: Call, known: Mapping[Fact, Any]) -> Iterator[tuple[Fact, Any]]:
    """Yield the product of each pair of sizes."""
    entries = {ENTRIES: known[BATCH_ENTRIES]} if BATCH_ENTRIES in known else {}
    for (one, size), (other, other_size) in combinations((entries | dimension_sizes(call)).items(), 2):
        yield Product.of_sizes(one, other), size * other_size


def _list_factors(product: int) -> Iterator[tuple[int, int]]:
    """Yield each pair of factors of a number."""
    for factor in range(1, math.isqrt(max(product, 0)) + 1):
        if product % factor == 0:
            yield factor, product // factor
            yield product // factor, factor


def _size_of(wish: Wish, name: str) -> int | None:
    if name == ENTRIES:
        return None if wish.batch is None else math.prod(wish.batch)
    return wish.sizes.get(name)


def _with_size(wish: Wish, name: str, size: int) -> Wish:
    return wish.but(batch=(size,)) if name == ENTRIES else wish.but(sizes={name: size})
