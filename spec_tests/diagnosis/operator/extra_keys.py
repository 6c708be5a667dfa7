"""Attention that counts keys which do not exist: of padding, of unused slots, or of empty splits, with score 0 and value 0.

Such a key adds 1 = exp(0) to the denominator of the softmax and nothing to the sum, as a sink of 0 does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ...calls.call import Call
from ...specification.registry import Specification
from ..result_parts import map_parts
from .alternative import Alternative, Named, call_right

BLOCKS = (8, 16, 32, 64, 128)
SPLITS = (2, 4, 8, 16, 32)
OPERATIONS = frozenset({"grouped_query_attention", "attention_with_lse", "attention_with_kv_cache", "paged_attention"})
Count = Callable[[np.ndarray, int, int], np.ndarray]
"""How many keys that do not exist count in each row: of how many it has, how many slots there are, and the size of a page."""


def list_extra_keys(call: Call) -> Iterator[Alternative]:
    """Yield the right answers with more keys; nothing for operations that are no attention with sinks."""
    name = call.operation.name
    if name not in OPERATIONS or len(call.named["q"].shape) < 3:
        return
    for words, count in _list_counts(call.named, has_lengths="lengths" in call.named):
        said = f"{words} counts in every query's softmax as a key with score 0 and value 0"
        yield Alternative(name, said, partial(_with_extra_keys, count=count), 1.0, evaluations=3)


def _list_counts(named: Named, *, has_lengths: bool) -> Iterator[tuple[str, Count]]:
    whole = "the keys" if not has_lengths else "the keys of a row"
    yield "one key more", lambda lengths, room, page: np.ones_like(lengths)
    for block in BLOCKS:
        yield (
            f"each place that pads {whole} to a multiple of {block}",
            partial(lambda lengths, room, page, n: -lengths % n, n=block),
        )
    yield f"each place that pads {whole} to a power of 2", lambda lengths, room, page: _power_above(lengths) - lengths
    if has_lengths:
        yield "each slot beyond the length of a row", lambda lengths, room, page: room - lengths
        for splits in SPLITS:
            words = f"each of {splits} splits of the slots that holds no key"
            yield words, partial(_count_empty_splits, splits=splits)
    if "k_pages" in named:
        yield "each unused slot of the last page", lambda lengths, room, page: -lengths % page


def _power_above(lengths: np.ndarray) -> np.ndarray:
    return np.array([1 << (max(int(n), 1) - 1).bit_length() for n in np.ravel(lengths)]).reshape(np.shape(lengths))


def _count_empty_splits(lengths: np.ndarray, room: int, page: int, *, splits: int) -> np.ndarray:
    size = max(1, -(-room // splits))
    return -(-room // size) - -(-lengths // size)


def _with_extra_keys(spec: Specification, named: Named, *, count: Count) -> Any:
    if "lengths" in named:
        page = int(named["k_pages"].shape[1]) if "k_pages" in named else 1
        slots = page * int(named["block_table"].shape[1]) if "k_pages" in named else int(named["k_cache"].shape[-2])
        counts = count(np.asarray(named["lengths"]).astype(int), slots, page)
    else:
        m = int(named["k"].shape[-2])
        counts = count(np.array([m]), m, 1)
    found = call_right(spec, named)
    for extra in sorted(set(counts.tolist()) - {0}):
        other = call_right(spec, {**named, "sinks": _raised(named, extra)})
        here = counts == extra
        found = map_parts(lambda name, y, own, here=here: _chosen(here, y, own), spec, other, found)
    return found


def _chosen(here: np.ndarray, y: Any, own: Any) -> Any:
    """Return one array in some rows of the batch, which is the first axis, and another elsewhere."""
    if here.size == 1:
        return y if here.all() else own
    return np.where(here.reshape(-1, *(1,) * (len(own.shape) - 1)), y, own)


def _raised(named: Named, extra: int) -> Any:
    """Return the sinks of all heads with so many keys of score 0 beside them."""
    if named.get("sinks") is None:
        heads = named["q"].shape[-3]
        return np.full(heads, math.log(extra))
    return np.log(np.exp(named["sinks"]) + float(extra))
