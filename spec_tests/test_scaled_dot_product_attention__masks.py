"""What must hold of scaled_dot_product_attention where some queries do not see some keys, and where scores are biased."""

from typing import Any

import numpy as np

from reference_numpy.causal_mask import causal_mask

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_unmoved, exactly
from .helpers.attention_assertions import (
    assert_mask_and_causality,
    assert_no_influence,
)
from .helpers.attention_inputs import draw_hidden_key, draw_qkv, maybe_lower_scores, replace_key, spoil_key
from .helpers.conventions import assert_convention
from .inputs.draw import Draw, within_domain
from .operations._serving import LARGE_CAPS, SOFTCAPS
from .operations.scaled_dot_product_attention import draw_batch, draw_inputs, draw_part
from .trials.invariant import invariant

EQUATION = "CS336 assignment 1, eq. (11)"


@invariant("B", source=EQUATION)
def test_nothing_flows_where_masked(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """Where the mask or causality says False, other finite keys and values, however large, do not change the result."""
    (q, k, v), keywords, j, seen = draw_hidden_key(draw)
    assert_no_influence(scaled_dot_product_attention, q, (k, v), replace_key(draw, q, k, v, j), keywords, ~seen)


@invariant("B", source=EQUATION, needs=("keyword:mask",))
def test_all_true_mask(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """A mask that is True everywhere has no effect."""
    (q, k, v), b = draw_qkv(draw)
    n, m = q.shape[-2], k.shape[-2]
    mask = np.ones(draw.shape.one_of(((n, m), (*b, n, m), (*b, 1, m), (m,))), dtype=bool)
    assert_equal(scaled_dot_product_attention(q, k, v, mask=mask), scaled_dot_product_attention(q, k, v))


@invariant("B", source=EQUATION, needs=("keyword:mask",), cost=0.4)
def test_masked_keys_might_be_absent(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """Keys that the mask hides from every query might as well be left out, wherever they stand, be it tile by tile."""
    (m,), (n, d_k, d_v) = draw.dims(m=513), draw.dims(n=33, d_k=33, d_v=33)
    b = draw_batch(draw, n * m)
    q, k = maybe_lower_scores(draw, draw.vectors((*b, n, d_k)), draw.vectors((*b, m, d_k)))
    v, keep = draw.vectors((*b, m, d_v)), draw.mask((), 1, m).reshape(-1)
    within_domain(draw, m=int(np.sum(keep)))
    mask = keep[None] if draw.one_of((True, False)) else np.repeat(keep[None], q.shape[-2], axis=0)
    fewer = scaled_dot_product_attention(q, k[..., keep, :], v[..., keep, :])
    assert_equal(scaled_dot_product_attention(q, k, v, mask=mask), fewer)


@invariant("B", source=EQUATION, needs=("keyword:mask",))
def test_mask_broadcasts(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """A mask without a dimension, or with a single row, holds for all: as if repeated."""
    (q, k, v), b = draw_qkv(draw, square=draw.shape.one_of((False, True)))
    n, m = q.shape[-2], k.shape[-2]
    mask = draw.mask(b, n, m)
    repeated = np.broadcast_to(mask, (*b, n, m)).copy()
    assert_equal(scaled_dot_product_attention(q, k, v, mask=mask), scaled_dot_product_attention(q, k, v, mask=repeated))


@invariant("B", source=EQUATION, needs=("keyword:is_causal", "keyword:mask"))
def test_causal(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """is_causal is the mask j ≤ i: the first query sees the first key alone."""
    (q, k, v), _ = draw_qkv(draw, square=True)
    y = scaled_dot_product_attention(q, k, v, is_causal=True)
    assert_equal(y, scaled_dot_product_attention(q, k, v, mask=causal_mask(n=q.shape[-2])))
    assert_equal(y[..., 0, :], v[..., 0, :])


@invariant("B", source=EQUATION, needs=("keyword:is_causal",))
def test_causal_prefix(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """The causal result of a prefix is the prefix of the causal result."""
    (q, k, v), _ = draw_qkv(draw, square=True)
    t = draw_part(draw, q.shape[-2], "n", "m")
    prefix = scaled_dot_product_attention(q[..., :t, :], k[..., :t, :], v[..., :t, :], is_causal=True)
    assert_equal(scaled_dot_product_attention(q, k, v, is_causal=True)[..., :t, :], prefix)


@invariant("B", source=EQUATION, needs=("keyword:is_causal", "keyword:mask"))
def test_mask_and_causal(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """mask and is_causal together: a key must pass both."""
    arrays, batch = draw_qkv(draw, square=True)
    assert_mask_and_causality(scaled_dot_product_attention, draw, arrays, batch)


# --- bias -----------------------------------------------------------------------------------------------------------


@invariant("B", needs=("keyword:bias",))
def test_bias_comes_after_the_scale(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """With q = 0 the weights are the softmax of the bias, which no scale touches."""
    q, k, v, keywords = draw_inputs(draw, "scale")
    n, m = q.shape[-2], k.shape[-2]
    bias = draw.grid(draw.shape.one_of(((n, m), (*v.shape[:-2], n, m), (1, m))))
    e: Any = np.exp(exactly(bias) - exactly(np.max(bias, axis=-1, keepdims=True)))
    mean = e @ exactly(v) / np.sum(e, axis=-1, keepdims=True)
    given = (bias, bias[0])[draw.integer(0, 1)] if bias.shape == (1, m) else bias
    assert_equal(scaled_dot_product_attention(np.zeros(q.shape), k, v, bias=given, **keywords), mean)


@invariant("B", needs=("keyword:bias",))
def test_bias_constant_along_a_row(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """A bias that is the same for all of a query's keys changes nothing, alone or added to another."""
    (q, k, v), b = draw_qkv(draw)
    bias = draw.grid((*b, q.shape[-2], k.shape[-2])) * draw.one_of((1.0, 0.0))
    c = draw.grid((q.shape[-2], 1))
    shifted, plain = (scaled_dot_product_attention(q, k, v, bias=x) for x in (bias + c, bias))
    assert_equal(shifted, plain)


@invariant("B", needs=("keyword:bias", "keyword:mask"))
def test_bias_minus_infinity(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """A bias of −∞ is a mask of False, and one of 0 of True."""
    (q, k, v), b = draw_qkv(draw)
    mask = draw.mask(b, q.shape[-2], k.shape[-2])
    biased = scaled_dot_product_attention(q, k, v, bias=np.where(mask, 0.0, -np.inf))
    assert_equal(biased, scaled_dot_product_attention(q, k, v, mask=mask))


@invariant("B", source="the book's exercise 4", needs=("keyword:bias",))
def test_alibi(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """ALiBi under causality: the penalties −slope·|i − j| and slope·j differ by a constant in each row, and attend alike."""
    (n,), (d_k, d_v, h) = draw.dims(n=130), draw.dims(d_k=9, d_v=9, h=5)
    within_domain(draw, m=n)
    b = draw_batch(draw, h * n * n)
    q, k, v = (draw.vectors((*b, h, n, d)) for d in (d_k, d_k, d_v))
    slope = 2.0 ** -np.arange(1, h + 1)[:, None, None]
    i, j = np.arange(n)[:, None], np.arange(n)
    distance, place = (np.where(j <= i, slope * x, -np.inf) for x in (-np.abs(i - j), np.broadcast_to(j, (n, n))))
    alike = [scaled_dot_product_attention(q, k, v, bias=bias) for bias in (distance, place)]
    assert_equal(*alike)


@invariant("B", source="Gemma 2, section 2", needs=("keyword:softcap",))
def test_nothing_flows_where_capped(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """With a cap, too, hidden keys and values do not change the result if they become other finite ones, however large."""
    (q, k, v), keywords, j, seen = draw_hidden_key(draw)
    keywords |= draw.keyword("softcap", SOFTCAPS)
    y = scaled_dot_product_attention(q, k, v, **keywords)
    assert_unmoved(scaled_dot_product_attention(q, *replace_key(draw, q, k, v, j), **keywords), y, ~seen)


@invariant("B", source="Gemma 2, section 2", needs=("keyword:softcap",))
def test_a_large_cap_is_none(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """A cap far above every score has no effect."""
    (q, k, v), _ = draw_qkv(draw)
    q, k = draw.grid(q.shape, 0.25, 2), draw.grid(k.shape, 0.25, 2)
    softcap = LARGE_CAPS.get(draw.format.precision, 2.0**10)
    within_domain(draw, softcap=softcap)
    assert_equal(scaled_dot_product_attention(q, k, v, softcap=softcap), scaled_dot_product_attention(q, k, v))


# --- conventions, and a level ---------------------------------------------------------------------------------------


@invariant("B", needs=("keyword:is_causal",), each_dtype=True)
def test_causal_alignment(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """is_causal with n ≠ m hides what the backend states. If it states nothing, it is always the same: the last query is
    aligned with the last key (bottom-right), or the first with the first (top-left). Queries before the first key are fully
    masked rows.
    """
    assert_convention(scaled_dot_product_attention, draw, "causal_alignment")


@invariant("B")
def test_fully_masked_rows(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """A query that attends to no key gives what the backend states. If the backend states nothing, it always gives zeros, or
    always NaN. The mask hides the keys, or a bias of −∞, or each some of them. The other queries give what the equation
    says.
    """
    assert_convention(scaled_dot_product_attention, draw, "fully_masked_rows")


@invariant("B", level="quarantine", cost=2)
def test_quarantine(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """NaN and infinities in keys and values where the mask or causality says False never reach the result."""
    (q, k, v), keywords, j, seen = draw_hidden_key(draw)
    assert_no_influence(scaled_dot_product_attention, q, (k, v), spoil_key(draw, k, v, j), keywords, ~seen)


@invariant("B", source="Gemma 2, section 2", needs=("keyword:softcap", "keyword:bias"))
def test_softcap_bias(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """A bias beside a softcap is added to the scores before or after they are capped: as the backend states. If it states
    nothing, it is always the same of the two.
    """
    assert_convention(scaled_dot_product_attention, draw, "softcap_bias")
