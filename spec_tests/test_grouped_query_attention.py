"""What must hold of grouped_query_attention."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_finite, assert_unmoved, assert_within, exactly
from .helpers.attention import (
    attended,
    extremes,
    far,
    for_identity,
    hidden_key,
    kinds,
    largest_key,
    other_values,
    perhaps_opposed,
    sees,
    widened,
)
from .inputs.draw import Draw, within_domain
from .operations.grouped_query_attention import HEADS, drawn, heads
from .operations.scaled_dot_product_attention import AFFORDABLE, SCALES, batch, dims
from .trials.invariant import invariant

SOURCE = "the book's exercise 8"
Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


def arrays(draw: Draw, *, square: bool = False, at_least: int = 1, keys: int = 1) -> tuple[Arrays, tuple[int, ...]]:
    """q, k and v, and the batch dimensions with the query heads, of which there are at least so many."""
    n, m, d_k, d_v = dims(draw, square=square, keys=keys)
    within_domain(draw, **({"m": n} if square else {}))
    h, h_kv = heads(draw, tuple(h for h in HEADS if h * n * m <= AFFORDABLE // 2 and h >= at_least) or (at_least,))
    b = batch(draw, h * n * m)
    return (draw.vectors((*b, h, n, d_k)), draw.vectors((*b, h_kv, m, d_k)), draw.vectors((*b, h_kv, m, d_v))), (*b, h)


def group(q: np.ndarray, k: np.ndarray) -> int:
    return int(q.shape[-3] // k.shape[-3])


def repeated(q: np.ndarray, *shared: np.ndarray) -> list[np.ndarray]:
    """Each head of keys or values once for every query head of its group."""
    return [np.repeat(x, group(q, x), axis=-3) for x in shared]


def hiding(draw: Draw) -> tuple[Arrays, dict[str, Any], int, np.ndarray]:
    """q, k, v, a mask or causality, a key, and which queries see it."""
    causal = draw.one_of(kinds(draw, "mask", "mask", "is_causal")) == "is_causal"
    (q, k, v), b = arrays(draw, square=causal or draw.shape.one_of((False, True)), at_least=2, keys=2)
    n, m = q.shape[-2], k.shape[-2]
    j, mask = hidden_key(draw, m, None if causal else draw.mask(b, n, m))
    q, k = perhaps_opposed(draw, q, k)
    return (q, k, v), {"is_causal": True} if causal else {"mask": mask}, j, sees(j, (*b, n), mask)


# --- heads ----------------------------------------------------------------------------------------------------------


@invariant("B", source=SOURCE)
def test_repeated_heads(grouped_query_attention: Operation, draw: Draw) -> None:
    """Query head i uses key/value head i // (h / h_kv): the same as if each shared head were repeated for its group."""
    q, k, v, keywords = drawn(draw, "mask", "is_causal", "scale")
    within_domain(draw, h_kv=q.shape[-3])
    assert_equal(grouped_query_attention(q, k, v, **keywords), grouped_query_attention(q, *repeated(q, k, v), **keywords))


