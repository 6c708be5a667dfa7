"""Latent attention that counts rows which a query does not see, or empty splits of a cache, with score 0 and value 0.

Such a row adds 1 = exp(0) to the denominator of the softmax. The logarithm of the denominator is a result, so that the wrong
answer is the right one, merged with a part whose own lse is the logarithm of how many such rows there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from reference_numpy._latent import seen_rows
from reference_numpy.merge_attention_states import merge_attention_states

from ...calls.call import Call
from ...specification.registry import Specification
from .alternative import Alternative, Named, call_right
from .extra_keys import SPLITS

COST = 1.0
ROWS = MappingProxyType({"latent_attention": "latent", "latent_attention_absorbed": "cache"})  # the argument that has them
QUERIES = MappingProxyType({"latent_attention": "q_nope", "latent_attention_absorbed": "q"})
Count = Callable[[np.ndarray, int], np.ndarray]
"""How many rows more count for each query: of how many it sees, and how many there are."""


def list_extra_rows(call: Call) -> Iterator[Alternative]:
    """Yield the right answers with more rows; nothing for other operations than latent attention."""
    name = call.operation.name
    if name in ROWS:
        for words, count in _list_counts():
            said = f"{words} counts in its softmax as a key with score 0 and value 0"
            yield Alternative(name, said, partial(_compute, count=count), COST, evaluations=2)


def _list_counts() -> Iterator[tuple[str, Count]]:
    yield "each row that a query does not see", lambda seen, room: room - seen
    for splits in SPLITS:
        words = f"each of {splits} splits of the rows in which a query sees none"
        yield words, partial(_count_empty_splits, splits=splits)


def _count_empty_splits(seen: np.ndarray, room: int, *, splits: int) -> np.ndarray:
    size = max(1, -(-room // splits))
    return -(-room // size) - -(-seen // size)


def _compute(spec: Specification, named: Named, *, count: Count) -> Any:
    out, lse = call_right(spec, named)
    rows, room = named[ROWS[spec.name]], int(named[ROWS[spec.name]].shape[-2])
    if named.get("block_table") is not None:
        room *= int(named["block_table"].shape[-1])
    n, is_causal = named[QUERIES[spec.name]].shape[-2], named.get("is_causal", spec.defaults["is_causal"])
    seen = np.sum(seen_rows(n, room, named.get("lengths"), is_causal), axis=-1)
    if named.get("lengths") is None and rows.shape[-2] == 0:
        return out, lse
    with np.errstate(divide="ignore"):  # no row more is a part of lse = log(0)
        extra = np.log(np.broadcast_to(count(seen, room), lse.shape).astype(float))
    others = np.where(np.full(out.shape, False), out, 0.0), np.where(np.full(lse.shape, False), lse, extra)  # of one number type
    return merge_attention_states(out, lse, *others)
