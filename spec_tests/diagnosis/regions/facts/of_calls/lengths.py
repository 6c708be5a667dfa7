"""The lengths of sequences in a cache, in pages, or packed one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .....calls.call import Call
from ..fact import Fact, Flag

ORDER = 8


class LargestLength(Fact):
    """The largest of the lengths."""

    is_derived = is_counted = True


class SmallestLength(Fact):
    """The smallest of the lengths."""


FULL_CACHE = Flag.of("a full cache", "where a sequence fills the cache", "where no sequence fills the cache")
UNUSED_COLUMNS = Flag.of(
    "unused columns of the table", "where the table has unused columns", "where the table has no unused columns"
)


def equal_lengths(of: str = "") -> Flag:
    """Return the fact whether all lengths are equal, those of an argument such as " of q" if it is named."""
    return Flag.of(f"equal lengths{of}", f"where all lengths{of} are equal", f"where lengths{of} differ")


def read(call: Call, known: Mapping[Fact, Any]) -> Iterator[tuple[Fact, Any]]:
    """Yield the facts of lengths, and of the cache or the pages that they lie in."""
    named = call.named
    ends = {name.removeprefix("cu_seqlens_"): x for name, x in named.items() if name.startswith("cu_seqlens_")}
    lengths = {f" of {name}": np.diff(x) for name, x in ends.items()}
    if (given := named.get("lengths")) is not None:
        lengths[""] = np.asarray(given)
        largest = int(np.max(given, initial=0))
        if (cache := named.get("k_cache")) is not None:
            added = named["k"].shape[-2] if "k" in named else 0  # lengths are those before the keys are added
            yield FULL_CACHE, largest + added == cache.shape[-2]
        if (table := named.get("block_table")) is not None:
            yield UNUSED_COLUMNS, table.shape[-1] > -(-largest // max(named["k_pages"].shape[1], 1))
    for of, values in lengths.items():
        if values.size:
            yield LargestLength.of(f"the largest length{of}"), int(values.max())
            yield SmallestLength.of(f"the smallest length{of}"), int(values.min())
            yield equal_lengths(of), bool(np.all(values == values[0]))