@invariant("B", source=SOURCE, cost=1.5)
def test_is_attention(grouped_query_attention: Operation, scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """It is the backend's own attention to the repeated heads; with as many heads for all three it is attention itself."""
    q, k, v, keywords = drawn(draw, *(x for x in ("mask", "is_causal", "scale") if scaled_dot_product_attention.accepts(x)))
    alike = scaled_dot_product_attention(q, *repeated(q, k, v), **keywords)
    assert_equal(grouped_query_attention(q, k, v, **keywords), alike)


@invariant("B", source=SOURCE)
def test_heads_are_separate(grouped_query_attention: Operation, draw: Draw) -> None:
    """A query head's result is what it and its own head of keys and values give alone."""
    (q, k, v), _ = arrays(draw, at_least=2)
    within_domain(draw, h=1, h_kv=1)
    i = draw.integer(0, q.shape[-3] - 1)
    g = i // group(q, k)
    alone = grouped_query_attention(q[..., i : i + 1, :, :], k[..., g : g + 1, :, :], v[..., g : g + 1, :, :])
    assert_equal(grouped_query_attention(q, k, v)[..., i : i + 1, :, :], alone)


@invariant("B", source=SOURCE)
def test_groups_are_neighbours(grouped_query_attention: Operation, draw: Draw) -> None:
    """Other keys and values in head g change no query head but the h/h_kv neighbours that share it."""
    (q, k, v), _ = arrays(draw, at_least=draw.shape.one_of((2, 4, 4)))
    g, size = draw.integer(0, k.shape[-3] - 1), group(q, k)
    other_k, other_v = k.copy(), v.copy()
    other_k[..., g, :, :] = other_values(draw, k[..., g, :, :].shape, largest_key(draw, q))
    other_v[..., g, :, :] = other_values(draw, v[..., g, :, :].shape, draw.format.max / 4)
    others = np.arange(q.shape[-3]) // size != g
    y, other = (grouped_query_attention(q, *kv) for kv in ((k, v), (other_k, other_v)))
    assert_unmoved(other, y, (..., others, slice(None), slice(None)))


@invariant("B", source=SOURCE)
def test_order_of_groups(grouped_query_attention: Operation, draw: Draw) -> None:
    """Permuting the heads of keys and values, and the groups of query heads with them, permutes the groups of the result."""
    (q, k, v), _ = arrays(draw, at_least=2)
    size, order = group(q, k), draw.rng.permutation(k.shape[-3])
    of_queries = (order[:, None] * size + np.arange(size)).ravel()
    y = grouped_query_attention(q[..., of_queries, :, :], k[..., order, :, :], v[..., order, :, :])
    assert_equal(y, grouped_query_attention(q, k, v)[..., of_queries, :, :])


@invariant("B", source=SOURCE)
def test_multi_query(grouped_query_attention: Operation, draw: Draw) -> None:
    """With one head of keys and values, query heads and queries are alike: h heads of n queries are one head of h·n."""
    n, m, d_k, d_v = dims(draw)
    h = draw.size("h", tuple(h for h in HEADS if h * n * m <= AFFORDABLE // 2) or (2,))
    within_domain(draw, h=1, h_kv=1, n=h * n)
    b = batch(draw, h * n * m)
    q, k, v = draw.vectors((*b, h, n, d_k)), draw.vectors((*b, 1, m, d_k)), draw.vectors((*b, 1, m, d_v))
    together: Any = grouped_query_attention(q.reshape((*b, 1, h * n, d_k)), k, v)
    assert_equal(np.reshape(together, (*b, h, n, d_v)), grouped_query_attention(q, k, v))


@invariant("B", source=SOURCE)
def test_order_within_a_group(grouped_query_attention: Operation, draw: Draw) -> None:
    """Query heads that share keys and values are exchangeable."""
    (q, k, v), _ = arrays(draw, at_least=2)
    size = group(q, k)
    order = np.concatenate([g * size + draw.rng.permutation(size) for g in range(k.shape[-3])])
    assert_equal(grouped_query_attention(q[..., order, :, :], k, v), grouped_query_attention(q, k, v)[..., order, :, :])


# --- what holds of any attention ------------------------------------------------------------------------------------


@invariant("B", source=SOURCE)
def test_sums_to_one(grouped_query_attention: Operation, draw: Draw) -> None:
    """With v = identity the result is the attention weights: each row sums to 1."""
    q, k, _, keywords = drawn(for_identity(draw), "mask", "is_causal", "scale")
    h_kv, m = k.shape[-3], k.shape[-2]
    within_domain(draw, d_v=m)
    identity = np.broadcast_to(np.eye(m), (*k.shape[:-3], h_kv, m, m))
    p: Any = grouped_query_attention(q, k, identity, **keywords)
    assert_equal(np.sum(p, axis=-1), 1.0)


@invariant("B", source=SOURCE)
def test_convex(grouped_query_attention: Operation, draw: Draw) -> None:
    """Each feature of the result lies between the least and the largest value of that feature, over the keys attended to."""
    q, k, v, keywords = drawn(draw, "mask", "is_causal", "scale")
    assert_within(grouped_query_attention(q, k, v, **keywords), *extremes(repeated(q, v)[0], attended(q, k, keywords)))


@invariant("B", source=SOURCE, cost=2)
def test_linear_in_values(grouped_query_attention: Operation, draw: Draw) -> None:
    """The result for values 2v − w is twice that for v, less that for w."""
    q, k, v, keywords = drawn(draw, "mask", "is_causal", "scale")
    v, w = draw.grid(v.shape), draw.grid(v.shape)
    once, other = (grouped_query_attention(q, k, x, **keywords) for x in (v, w))
    assert_equal(grouped_query_attention(q, k, 2 * v - w, **keywords), 2.0 * once - other)


@invariant("B", source=SOURCE)
def test_order_of_keys(grouped_query_attention: Operation, draw: Draw) -> None:
    """Permuting keys, values and the mask's columns together leaves the result."""
    q, k, v, keywords = drawn(draw, "mask", "scale")
    order = draw.rng.permutation(k.shape[-2])
    permuted = {name: x[..., order] if isinstance(x, np.ndarray) else x for name, x in keywords.items()}
    y = grouped_query_attention(q, k[..., order, :], v[..., order, :], **permuted)
    assert_equal(y, grouped_query_attention(q, k, v, **keywords))


@invariant("B", source=SOURCE)
def test_shift_of_keys(grouped_query_attention: Operation, draw: Draw) -> None:
    """Adding one vector to every key of a head leaves the result."""
    q, k, v, keywords = drawn(draw, "mask", "is_causal", "scale")
    q, k, c = draw.grid(q.shape, 1.0, 6), draw.grid(k.shape, largest=4), far(draw, (k.shape[-3], 1, k.shape[-1]))
    assert_equal(grouped_query_attention(q, k + c, v, **keywords), grouped_query_attention(q, k, v, **keywords))


@invariant("B", source=SOURCE)
def test_scale_follows_the_width_of_queries(grouped_query_attention: Operation, draw: Draw) -> None:
    """Three times as many features, all zero, halve the scale, and 2q makes up for it: the scale is a multiple of 1/√d_k."""
    (q, k, v), _ = arrays(draw)
    within_domain(draw, d_k=4 * q.shape[-1])
    wide = grouped_query_attention(*widened(draw, 2 * q, k, v))
    assert_equal(wide[..., : v.shape[-1]], grouped_query_attention(q, k, v))


@invariant("B", source=SOURCE, needs=("keyword:scale",))
def test_scale_multiplies_scores(grouped_query_attention: Operation, draw: Draw) -> None:
    """Four times the scale is as good as four times the queries; a scale of 0 is taken literally, and gives the mean."""
    q, k, v, keywords = drawn(draw, "mask", "is_causal")
    scale = draw.one_of((*draw.operation.domain.get("scale", SCALES),))
    within_domain(draw, scale=4 * scale)
    y = grouped_query_attention(q, k, v, **keywords, scale=4 * scale)
    assert_equal(y, grouped_query_attention(4 * q, k, v, **keywords, scale=scale))
    if scale == 0 and not keywords:
        values: Any = exactly(repeated(q, v)[0])
        assert_equal(y, np.mean(values, axis=-2, keepdims=True))


@invariant("F", source=SOURCE)
def test_large_scores(grouped_query_attention: Operation, draw: Draw) -> None:
    """Scores of ±10000/√d_k overflow nothing; nor do those of a head that are all so low."""
    (q, k, v), _ = arrays(draw)
    one_hot = np.eye(q.shape[-1])[0]
    q, k = (np.broadcast_to(draw.rng.choice((-100.0, 100.0), (*x.shape[:-1], 1)) * one_hot, x.shape) for x in (q, k))
    k = np.abs(k) if draw.one_of((True, False)) else k
    assert_finite(grouped_query_attention(q, k, v))


# --- masks ----------------------------------------------------------------------------------------------------------
