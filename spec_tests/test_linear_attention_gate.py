"""What must hold of linear_attention_gate."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_finite, assert_true, assert_unmoved, assert_within, exactly
from .inputs.draw import Draw
from .operations.linear_attention_gate import LOWER_BOUNDS, draw_call, draw_gate, wide
from .trials.invariant import invariant

SOURCE = "Kimi Linear, section 4; fused_kda_gate of flash-linear-attention"
BOUNDED = ("keyword:lower_bound",)


def unbounded(draw: Draw) -> dict[str, Any]:
    """Return the keyword for the gate without a lower bound, if it can be given."""
    return draw.only("lower_bound", None)


def bounded(draw: Draw) -> dict[str, Any]:
    """Return the keyword for a gate with a lower bound."""
    return draw.only("lower_bound", *LOWER_BOUNDS[1:])


@invariant("E", source=SOURCE)
def test_within_the_bounds(linear_attention_gate: Operation, draw: Draw) -> None:
    """No g is above 0, and none below lower_bound."""
    given, keywords = draw_call(draw, "dt_bias")
    g, lowest = linear_attention_gate(*given, **keywords).value, keywords.get("lower_bound")
    assert_true(not np.any(g > 0), "a g is above 0", largest=float(np.max(g, initial=-np.inf)))
    if lowest is not None:
        assert_true(not np.any(g < lowest), "a g is below lower_bound", smallest=float(np.min(g, initial=0.0)))


@invariant("B", source=SOURCE, needs=("keyword:dt_bias",))
def test_bias_is_added(linear_attention_gate: Operation, draw: Draw) -> None:
    """dt_bias gives what x gives to which it is added, where that is exact."""
    given, keywords = draw_call(draw)
    x, bias = draw.grid(given.x.shape), draw.grid((given.x.shape[-3], given.x.shape[-1]))
    together = linear_attention_gate(x + bias[:, None, :], given.a_log, **keywords)
    assert_equal(linear_attention_gate(x, given.a_log, bias, **keywords), together)


@invariant("B", source=SOURCE)
def test_rate_is_a_factor(linear_attention_gate: Operation, draw: Draw) -> None:
    """Without lower_bound, ln c added to a_log multiplies g by c."""
    keywords = unbounded(draw)
    given = draw_gate(draw, *draw.variants("dt_bias"))
    zeros, k = np.zeros(given.a_log.shape), draw.rng.integers(-3, 4, given.a_log.shape)
    rates = wide(draw, k * np.log(2.0))
    one, other = (linear_attention_gate(*given._replace(a_log=a), **keywords) for a in (zeros, rates))
    assert_equal(other, np.exp(exactly(rates))[:, None, None] * one)


@invariant("B", source=SOURCE, needs=BOUNDED)
def test_rate_stretches(linear_attention_gate: Operation, draw: Draw) -> None:
    """With lower_bound and without dt_bias, x at the rate e^a gives what e^a x gives at the rate 1."""
    keywords = bounded(draw)
    given = draw_gate(draw)
    x, k = draw.grid(given.x.shape), draw.rng.integers(0, 4, given.a_log.shape)
    rates = wide(draw, -k * np.log(2.0))
    one = linear_attention_gate(x, np.zeros(rates.shape), **keywords)
    assert_equal(linear_attention_gate(x * 2.0 ** k[:, None, None], rates, **keywords), one)


@invariant("B", source=SOURCE)
def test_at_zero(linear_attention_gate: Operation, draw: Draw) -> None:
    """y = 0 gives −e^a ln 2, or half of lower_bound."""
    given, keywords = draw_gate(draw, *draw.variants("dt_bias")), draw.keyword("lower_bound", (None, None, None, -5.0, -1.0))
    lowest = keywords.get("lower_bound")
    x = np.zeros(given.x.shape)
    if given.dt_bias is not None:
        given = given._replace(dt_bias=draw.grid(given.dt_bias.shape))
        x = x - np.asarray(given.dt_bias)[:, None, :]
    rates = np.exp(exactly(given.a_log))[:, None, None] + np.zeros(x.shape)
    expected = -np.log(2.0) * rates if lowest is None else exactly(np.full(x.shape, lowest / 2))
    assert_equal(linear_attention_gate(*given._replace(x=x), **keywords), expected)


@invariant("B", source=SOURCE)
def test_falling(linear_attention_gate: Operation, draw: Draw) -> None:
    """A larger x gives no larger g."""
    given, keywords = draw_call(draw, "dt_bias")
    step = draw.rng.choice((0.0, 0.5, 4.0), given.x.shape)
    larger = np.maximum(given.x, draw.held(given.x + step))  # a number of few bits may lie below x
    one, other = (linear_attention_gate(*given._replace(x=x), **keywords) for x in (given.x, larger))
    assert_within(one - other, 0.0, np.inf)


@invariant("B", source=SOURCE)
def test_where_it_is_straight(linear_attention_gate: Operation, draw: Draw) -> None:
    """Without lower_bound, x and −x differ by y itself: softplus(y) − softplus(−y) = y."""
    keywords = unbounded(draw)
    given = draw_gate(draw)
    x = np.clip(given.x, -19, 19)
    one, other = (linear_attention_gate(s * x, given.a_log, **keywords) for s in (1.0, -1.0))
    assert_equal(other - one, np.exp(exactly(given.a_log))[:, None, None] * exactly(x))


@invariant("B", source=SOURCE, needs=BOUNDED)
def test_symmetric(linear_attention_gate: Operation, draw: Draw) -> None:
    """With lower_bound and without dt_bias, x and −x add up to lower_bound."""
    keywords = bounded(draw)
    given = draw_gate(draw)
    one, other = (linear_attention_gate(s * given.x, given.a_log, **keywords) for s in (1.0, -1.0))
    assert_equal(one + other, exactly(np.full(given.x.shape, keywords["lower_bound"])))


@invariant("F", source="the exponential of a large y overflows")
def test_large_arguments(linear_attention_gate: Operation, draw: Draw) -> None:
    """Arguments to 100 on either side, at rates to 16, give finite g."""
    given, keywords = draw_gate(draw, *draw.variants("dt_bias")), draw.keyword("lower_bound", (None, None, -5.0))
    x = draw.held(draw.rng.choice((100.0, -100.0, 90.0, 0.0), given.x.shape))
    assert_finite(linear_attention_gate(*given._replace(x=x), **keywords))


@invariant("E", source=SOURCE)
def test_heads_and_channels_are_separate(linear_attention_gate: Operation, draw: Draw) -> None:
    """Other numbers, rates and biases in the other heads, and other numbers and biases in the other channels, leave a g as it
    was."""
    given, keywords = draw_call(draw, "dt_bias")
    h, n, d = given.x.shape[-3:]
    i, j = draw.integer(0, h - 1), draw.integer(0, d - 1)
    own_head, own = np.arange(h) == i, (np.arange(h)[:, None] == i) & (np.arange(d) == j)
    bias = None if given.dt_bias is None else np.where(own, given.dt_bias, 1 + np.roll(given.dt_bias, 1, axis=-1))
    others = given._replace(
        x=np.where(own[:, None, :], given.x, -given.x), a_log=np.where(own_head, given.a_log, -given.a_log), dt_bias=bias
    )
    before, after = (linear_attention_gate(*x, **keywords) for x in (given, others))
    assert_unmoved(after, before, (..., slice(i, i + 1), slice(0, n), slice(j, j + 1)))
