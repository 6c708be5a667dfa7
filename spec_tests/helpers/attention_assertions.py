"""Assertions that the laws of several attention operations share."""

from __future__ import annotations

from typing import Any

import numpy as np

from reference_numpy.causal_mask import causal_mask

from ..bounds.bounded import Bounded
from ..bounds.error_model import ROUNDINGS
from ..bounds.expectation import Expectation
from ..calls.operation import Operation
from ..calls.result import WIDE, Result
from ..inputs.draw import Draw, within_domain
from ..operations._serving import SCALES
from ..operations.scaled_dot_product_attention import keep_a_key_in_each_row
from ..specification.formats import Arithmetic
from .assertions import assert_equal, assert_finite, assert_unmoved, assert_within
from .attention_equation import expand_mask, repeat_shared_heads
from .attention_inputs import Arrays, add_zero_features, draw_key_shift


def assert_no_influence(attention: Operation, q: np.ndarray, kv: Any, others: Any, keywords: dict[str, Any], away: Any) -> None:
    """Other keys and values leave the results of queries that see none of them.

    Where the scores are so low that no bound is known, the results are still finite. Where their bits differ they lie among the
    values seen, as the result of any weights does.
    """
    y = attention(q, *kv, **keywords)
    if _scores_are_moderate(attention, q, kv[0]):
        assert_finite(y)
    z = Result(attention(q, *others, **keywords).value, y.call)
    assert_unmoved(z, y, away)
    finite = np.isfinite(y.value[away])
    if not np.array_equal(z.value[away], y.value[away], equal_nan=True):
        k, v = kv
        constant = (np.broadcast_to(f(v, axis=-2, keepdims=True), v.shape) for f in (np.min, np.max))
        low, high = (attention(np.zeros(q.shape), k, same, **keywords)[away][finite] for same in constant)
        assert_within(Bounded(z.value[away][finite], np.maximum(low.error, high.error), WIDE), low, high)


def _scores_are_moderate(attention: Operation, q: np.ndarray, k: np.ndarray) -> bool:
    """Whether no rounding of a score could itself overflow an exponential, as in exp2(x log₂ e − max(x) log₂ e)."""
    with np.errstate(over="ignore"):
        longest = [np.max(np.linalg.norm(x, axis=-1), initial=0.0) for x in (q, k)]
        return bool(np.prod(longest) / np.sqrt(q.shape[-1]) * attention.storage.u < 32)


def assert_linear_in_values(attention: Operation, draw: Draw, arrays: Arrays, keywords: dict[str, Any]) -> None:
    """The result for values 2v − w is twice that for v, less that for w."""
    q, k, v = arrays
    v, w = draw.grid(v.shape), draw.grid(v.shape)
    once, other = (attention(q, k, x, **keywords) for x in (v, w))
    assert_equal(attention(q, k, 2 * v - w, **keywords), 2.0 * once - other)


def assert_blind_to_key_shifts(
    attention: Operation, draw: Draw, arrays: Arrays, shift: tuple[int, ...], keywords: dict[str, Any]
) -> None:
    """A vector of shape `shift`, added to every key, leaves the result."""
    q, k, v = arrays
    q, k, c = draw.grid(q.shape, 1.0, 6), draw.grid(k.shape, largest=4), draw_key_shift(draw, shift)
    assert_equal(attention(q, k + c, v, **keywords), attention(q, k, v, **keywords))


def assert_scale_follows_width(attention: Operation, draw: Draw, arrays: Arrays, keywords: dict[str, Any]) -> None:
    """Three times as many further features, all zero, halve the scale, and 2q makes up for it."""
    q, k, v = arrays
    within_domain(draw, d_k=4 * q.shape[-1])
    wide = attention(*add_zero_features(draw, 2 * q, k, v), **keywords)
    assert_equal(wide[..., : v.shape[-1]], attention(q, k, v, **keywords))


def assert_mask_and_causality(attention: Operation, draw: Draw, arrays: Arrays, batch: tuple[int, ...]) -> None:
    """mask and is_causal together hide what either hides, of as many keys as queries."""
    q, k, v = arrays
    n = q.shape[-2]
    mask = keep_a_key_in_each_row(draw, draw.mask(batch, n, n))
    both = attention(q, k, v, mask=mask, is_causal=True)
    assert_equal(both, attention(q, k, v, mask=mask & causal_mask(n=n)))


def assert_range(attention: Operation, draw: Draw, arrays: Arrays) -> None:
    """Where scaled scores exceed the dtype's largest number, the key above all others still gives its value.

    All queries and keys are multiples of one direction. The first key's multiple is the largest, the last key's the smallest,
    and the first or the last is far above the others, as the sign of the query says. The other scores are half as large at most,
    some of them beyond the dtype's range too, and the difference underflows in the exponential: the weights are 1 and 0.
    """
    q, k, v = arrays
    used, n, m = draw.variants("mask", "scale"), q.shape[-2], k.shape[-2]
    keywords: dict[str, Any] = draw.keyword("scale", tuple(s for s in SCALES if s != 0)) if "scale" in used else {}
    if "mask" in used:
        mask = expand_mask(draw.mask(q.shape[:-2], n, m), n, m)
        mask[..., (0, -1)] = True
        keywords["mask"] = mask
    scale = keywords.get("scale") or float(1 / np.sqrt(q.shape[-1]))
    exponent = int(np.ceil(np.log2(2 * draw.format.max / abs(scale)))) + draw.integer(0, 4)  # of the largest product
    heights = draw.rng.choice((0.5, 0.25, 0.0, -0.5), m)
    heights[-1], heights[0] = -1.0, 1.0
    direction = np.eye(q.shape[-1])[draw.integer(0, q.shape[-1] - 1)]
    signs = draw.rng.choice((-1.0, 1.0), (*q.shape[:-1], 1))
    q = np.ldexp(signs * direction, exponent // 2)
    k = np.broadcast_to(np.ldexp(heights[:, None] * direction, exponent - exponent // 2), k.shape).copy()
    y = attention(q, k, v, **keywords).value
    values = v if v.shape[:-2] == q.shape[:-2] else repeat_shared_heads(q, v)[0]
    truth = np.where(signs * scale > 0, values[..., :1, :], values[..., -1:, :])
    compute = Arithmetic.of(attention.dtype).compute
    weight = 0.0 if attention.classes()[-1] == "fused" else attention.storage.u
    error = np.abs(truth) * (weight + compute.u * (ROUNDINGS["divide"] + 2))
    assert_equal(y, Bounded(truth, Expectation(truth, error, attention.storage).radius, WIDE))
