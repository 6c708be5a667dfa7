"""The index of an element in the flattened result, and where it lies in blocks: what code that counts all elements sees."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ._element_fact import ElementFact, Place
from .blocks import BLOCKS, BeyondBlocks
from .indices import FromTheEnd, Index

ORDER = 4

NAME = "flat index"


class FlatIndex(Index):
    """The index as `ndarray.flat` counts."""

    is_derived, is_index = True, False


class FlatFromTheEnd(FromTheEnd):
    """The index as `ndarray.flat` counts, from the last."""

    is_derived = True


FLAT_INDEX = FlatIndex.of(NAME, NAME, "flat indices")
FLAT_FROM_THE_END = FlatFromTheEnd.of(f"{NAME} from the end", NAME, "flat indices")


def beyond_flat(block: int) -> BeyondBlocks:
    """Return the fact whether a flat index lies after the last whole block of so many elements."""
    return BeyondBlocks.of(f"{NAME} beyond the whole blocks of {block}", block, "flat indices")


def read(place: Place) -> Iterator[tuple[ElementFact, np.ndarray]]:
    """Yield the index in the flattened result, and where it lies in blocks; nothing where that is the last index."""
    if len(place.shape) < 2 or place.is_part:
        return
    size = place.right.size
    index = np.arange(size).reshape(place.shape)
    yield FLAT_INDEX, index
    yield FLAT_FROM_THE_END, size - 1 - index
    yield from ((beyond_flat(block), index >= size // block * block) for block in BLOCKS)
