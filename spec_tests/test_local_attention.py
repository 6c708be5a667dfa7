"""What must hold of local_attention."""

from typing import Any

import numpy as np

from reference_numpy.sliding_window_mask import sliding_window_mask

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_finite, assert_identical, assert_within, exactly
from .helpers.attention_assertions import (
    assert_blind_to_key_shifts,
    assert_linear_in_values,
    assert_no_influence,
    assert_scale_follows_width,
)
from .helpers.attention_equation import find_extremes
from .helpers.attention_inputs import identity_values, maybe_minimize_scores, replace_key, spoil_key, tie_keys_to_value_width
from .helpers.conventions import assert_convention
from .inputs.draw import LONG, SMALL, Draw, within_domain
from .operations.local_attention import draw_inputs
from .operations.scaled_dot_product_attention import draw_batch, draw_part
from .trials.invariant import invariant

SOURCE = "the book's exercise 9"


def draw_square(draw: Draw, window: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Draw q, k and v with as many queries as keys, and return them with that number."""
    (n,), (d_k, d_v) = draw.dims(n=130), draw.dims(d_k=65, d_v=65)
    within_domain(draw, m=n, **({} if window is None else {"window": window}))
    b = draw_batch(draw, n * n)
    return draw.vectors((*b, n, d_k)), draw.vectors((*b, n, d_k)), draw.vectors((*b, n, d_v)), n


def draw_causality(draw: Draw) -> dict[str, Any]:
    """Draw is_causal as a keyword, if the function takes it."""
    return {"is_causal": draw.one_of((False, True))} if draw.operation.accepts("is_causal") else {}


def draw_many_keys(draw: Draw) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
    """Draw q, k, v and a window: a few queries, each of which may see thousands of keys."""
    n, m, d_k, d_v = draw.size("n", SMALL), draw.size("m", (2, *LONG)), draw.size("d_k", SMALL), draw.size("d_v", SMALL)
    keywords = draw.keyword("window", (m, 64, m // 2))
    b = draw_batch(draw, n * m)
    return draw.vectors((*b, n, d_k)), draw.vectors((*b, m, d_k)), draw.vectors((*b, m, d_v)), keywords


def find_visible_keys(q: np.ndarray, k: np.ndarray, keywords: dict[str, Any]) -> np.ndarray:
    """Return which keys each query sees."""
    causal = keywords.get("is_causal", False)
    mask = sliding_window_mask(n=q.shape[-2], m=k.shape[-2], window=keywords["window"], is_causal=causal)
    return np.asarray(mask)


def draw_hidden_key(draw: Draw) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, Any], int, np.ndarray]:
    """Draw q, k, v, a window and perhaps causality, a key, and which queries do not see it: at least one."""
    (n,), (d_k, d_v) = draw.dims(n=130), draw.dims(d_k=33, d_v=33)
    keywords = draw.keyword("window", (1, 0, 2, 3, 8, 31, 64)) | draw_causality(draw)
    n = draw.size("n", (max(n, 2 * keywords["window"] + 2),))
    m = draw.size("m", (n, n + 1, n + 9))
    b = draw_batch(draw, n * m)
    q, k, v = draw.vectors((*b, n, d_k)), draw.vectors((*b, m, d_k)), draw.vectors((*b, m, d_v))
    q, k = maybe_minimize_scores(draw, q, k)
    j = draw.integer(0, min(n, m) - 1)
    return q, k, v, keywords, j, ~find_visible_keys(q, k, keywords)[:, j]


@invariant("B", source=SOURCE, cost=1.5)
def test_is_attention_under_the_mask(local_attention: Operation, scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """It is the backend's own attention under the mask |i − j| ≤ window, and j ≤ i if causal."""
    q, k, v, keywords = draw_inputs(draw, "is_causal", *(("scale",) if scaled_dot_product_attention.accepts("scale") else ()))
    scale = {"scale": keywords["scale"]} if "scale" in keywords else {}
    alike = scaled_dot_product_attention(q, k, v, mask=find_visible_keys(q, k, keywords), **scale)
    assert_equal(local_attention(q, k, v, **keywords), alike)


@invariant("B", source=SOURCE)
def test_nothing_flows_from_outside(local_attention: Operation, draw: Draw) -> None:
    """Other finite keys and values, however large, outside a query's window do not change its result."""
    q, k, v, keywords, j, away = draw_hidden_key(draw)
    assert_no_influence(local_attention, q, (k, v), replace_key(draw, q, k, v, j), keywords, (..., away, slice(None)))


@invariant("B", source=SOURCE)
def test_window_zero(local_attention: Operation, draw: Draw) -> None:
    """A window of 0 is taken literally: each token attends to itself alone, and the result is v."""
    q, k, v, _ = draw_square(draw, window=0)
    assert_equal(local_attention(q, k, v, window=0, **draw_causality(draw)), v)


@invariant("B", source=SOURCE)
def test_wide_window(local_attention: Operation, scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """A window of n − 1 or more is attention itself, or causal attention."""
    q, k, v, n = draw_square(draw)
    window = n - 1 + draw.one_of((0, 1, 5, 1000))
    within_domain(draw, window=window)
    keywords = draw_causality(draw) if scaled_dot_product_attention.accepts("is_causal") else {}
    assert_equal(local_attention(q, k, v, window=window, **keywords), scaled_dot_product_attention(q, k, v, **keywords))


@invariant("B", source=SOURCE)
def test_window_counts_both_sides(local_attention: Operation, draw: Draw) -> None:
    """With q = 0 the result is the mean over the 2·window + 1 tokens around a query, or, causal, the window + 1 up to it."""
    q, k, v, keywords = draw_many_keys(draw) if draw.one_of((False, True)) else draw_inputs(draw, "is_causal", "scale")
    within_domain(draw, window=keywords["window"])
    mask: Any = exactly(find_visible_keys(q, k, keywords).astype(float))
    mean = mask @ exactly(v) / np.sum(mask, axis=-1, keepdims=True)
    assert_equal(local_attention(np.zeros(q.shape), k, v, **keywords), mean)


@invariant("B", source=SOURCE)
def test_translation(local_attention: Operation, draw: Draw) -> None:
    """Dropping the first s tokens changes no query whose window does not reach them."""
    q, k, v, n = draw_square(draw)
    keywords = draw.keyword("window", (1, 0, 2, 3, 7, 16)) | draw_causality(draw)
    s, w = draw.integer(0, n - 1), keywords["window"]
    within_domain(draw, n=n - s, m=n - s)
    rest = local_attention(q[..., s:, :], k[..., s:, :], v[..., s:, :], **keywords)
    assert_equal(rest[..., w:, :], local_attention(q, k, v, **keywords)[..., s + w :, :])


@invariant("B", source=SOURCE, needs=("keyword:is_causal",))
def test_causal_prefix(local_attention: Operation, draw: Draw) -> None:
    """The causal result of a prefix is the prefix of the causal result."""
    q, k, v, n = draw_square(draw)
    keywords, t = draw.keyword("window", (1, 0, 2, 3, 7, 16, 64)), draw_part(draw, n, "n", "m")
    prefix = local_attention(q[..., :t, :], k[..., :t, :], v[..., :t, :], **keywords, is_causal=True)
    assert_equal(local_attention(q, k, v, **keywords, is_causal=True)[..., :t, :], prefix)


@invariant("B", source=SOURCE)
def test_mirrored(local_attention: Operation, draw: Draw) -> None:
    """A window that is not causal has no direction: reversing queries, keys and values reverses the result."""
    q, k, v, _ = draw_square(draw)
    keywords = draw.keyword("window", (1, 0, 2, 3, 7, 16, 64))
    back = local_attention(q[..., ::-1, :], k[..., ::-1, :], v[..., ::-1, :], **keywords)
    assert_equal(back[..., ::-1, :], local_attention(q, k, v, **keywords))


@invariant("B", source=SOURCE)
def test_sums_to_one(local_attention: Operation, draw: Draw) -> None:
    """With v = identity the result is the attention weights: each row sums to 1, and is exactly 0 outside the window."""
    q, k, _, keywords = draw_inputs(tie_keys_to_value_width(draw), "is_causal", "scale")
    within_domain(draw, d_v=k.shape[-2])
    p: Any = local_attention(q, k, identity_values(k), **keywords)
    assert_equal(np.sum(p, axis=-1), 1.0)
    assert_identical(np.where(find_visible_keys(q, k, keywords), 0.0, p.value), np.zeros(p.shape))


@invariant("B", source=SOURCE)
def test_convex(local_attention: Operation, draw: Draw) -> None:
    """Each feature of the result lies between the least and the largest value of that feature in the window."""
    q, k, v, keywords = draw_inputs(draw, "is_causal", "scale")
    assert_within(local_attention(q, k, v, **keywords), *find_extremes(v, find_visible_keys(q, k, keywords)))


@invariant("B", source=SOURCE, cost=2)
def test_linear_in_values(local_attention: Operation, draw: Draw) -> None:
    """The result for values 2v − w is twice that for v, less that for w."""
    q, k, v, keywords = draw_inputs(draw, "is_causal", "scale")
    assert_linear_in_values(local_attention, draw, (q, k, v), keywords)


@invariant("B", source=SOURCE)
def test_shift_of_keys(local_attention: Operation, draw: Draw) -> None:
    """Adding one vector to every key does not change the result."""
    q, k, v, keywords = draw_inputs(draw, "is_causal", "scale")
    assert_blind_to_key_shifts(local_attention, draw, (q, k, v), k.shape[-1:], keywords)


@invariant("B", source=SOURCE)
def test_scale_follows_the_width_of_queries(local_attention: Operation, draw: Draw) -> None:
    """Three times as many features, all zero, halve the scale, and 2q makes up for it: the scale is a multiple of 1/√d_k."""
    q, k, v, keywords = draw_inputs(draw, "is_causal")
    assert_scale_follows_width(local_attention, draw, (q, k, v), keywords)


@invariant("B", source=SOURCE, needs=("keyword:scale",))
def test_unscaled(local_attention: Operation, draw: Draw) -> None:
    """The exercise does not scale, which is scale = 1: of 4 or 16 features, q times √d_k makes up for the default scale."""
    q, k, v, keywords = draw_inputs(draw, "is_causal")
    d_k = draw.size("d_k", (4, 16, 64))
    within_domain(draw, scale=1.0, d_k=d_k if d_k in (4, 16, 64) else -1)
    q, k = draw.grid((*q.shape[:-1], d_k)), draw.grid((*k.shape[:-1], d_k))
    assert_equal(local_attention(q, k, v, **keywords, scale=1.0), local_attention(q * np.sqrt(d_k), k, v, **keywords))


@invariant("F", source=SOURCE)
def test_large_scores(local_attention: Operation, draw: Draw) -> None:
    """Scores of ±10000/√d_k overflow nothing."""
    q, k, v, keywords = draw_inputs(draw, "is_causal")
    one_hot = np.eye(q.shape[-1])[0]
    q, k = (np.broadcast_to(draw.rng.choice((-100.0, 100.0), (*x.shape[:-1], 1)) * one_hot, x.shape) for x in (q, k))
    assert_finite(local_attention(q, k, v, **keywords))


@invariant("B")
def test_fully_masked_rows(local_attention: Operation, draw: Draw) -> None:
    """A query beyond the last window, which sees no key, gives what the backend states. If the backend states nothing, it
    always gives zeros, or always NaN. The other queries give what the equation says.
    """
    assert_convention(local_attention, draw, "fully_masked_rows")


@invariant("B", level="quarantine", cost=2)
def test_quarantine(local_attention: Operation, draw: Draw) -> None:
    """NaN and infinities in keys and values outside a query's window never reach its result."""
    q, k, v, keywords, j, away = draw_hidden_key(draw)
    assert_no_influence(local_attention, q, (k, v), spoil_key(draw, k, v, j), keywords, (..., away, slice(None)))
