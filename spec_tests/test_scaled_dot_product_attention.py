"""What must hold of scaled_dot_product_attention."""

from typing import Any

import numpy as np

from reference_numpy._marks import logistic

from .calls.operation import Operation
from .calls.violation import NotImplementedVariant
from .helpers.assertions import assert_equal, assert_finite, assert_identical, assert_within, exactly
from .helpers.attention_assertions import (
    assert_blind_to_key_shifts,
    assert_linear_in_values,
    assert_range,
    assert_scale_follows_width,
)
from .helpers.attention_equation import compute_scaled_scores, expand_mask, find_attended_keys, find_extremes
from .helpers.attention_inputs import draw_qkv, identity_values, tie_keys_to_value_width
from .inputs.draw import LONG, SMALL, Draw, within_domain
from .operations._serving import SCALES
from .operations.scaled_dot_product_attention import draw_batch, draw_inputs, draw_part
from .trials.invariant import invariant

EQUATION = "CS336 assignment 1, eq. (11)"


def draw_masked(draw: Draw, *more: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
    """Draw q, k, v and keywords that do not depend on the order of the keys. Masks and biases have an entry for each key."""
    q, k, v, keywords = draw_inputs(draw, "mask", *more)
    n, m = q.shape[-2], k.shape[-2]
    return q, k, v, {name: expand_mask(x, n, m) if name in ("mask", "bias") else x for name, x in keywords.items()}


def draw_many_keys(draw: Draw) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
    """Draw q, k and v, a few queries and perhaps thousands of keys, and return them with no keywords."""
    m, n, d_k, d_v = draw.size("m", (2, *LONG)), *(draw.size(name, SMALL) for name in ("n", "d_k", "d_v"))
    b = draw_batch(draw, n * m)
    return draw.vectors((*b, n, d_k)), draw.vectors((*b, m, d_k)), draw.vectors((*b, m, d_v)), {}


# --- weights --------------------------------------------------------------------------------------------------------


@invariant("B", source=EQUATION)
def test_sums_to_one(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """With v = identity the result is the attention weights: each row sums to 1, whatever the mask, bias and scale."""
    q, k, _, keywords = draw_inputs(tie_keys_to_value_width(draw), "mask", "bias", "is_causal", "scale")
    within_domain(draw, d_v=k.shape[-2])
    p: Any = scaled_dot_product_attention(q, k, identity_values(k), **keywords)
    assert_equal(np.sum(p, axis=-1), 1.0)


@invariant("E", source=EQUATION, needs=("keyword:mask",))
def test_masked_weight_is_zero(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """The weight of a key that the mask hides is exactly 0, and no weight is negative."""
    (q, k, _), b = draw_qkv(tie_keys_to_value_width(draw), square=draw.shape.one_of((True, False, True)))
    n, m = q.shape[-2], k.shape[-2]
    within_domain(draw, d_v=m)
    mask = draw.mask(b, n, m)
    p = scaled_dot_product_attention(q, k, identity_values(k), mask=mask).value
    assert_identical(np.where(mask, 0.0, p), np.zeros(p.shape))
    assert_identical(np.minimum(p, 0.0), np.zeros(p.shape))


@invariant("B", source=EQUATION)
def test_two_keys(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """Of two keys with the scores s₁ and s₂ the first weighs σ(s₁ − s₂), the second σ(s₂ − s₁), s being q·k/√d_k."""
    n, d_k, d_v = draw.dims(n=257, d_k=300, d_v=129)
    within_domain(draw, m=2)
    b = draw_batch(draw, 2 * n)
    q, k, v = draw.vectors((*b, n, d_k)), draw.normal((*b, 2, d_k)), draw.vectors((*b, 2, d_v))
    s, first, second = compute_scaled_scores(q, k), exactly(v[..., :1, :]), exactly(v[..., 1:, :])
    gap = s[..., :1] - s[..., 1:]
    assert_equal(scaled_dot_product_attention(q, k, v), logistic(gap) * first + logistic(-gap) * second)


@invariant("B", source=EQUATION)
def test_convex(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """Each feature of the result lies between the least and the largest value of that feature, over the keys attended to."""
    q, k, v, keywords = draw_inputs(draw, "mask", "bias", "is_causal", "scale")
    assert_within(scaled_dot_product_attention(q, k, v, **keywords), *find_extremes(v, find_attended_keys(q, k, keywords)))


@invariant("B", source=EQUATION)
def test_constant_values(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """Where all values are the same, the result is that value."""
    q, k, v, keywords = draw_inputs(draw, "mask", "bias", "is_causal", "scale")
    v = np.repeat(v[..., :1, :], v.shape[-2], axis=-2)
    assert_equal(scaled_dot_product_attention(q, k, v, **keywords), v[..., :1, :])


@invariant("B", source=EQUATION)
def test_one_key(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """A single key gives its value, whatever its score."""
    n, d_k, d_v = draw.dims(n=257, d_k=129, d_v=129)
    within_domain(draw, m=1)
    b = draw.batch()
    v = draw.vectors((*b, 1, d_v))
    assert_equal(scaled_dot_product_attention(draw.vectors((*b, n, d_k)), draw.vectors((*b, 1, d_k)), v), v)


@invariant("E", cost=2)
def test_no_queries(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """No query gives an empty result, of the width of the values."""
    (q, k, v), _ = draw_qkv(draw)
    if draw.operation.domain.get("empty") is False:
        raise NotImplementedVariant("its domain excludes empty arrays")
    assert_identical(scaled_dot_product_attention(q[..., :0, :], k, v), np.zeros((*v.shape[:-2], 0, v.shape[-1])))


@invariant("B", source=EQUATION, cost=2)
def test_linear_in_values(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """attention(q, k, 2v − w) = 2 attention(q, k, v) − attention(q, k, w)."""
    q, k, v, keywords = draw_inputs(draw, "mask", "bias", "is_causal", "scale")
    assert_linear_in_values(scaled_dot_product_attention, draw, (q, k, v), keywords)


# --- keys and queries -----------------------------------------------------------------------------------------------


@invariant("B", source=EQUATION)
def test_order_of_keys(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """Permuting the keys, their values and the columns of mask and bias together does not change the result."""
    q, k, v, keywords = draw_masked(draw, "bias", "scale")
    order = draw.rng.permutation(k.shape[-2])
    permuted = {name: x[..., order] if isinstance(x, np.ndarray) else x for name, x in keywords.items()}
    assert_equal(
        scaled_dot_product_attention(q, k[..., order, :], v[..., order, :], **permuted),
        scaled_dot_product_attention(q, k, v, **keywords),
    )


@invariant("B", source=EQUATION)
def test_order_of_queries(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """Permuting the queries and the rows of mask and bias together permutes the result."""
    q, k, v, keywords = draw_masked(draw, "bias", "scale")
    order = draw.rng.permutation(q.shape[-2])
    permuted = {name: x[..., order, :] if isinstance(x, np.ndarray) else x for name, x in keywords.items()}
    assert_equal(
        scaled_dot_product_attention(q[..., order, :], k, v, **permuted),
        scaled_dot_product_attention(q, k, v, **keywords)[..., order, :],
    )


@invariant("B", source=EQUATION)
def test_shift_of_keys(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """Adding one vector to every key does not change the result: each of a query's scores changes by the same, often by much."""
    q, k, v, keywords = draw_inputs(draw, "mask", "is_causal", "scale")
    assert_blind_to_key_shifts(scaled_dot_product_attention, draw, (q, k, v), k.shape[-1:], keywords)


@invariant("B", source=EQUATION)
def test_duplicated_keys(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """Every key and value twice, the mask's columns too, does not change the result."""
    q, k, v, keywords = draw_masked(draw, "bias")
    within_domain(draw, m=2 * k.shape[-2])
    k_twice, v_twice = np.concatenate([k, k], axis=-2), np.concatenate([v, v], axis=-2)
    twice = {name: np.concatenate([x, x], axis=-1) if isinstance(x, np.ndarray) else x for name, x in keywords.items()}
    assert_equal(scaled_dot_product_attention(q, k_twice, v_twice, **twice), scaled_dot_product_attention(q, k, v, **keywords))


@invariant("B")
def test_split_keys(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """Attention to two parts of the keys, weighted by the sums of their exponentials, is attention to all: what flash
    decoding and ring attention rely on."""
    (m,), (n, d_k, d_v) = draw.dims(m=257), draw.dims(n=65, d_k=33, d_v=33)
    cut = draw_part(draw, m, "m", rest=True)
    b = draw_batch(draw, n * m)
    q, k, v = draw.vectors((*b, n, d_k)), draw.vectors((*b, m, d_k)), draw.vectors((*b, m, d_v))
    whole = scaled_dot_product_attention(q, k, v)
    if cut < m:
        s = compute_scaled_scores(q, k)
        e = np.exp(s - exactly(np.max(s.value, axis=-1, keepdims=True)))
        parts = (slice(0, cut), slice(cut, m))
        weights = [np.sum(e[..., part], axis=-1, keepdims=True) for part in parts]
        first, second = (scaled_dot_product_attention(q, k[..., part, :], v[..., part, :]) for part in parts)
        assert_equal(whole, (weights[0] * first + weights[1] * second) / (weights[0] + weights[1]))


# --- scale ----------------------------------------------------------------------------------------------------------


@invariant("B", source=EQUATION)
def test_scale_follows_the_width_of_queries(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """The scale is a multiple of 1/√d_k. Three times as many features, all of them zero, halve the scale, and 2q makes up
    for it. The scale depends neither on d_v nor on the number of keys or queries.
    """
    arrays, _ = draw_qkv(draw)
    assert_scale_follows_width(scaled_dot_product_attention, draw, arrays, {})


@invariant("B", source=EQUATION, needs=("keyword:scale",))
def test_default_scale(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """Without a scale it is 1/√d_k."""
    n, m, d_v = draw.dims(n=65, m=65, d_v=33)
    d_k = draw.size("d_k", (4, 16, 64, 1))
    b = draw_batch(draw, n * m)
    q, k, v = draw.vectors((*b, n, d_k)), draw.vectors((*b, m, d_k)), draw.vectors((*b, m, d_v))
    if np.log2(d_k) % 2 == 0:  # the root is a power of two, which every dtype holds
        assert_equal(scaled_dot_product_attention(q, k, v), scaled_dot_product_attention(q, k, v, scale=float(1 / np.sqrt(d_k))))


@invariant("B", source=EQUATION, needs=("keyword:scale",))
def test_scale_multiplies_scores(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """attention(q, k, v, scale = 4s) = attention(4q, k, v, scale = s), for any s, negative ones too."""
    q, k, v, keywords = draw_inputs(draw, "mask", "is_causal")
    scale = draw.one_of((*draw.operation.domain.get("scale", SCALES),))
    within_domain(draw, scale=4 * scale)
    assert_equal(
        scaled_dot_product_attention(q, k, v, **keywords, scale=4 * scale),
        scaled_dot_product_attention(4 * q, k, v, **keywords, scale=scale),
    )


@invariant("B", needs=("keyword:scale",))
def test_scale_zero(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """A scale of 0 is taken literally: the result is the plain mean of the values attended to, however many."""
    q, k, v, keywords = draw_many_keys(draw) if draw.one_of((False, True)) else draw_inputs(draw, "mask", "is_causal")
    within_domain(draw, scale=0)
    seen: Any = exactly(find_attended_keys(q, k, keywords).astype(float))
    mean = seen @ exactly(v) / np.sum(seen, axis=-1, keepdims=True)
    assert_equal(scaled_dot_product_attention(q, k, v, **keywords, scale=0.0), mean)


@invariant("F", source=EQUATION)
def test_large_scores(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """Scores of ±10000/√d_k overflow nothing, and the key far above the others gives its value, even if the first are hidden."""
    used, (n, m, d_k, d_v) = draw.variants("mask"), draw.dims(n=65, m=257, d_k=33, d_v=33)
    b = draw_batch(draw, n * m)
    v, top, one_hot = draw.vectors((*b, m, d_v)), draw.integer(0, m - 1), np.eye(d_k)[draw.integer(0, d_k - 1)]
    keywords = {"mask": np.arange(m)[None] >= draw.integer(0, top)} if used else {}
    height = draw.one_of((100.0, 0.0, -50.0))
    k = np.broadcast_to(np.where(np.arange(m) == top, height, height - 50.0)[:, None] * one_hot, (*b, m, d_k))
    q = np.broadcast_to(100.0 * one_hot, (*b, n, d_k))
    assert_equal(scaled_dot_product_attention(q, k, v, **keywords), v[..., top : top + 1, :])
    assert_finite(scaled_dot_product_attention(q * draw.rng.choice((-1.0, 1.0), (*b, n, 1)), k, v, **keywords))


@invariant("B", level="attention-range", source=EQUATION, dtypes=("float16",), each_dtype=True)
def test_range(scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """Scores beyond the dtype's largest number do no harm: a key far above the others gives its value. The error is |v| u for a
    weight stored in the dtype, unless the class is fused; then |v| u (5 + 1 + 1) in float32 for the weight's quotient, an
    exponential that is not quite 1 beside its sum, and the product; then one rounding to the dtype."""
    arrays, _ = draw_qkv(draw)
    assert_range(scaled_dot_product_attention, draw, arrays)
