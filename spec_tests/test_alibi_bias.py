"""What must hold of alibi_bias.

The distance is symmetric, |i − j|, as in the book's exercise 4: a later key is penalized as an earlier one is. The paper's form,
slope · (j − i), is a named variant that rewards later keys; under a causal mask the attention is the same.
"""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, assert_true, assert_unmoved, exactly
from .inputs.draw import Draw, within_domain
from .operations.alibi_bias import MAX_BIASES, draw_slopes, limit_sizes
from .trials.invariant import invariant

SOURCE = "the book's exercise 4"


def draw_inputs(draw: Draw) -> tuple[np.ndarray, int, int, dict[str, Any]]:
    """Draw slopes, n, m and the keywords for them."""
    h, n, m = draw.dims(h=33, n=300, m=300)
    h, n = limit_sizes(draw, h, n, m)
    keywords: dict[str, Any] = {"n": n}
    if draw.operation.accepts("m"):
        keywords["m"] = draw.one_of((m, None, m) if h * n * n <= MAX_BIASES else (m,))
    keys = keywords.get("m")
    return draw_slopes(draw, h), n, n if keys is None else keys, keywords


@invariant("E", source=SOURCE)
def test_own_key(alibi_bias: Operation, draw: Draw) -> None:
    """A query's own key, j = i, has a bias of exactly 0."""
    slope, n, m, keywords = draw_inputs(draw)
    own = np.diagonal(alibi_bias(slope, **keywords).value, axis1=-2, axis2=-1)
    assert_identical(own, np.zeros((len(slope), min(n, m))))


@invariant("B", source=SOURCE)
def test_distance_alone(alibi_bias: Operation, draw: Draw) -> None:
    """The bias depends on |i − j| alone: it is the same along each diagonal, and on both sides."""
    slope, *_, keywords = draw_inputs(draw)
    bias: Any = alibi_bias(slope, **keywords)
    assert_equal(bias[:, 1:, 1:], bias[:, :-1, :-1])
    square = bias[:, : min(bias.shape[1:]), : min(bias.shape[1:])]
    assert_equal(square, np.swapaxes(square, 1, 2))


@invariant("B", source=SOURCE)
def test_proportional(alibi_bias: Operation, draw: Draw) -> None:
    """The bias grows with the distance, in proportion: at distance 1 it is −slope, at distance t it is t times that."""
    slope, n, m, keywords = draw_inputs(draw)
    bias, distance = alibi_bias(slope, **keywords), np.abs(np.arange(n)[:, None] - np.arange(m))
    assert_equal(bias, exactly(slope)[:, None, None] * -distance.astype(float))


@invariant("E", source=SOURCE)
def test_penalty(alibi_bias: Operation, draw: Draw) -> None:
    """With a positive slope no key gains, not even a later one, and every key but the query's own loses."""
    slope, n, m, keywords = draw_inputs(draw)
    bias = alibi_bias(draw.held(np.abs(slope) + 2.0**-8), **keywords).value
    own = np.arange(n)[:, None] == np.arange(m)
    assert_true(bool(np.all((bias < 0) | own)), "some other key does not lose", largest=np.max(np.where(own, -np.inf, bias)))


@invariant("B", source=SOURCE)
def test_linear_in_slopes(alibi_bias: Operation, draw: Draw) -> None:
    """Slopes a + b give the sum of the biases of a and of b, negative ones too."""
    slope, *_, keywords = draw_inputs(draw)
    a, b = draw.grid(slope.shape), draw.grid(slope.shape)
    assert_equal(alibi_bias(a + b, **keywords), alibi_bias(a, **keywords) + alibi_bias(b, **keywords))


@invariant("B", source=SOURCE)
def test_heads_are_independent(alibi_bias: Operation, draw: Draw) -> None:
    """Head h depends on slope h alone."""
    slope, *_, keywords = draw_inputs(draw)
    h, other = draw.integer(0, len(slope) - 1), slope.copy()
    other[h] = draw.one_of((0.0, -3.0, 0.5))
    assert_unmoved(alibi_bias(other, **keywords), alibi_bias(slope, **keywords), np.arange(len(slope)) != h)


@invariant("B", source=SOURCE, needs=("keyword:m",))
def test_earlier_part(alibi_bias: Operation, draw: Draw) -> None:
    """The first queries and keys have the bias that they have among all, whatever n and m: i and j are plain indices."""
    h, n, m, few, less = draw.dims(h=17, n=257, m=257, few=257, less=257)
    slope, few, less = draw_slopes(draw, h), draw.size("n", (min(n, few),)), draw.size("m", (min(m, less),))
    if few <= n and less <= m:
        assert_equal(alibi_bias(slope, n=few, m=less), alibi_bias(slope, n=n, m=m)[:, :few, :less])


@invariant("B", source="Press, Smith and Lewis 2021, arXiv:2108.12409, section 3")
def test_the_papers_form(alibi_bias: Operation, scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """Causal attention with this bias is that with slope · j, from which it differs by a constant in each row."""
    h, n, d_k, d_v = draw.dims(h=5, n=65, d_k=17, d_v=17)
    attention = draw.for_operation(scaled_dot_product_attention)
    within_domain(attention, n=n, m=n, d_k=d_k, d_v=d_v)
    if not scaled_dot_product_attention.accepts("bias"):
        return
    slope = draw.held(0.5 ** (1 + np.arange(h) % 4))  # so that the dtype holds every bias
    q, k, v = draw.normal((h, n, d_k)), draw.normal((h, n, d_k)), draw.normal((h, n, d_v))
    bias = alibi_bias(slope, n=n).value
    past = np.arange(n) <= np.arange(n)[:, None]
    y, z = (
        scaled_dot_product_attention(q, k, v, bias=np.where(past, b, -np.inf))
        for b in (bias, slope[:, None, None] * np.arange(n))
    )
    assert_equal(y, z)


@invariant("E", source=SOURCE, needs=("keyword:m",))
def test_no_keys(alibi_bias: Operation, draw: Draw) -> None:
    """m = 0 is taken literally: n rows without a key."""
    h, n = draw.dims(h=8, n=33)
    if 0 in draw.operation.domain.get("m", (0,)):
        assert_identical(alibi_bias(draw_slopes(draw, h), n=n, m=0), np.zeros((h, n, 0)))
