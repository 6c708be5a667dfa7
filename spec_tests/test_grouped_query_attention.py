"""What must hold of grouped_query_attention."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_finite, assert_unmoved, assert_within, exactly
from .helpers.attention_assertions import (
    assert_blind_to_key_shifts,
    assert_linear_in_values,
    assert_range,
    assert_scale_follows_width,
)
from .helpers.attention_equation import find_attended_keys, find_extremes, group_size, repeat_shared_heads
from .helpers.attention_inputs import draw_grouped_qkv, draw_other_values, largest_safe_key, tie_keys_to_value_width
from .inputs.draw import Draw, within_domain
from .operations._serving import SCALES
from .operations.grouped_query_attention import HEAD_COUNTS, draw_inputs
from .operations.scaled_dot_product_attention import MAX_SCORES, draw_batch, draw_dims
from .trials.invariant import invariant

SOURCE = "the book's exercise 8"


# --- heads ----------------------------------------------------------------------------------------------------------


@invariant("B", source=SOURCE)
def test_repeated_heads(grouped_query_attention: Operation, draw: Draw) -> None:
    """Query head i uses key/value head i // (h / h_kv): the same as if each shared head were repeated for its group."""
    q, k, v, keywords = draw_inputs(draw, "mask", "is_causal", "scale")
    within_domain(draw, h_kv=q.shape[-3])
    assert_equal(
        grouped_query_attention(q, k, v, **keywords), grouped_query_attention(q, *repeat_shared_heads(q, k, v), **keywords)
    )


