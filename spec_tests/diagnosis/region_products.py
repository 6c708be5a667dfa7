"""Wishes for another product of two sizes, or for another number of elements of the result."""

from __future__ import annotations

import math
from collections.abc import Iterator

from .asking import Answer, Ask, Wish
from .region_facts import BATCH_ENTRIES

MAX_ENTRIES = 300  # of a batch that is asked for


def change_product(ask: Ask, wish: Wish, one: str, other: str, product: int) -> Wish | None:
    """Return the wish with two sizes that have this product, None if there are none. The first changes as little as may be.

    Either may be the number of batch entries.
    """
    now = _size_of(wish, one)
    if now is None or _size_of(wish, other) is None:
        return None
    limits = _largest(ask, one), _largest(ask, other)
    pairs = [(a, b) for a, b in _list_factors(product) if a <= limits[0] and b <= limits[1]]
    if not pairs:
        return None
    a, b = min(pairs, key=lambda pair: abs(math.log(pair[0] / max(now, 1))))
    return _with_size(_with_size(wish, one, a), other, b)


def change_elements(ask: Ask, wish: Wish, answer: Answer, count: int) -> Wish | None:
    """Return the wish with so many elements in the result, None if none is found. It has another batch, and other columns."""
    shape = answer.call.value.shape
    entries = math.prod(wish.batch) if wish.batch else 0
    if not shape or not shape[-1] or not entries or answer.call.value.size % entries:
        return None
    columns = [name for name, size in wish.sizes.items() if size == shape[-1]]
    of_entry = answer.call.value.size // entries
    if not columns or of_entry % shape[-1]:
        return wish.but(batch=(count // of_entry,)) if of_entry and count % of_entry == 0 else None
    rows = of_entry // shape[-1]
    return change_product(ask, wish, columns[-1], BATCH_ENTRIES, count // rows) if rows and count % rows == 0 else None


def _list_factors(product: int) -> Iterator[tuple[int, int]]:
    """Yield each pair of factors of a number."""
    for factor in range(1, math.isqrt(max(product, 0)) + 1):
        if product % factor == 0:
            yield factor, product // factor
            yield product // factor, factor


def _size_of(wish: Wish, name: str) -> int | None:
    if name == BATCH_ENTRIES:
        return None if wish.batch is None else math.prod(wish.batch)
    return wish.sizes.get(name)


def _with_size(wish: Wish, name: str, size: int) -> Wish:
    return wish.but(batch=(size,)) if name == BATCH_ENTRIES else wish.but(sizes={name: size})


def _largest(ask: Ask, name: str) -> int:
    return MAX_ENTRIES if name == BATCH_ENTRIES else ask.largest(name)
