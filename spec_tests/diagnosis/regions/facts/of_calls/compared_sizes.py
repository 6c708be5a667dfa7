"""Two sizes beside each other: equal, larger, a multiple; and a size beside an option, or beside a product of sizes.

The number of batch entries is a size here, and so is an option that counts something, such as the tokens of a window.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

from .....calls.call import Call
from .....calls.in_domain import dimension_sizes
from .....specification.registry import argument_dimensions
from ....wish import Wish
from ..fact import Fact, Largest
from .batch import BATCH_ENTRIES, ENTRIES
from .integer_entries import INDEX_OPTIONS

ORDER = 10


@dataclass(frozen=True, eq=False, repr=False)
class _Pair(Fact):
    one: str
    other: str

    is_derived = True

    @property
    def is_of_batch(self) -> bool:  # type: ignore[override]
        return ENTRIES in (self.one, self.other)

    @property
    def words(self) -> str:
        """The name in a sentence."""
        return self.name.replace(ENTRIES, f"the number of {ENTRIES}")


class Equal(_Pair):
    """Whether two sizes are equal. The second may be a product of sizes, such as "h d_v"."""

    def say_flag(self, holds: bool) -> str:
        return f"where {self.words if holds else self.words.replace(' = ', ' ≠ ')}"

    def change(self, wish: Wish, value: Any, like: Call, largest: Largest) -> Wish | None:
        """Return the wish with two equal sizes, or with sizes that differ by 1. Beside a product the first is changed."""
        size, differ = wish.sizes.get(self.one), not value
        factors = self.other.split() if self.other != ENTRIES else []
        if len(factors) > 1:
            product = math.prod(wish.sizes.get(factor, 0) for factor in factors)
            return wish.but(sizes={self.one: product + differ}) if product else None
        if size is None:
            return None
        return wish.but(batch=(size + differ,)) if self.other == ENTRIES else wish.but(sizes={self.other: size + differ})


class Larger(_Pair):
    """Whether one size is larger than another. Either may be an option."""

    def say_flag(self, holds: bool) -> str:
        return f"where {self.words if holds else self.words.replace(' > ', ' ≤ ')}"

    def change(self, wish: Wish, value: Any, like: Call, largest: Largest) -> Wish | None:
        """Return the wish with the first size larger than the second, or not larger. An option is left as it is."""
        one, other = self.one, self.other
        if isinstance(number := wish.keywords.get(other), int):
            wanted = number + 1 if value else number
            return wish.but(sizes={one: wanted}) if 0 < wanted <= largest(one) else None
        if isinstance(number := wish.keywords.get(one), int):
            wanted = number - 1 if value else number
            return wish.but(sizes={other: wanted}) if 0 < wanted <= largest(other) else None
        entries = math.prod(wish.batch) if wish.batch is not None else None
        size = wish.sizes.get(other, entries if other == ENTRIES else None)
        if size is None:
            return None
        wanted = size + 1 + size // 2 if value else max(size - 1, 1)
        if one == ENTRIES:
            return wish.but(batch=(wanted,))
        return wish.but(sizes={one: wanted}) if wanted <= largest(one) else None


class Shared(_Pair):
    """How many query heads share a head of keys and values."""

    is_derived = False

    def change(self, wish: Wish, value: Any, like: Call, largest: Largest) -> Wish | None:
        heads = wish.sizes.get(self.other)
        return wish.but(sizes={self.one: int(value) * heads}) if heads else None


def equal(one: str, other: str) -> Equal:
    """Return the fact whether two sizes are equal."""
    return Equal.of(f"{one} = {other}", one, other)


def larger(one: str, other: str) -> Larger:
    """Return the fact whether one size is larger than another."""
    return Larger.of(f"{one} > {other}", one, other)


def read(call: Call, known: Mapping[Fact, Any]) -> Iterator[tuple[Fact, Any]]:
    """Yield the facts of each pair of sizes."""
    sizes = dimension_sizes(call)
    all_sizes = sizes | ({ENTRIES: known[BATCH_ENTRIES]} if BATCH_ENTRIES in known else {})
    for (one, size), (other, other_size) in combinations(all_sizes.items(), 2):
        yield equal(one, other), size == other_size
        if other == f"{one}_kv" and other_size and size % other_size == 0:
            yield Shared.of(f"{one} / {other}", one, other), size // other_size
    for (one, size), (other, other_size) in permutations(all_sizes.items(), 2):
        yield larger(one, other), size > other_size
    for option, number in _list_counts(call).items():
        yield from ((larger(name, option), size > number) for name, size in sizes.items())
        yield from ((larger(option, name), number > size) for name, size in sizes.items())
    for product, value in _list_products(call, sizes):
        yield from ((equal(name, product), size == value) for name, size in sizes.items() if name not in product.split())


def _list_counts(call: Call) -> dict[str, int]:
    """Return the options that count something, such as the tokens of a window. Heads are dimensions already."""
    indices = "axis", *INDEX_OPTIONS
    numbers = {name: x for name, x in call.keywords.items() if type(x) is int and not name.endswith(indices)}
    return {name: x for name, x in numbers.items() if x >= 0 and not name.endswith("_heads")}


def _list_products(call: Call, sizes: dict[str, int]) -> Iterator[tuple[str, int]]:
    """Yield the sizes of axes that are products of two dimensions, such as "h d_k" of the heads side by side."""
    labels = {label for labels in argument_dimensions(call.operation.spec).values() for label in labels}
    for label in sorted(labels):
        factors = label.split()
        if len(factors) > 1 and all(factor in sizes for factor in factors):
            yield label, math.prod(sizes[factor] for factor in factors)