@invariant("B", source=SOURCE, cost=1.5)
def test_is_attention(grouped_query_attention: Operation, scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """It is the backend's own attention to the repeated heads; with as many heads for all three it is attention itself."""
    q, k, v, keywords = draw_inputs(draw, *(x for x in ("mask", "is_causal", "scale") if scaled_dot_product_attention.accepts(x)))
    alike = scaled_dot_product_attention(q, *repeat_shared_heads(q, k, v), **keywords)
    assert_equal(grouped_query_attention(q, k, v, **keywords), alike)


@invariant("B", source=SOURCE)
def test_heads_are_separate(grouped_query_attention: Operation, draw: Draw) -> None:
    """A query head's result is what it and its own head of keys and values give alone."""
    (q, k, v), _ = draw_grouped_qkv(draw, query_heads=2)
    within_domain(draw, h=1, h_kv=1)
    i = draw.integer(0, q.shape[-3] - 1)
    g = i // group_size(q, k)
    alone = grouped_query_attention(q[..., i : i + 1, :, :], k[..., g : g + 1, :, :], v[..., g : g + 1, :, :])
    assert_equal(grouped_query_attention(q, k, v)[..., i : i + 1, :, :], alone)


@invariant("B", source=SOURCE)
def test_groups_are_neighbours(grouped_query_attention: Operation, draw: Draw) -> None:
    """Other keys and values in head g change no query head but the h/h_kv neighbours that share it."""
    (q, k, v), _ = draw_grouped_qkv(draw, query_heads=draw.shape.one_of((2, 4, 4)))
    g, size = draw.integer(0, k.shape[-3] - 1), group_size(q, k)
    other_k, other_v = k.copy(), v.copy()
    other_k[..., g, :, :] = draw_other_values(draw, k[..., g, :, :].shape, largest_safe_key(draw, q))
    other_v[..., g, :, :] = draw_other_values(draw, v[..., g, :, :].shape, draw.format.max / 4)
    others = np.arange(q.shape[-3]) // size != g
    y, other = (grouped_query_attention(q, *kv) for kv in ((k, v), (other_k, other_v)))
    assert_unmoved(other, y, (..., others, slice(None), slice(None)))


@invariant("B", source=SOURCE)
def test_order_of_groups(grouped_query_attention: Operation, draw: Draw) -> None:
    """Permuting the heads of keys and values, and the groups of query heads with them, permutes the groups of the result."""
    (q, k, v), _ = draw_grouped_qkv(draw, query_heads=2)
    size, order = group_size(q, k), draw.rng.permutation(k.shape[-3])
    of_queries = (order[:, None] * size + np.arange(size)).ravel()
    y = grouped_query_attention(q[..., of_queries, :, :], k[..., order, :, :], v[..., order, :, :])
    assert_equal(y, grouped_query_attention(q, k, v)[..., of_queries, :, :])


@invariant("B", source=SOURCE)
def test_multi_query(grouped_query_attention: Operation, draw: Draw) -> None:
    """With one head of keys and values, query heads and queries are alike: h heads of n queries are one head of h·n."""
    n, m, d_k, d_v = draw_dims(draw)
    h = draw.size("h", tuple(h for h in HEAD_COUNTS if h * n * m <= MAX_SCORES // 2) or (2,))
    within_domain(draw, h=1, h_kv=1, n=h * n)
    b = draw_batch(draw, h * n * m)
    q, k, v = draw.vectors((*b, h, n, d_k)), draw.vectors((*b, 1, m, d_k)), draw.vectors((*b, 1, m, d_v))
    together: Any = grouped_query_attention(q.reshape((*b, 1, h * n, d_k)), k, v)
    assert_equal(np.reshape(together, (*b, h, n, d_v)), grouped_query_attention(q, k, v))


@invariant("B", source=SOURCE)
def test_order_within_a_group(grouped_query_attention: Operation, draw: Draw) -> None:
    """Query heads that share keys and values are exchangeable."""
    (q, k, v), _ = draw_grouped_qkv(draw, query_heads=2)
    size = group_size(q, k)
    order = np.concatenate([g * size + draw.rng.permutation(size) for g in range(k.shape[-3])])
    assert_equal(grouped_query_attention(q[..., order, :, :], k, v), grouped_query_attention(q, k, v)[..., order, :, :])


# --- what holds of any attention ------------------------------------------------------------------------------------


@invariant("B", source=SOURCE)
def test_sums_to_one(grouped_query_attention: Operation, draw: Draw) -> None:
    """With v = identity the result is the attention weights: each row sums to 1."""
    q, k, _, keywords = draw_inputs(tie_keys_to_value_width(draw), "mask", "is_causal", "scale")
    h_kv, m = k.shape[-3], k.shape[-2]
    within_domain(draw, d_v=m)
    identity = np.broadcast_to(np.eye(m), (*k.shape[:-3], h_kv, m, m))
    p: Any = grouped_query_attention(q, k, identity, **keywords)
    assert_equal(np.sum(p, axis=-1), 1.0)


@invariant("B", source=SOURCE)
def test_convex(grouped_query_attention: Operation, draw: Draw) -> None:
    """Each feature of the result lies between the least and the largest value of that feature, over the keys attended to."""
    q, k, v, keywords = draw_inputs(draw, "mask", "is_causal", "scale")
    assert_within(
        grouped_query_attention(q, k, v, **keywords),
        *find_extremes(repeat_shared_heads(q, v)[0], find_attended_keys(q, k, keywords)),
    )


@invariant("B", source=SOURCE, cost=2)
def test_linear_in_values(grouped_query_attention: Operation, draw: Draw) -> None:
    """The result for values 2v − w is twice that for v, less that for w."""
    q, k, v, keywords = draw_inputs(draw, "mask", "is_causal", "scale")
    assert_linear_in_values(grouped_query_attention, draw, (q, k, v), keywords)


@invariant("B", source=SOURCE)
def test_order_of_keys(grouped_query_attention: Operation, draw: Draw) -> None:
    """Permuting keys, values and the mask's columns together does not change the result."""
    q, k, v, keywords = draw_inputs(draw, "mask", "scale")
    order = draw.rng.permutation(k.shape[-2])
    permuted = {name: x[..., order] if isinstance(x, np.ndarray) else x for name, x in keywords.items()}
    y = grouped_query_attention(q, k[..., order, :], v[..., order, :], **permuted)
    assert_equal(y, grouped_query_attention(q, k, v, **keywords))


@invariant("B", source=SOURCE)
def test_shift_of_keys(grouped_query_attention: Operation, draw: Draw) -> None:
    """Adding one vector to every key of a head does not change the result."""
    q, k, v, keywords = draw_inputs(draw, "mask", "is_causal", "scale")
    assert_blind_to_key_shifts(grouped_query_attention, draw, (q, k, v), (k.shape[-3], 1, k.shape[-1]), keywords)


@invariant("B", source=SOURCE)
def test_scale_follows_the_width_of_queries(grouped_query_attention: Operation, draw: Draw) -> None:
    """Three times as many features, all zero, halve the scale, and 2q makes up for it: the scale is a multiple of 1/√d_k."""
    arrays, _ = draw_grouped_qkv(draw)
    assert_scale_follows_width(grouped_query_attention, draw, arrays, {})


@invariant("B", source=SOURCE, needs=("keyword:scale",))
def test_scale_multiplies_scores(grouped_query_attention: Operation, draw: Draw) -> None:
    """Four times the scale is as good as four times the queries; a scale of 0 is taken literally, and gives the mean."""
    q, k, v, keywords = draw_inputs(draw, "mask", "is_causal")
    scale = draw.one_of((*draw.operation.domain.get("scale", SCALES),))
    within_domain(draw, scale=4 * scale)
    y = grouped_query_attention(q, k, v, **keywords, scale=4 * scale)
    assert_equal(y, grouped_query_attention(4 * q, k, v, **keywords, scale=scale))
    if scale == 0 and not keywords:
        values: Any = exactly(repeat_shared_heads(q, v)[0])
        assert_equal(y, np.mean(values, axis=-2, keepdims=True))


@invariant("F", source=SOURCE)
def test_large_scores(grouped_query_attention: Operation, draw: Draw) -> None:
    """Scores of ±10000/√d_k do not overflow, also in a head whose scores are all so low."""
    (q, k, v), _ = draw_grouped_qkv(draw)
    one_hot = np.eye(q.shape[-1])[0]
    q, k = (np.broadcast_to(draw.rng.choice((-100.0, 100.0), (*x.shape[:-1], 1)) * one_hot, x.shape) for x in (q, k))
    k = np.abs(k) if draw.one_of((True, False)) else k
    assert_finite(grouped_query_attention(q, k, v))


@invariant("B", level="attention-range", source=SOURCE, dtypes=("float16",), each_dtype=True)
def test_range(grouped_query_attention: Operation, draw: Draw) -> None:
    """Scores beyond the dtype's largest number do no harm: a key far above the others gives its value, within the error that
    scaled_dot_product_attention is allowed there."""
    arrays, _ = draw_grouped_qkv(draw)
    assert_range(grouped_query_attention, draw, arrays)
