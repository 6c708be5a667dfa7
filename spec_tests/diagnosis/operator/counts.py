"""Counts of tokens that are held in few bits: what occurs more often than the largest of them counts as often as that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...calls.call import Call
from ...specification.registry import Specification
from .alternative import Alternative, Named, call_right
from .binding import bound

BITS = (2, 3, 4, 5, 6, 7, 8)
NO_TOKEN = -1


def list_counts(call: Call) -> Iterator[Alternative]:
    """Yield the right answers to calls to penalize_logits in which no token of the output occurs more often than a limit."""
    ids = call.named.get("output_ids")
    if call.operation.name != "penalize_logits" or not isinstance(ids, np.ndarray):
        return
    for limit in (2**bits - 1 for bits in BITS):
        if np.any(_earlier(ids) >= limit):
            said = f"a token that occurs more than {limit} times in output_ids counts {limit} times"
            yield Alternative(call.operation.name, said, bound(_limited, limit), 0.5)


def _limited(spec: Specification, named: Named, limit: int) -> Any:
    ids = np.asarray(named["output_ids"])
    return call_right(spec, {**named, "output_ids": np.where(_earlier(ids) < limit, ids, NO_TOKEN)})


def _earlier(ids: np.ndarray) -> np.ndarray:
    """Return for each id how often it stands before it in its row."""
    same = ids[..., :, None] == ids[..., None, :]
    return np.sum(same & np.tri(ids.shape[-1], k=-1, dtype=bool), axis=-1)
