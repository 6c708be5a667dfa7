"""Attention over pages one after the other whose sums are not corrected when a later page has a larger score.

The weights of an online softmax are relative to the largest score so far. Where that grows, both the sum of the weights and
the weighted sum of the values have to be multiplied by the exponential of the difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from reference_numpy._heads import capped_scores, repeated_heads, seen_slots
from reference_numpy._marks import finite_or_zero, float64, rounded
from reference_numpy._pages import gathered, listed_pages

from ...calls.call import Call
from ...specification.registry import Specification
from ..equations.neighbours.steps import finite_maximum_so_far
from .alternative import Alternative, Named

OPERATION = "paged_attention"
COST = 0.75
LEFT_OUT = ("sinks", "cache_dtype")  # calls with these are not read
WAYS = (
    ("the weighted sum of the values is", True, False),
    ("the sum of the weights is", False, True),
    ("the sum of the weights and that of the values are", True, True),
)


def list_unscaled_pages(call: Call) -> Iterator[Alternative]:
    """Yield what attention to pages gives if a sum is not rescaled from page to page."""
    if call.operation.name != OPERATION or any(call.named.get(name) is not None for name in LEFT_OUT):
        return
    for words, of_values, of_weights in WAYS:
        said = f"{words} not rescaled when a later page raises the maximum"
        yield Alternative(OPERATION, said, partial(_compute, of_values=of_values, of_weights=of_weights), COST, evaluations=2)


def _compute(spec: Specification, named: Named, *, of_values: bool, of_weights: bool) -> Any:
    given = {**spec.defaults, **named}
    if any(given.get(name) is not None for name in LEFT_OUT):
        raise ValueError("sinks and caches in few bits are not read")
    q, lengths, page = float64(given["q"]), np.asarray(given["lengths"]), int(given["k_pages"].shape[1])
    table = listed_pages(given["block_table"], lengths, page)
    k, v = (gathered(float64(given[name]), table) for name in ("k_pages", "v_pages"))
    slots = k.shape[-2]
    v = np.where((np.arange(slots) < lengths[:, None])[:, None, :, None], v, 0.0)
    k, v = repeated_heads(OPERATION, q, k, v)
    seen = seen_slots(lengths, q.shape[-2], slots, given["is_causal"], given["left_window"], given["right_window"])
    scale = 1 / np.sqrt(q.shape[-1]) if given["scale"] is None else given["scale"]
    scores = capped_scores(q, k, seen, scale, given["softcap"])
    so_far = np.exp(scores - finite_maximum_so_far(scores, -1, page))
    whole = np.exp(scores - finite_or_zero(np.max(scores, axis=-1, keepdims=True)))
    weights, sums = (so_far if of_values else whole), np.sum(so_far if of_weights else whole, axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.matmul(rounded(weights / sums), v)
