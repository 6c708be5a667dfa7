"""What must hold of the gradient of linear_attention_gate."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, exactly
from .helpers.keywords import accepted
from .inputs.draw import Draw
from .operations.linear_attention_gate import LOWER_BOUNDS, STRAIGHT, draw_call, draw_gate
from .trials.invariant import invariant

SOURCE = "Differentiation of Kimi Linear, section 4"
BOUNDED = ("keyword:lower_bound",)


def sum_over_rows(x: Any) -> Any:
    """Return the sum over the batch and the tokens: an entry for each head and channel."""
    x = np.sum(x, axis=-2)
    while x.ndim > 2:
        x = np.sum(x, axis=0)
    return x


@invariant("B", source=SOURCE, cost=2, needs=("keyword:dt_bias",))
def test_bias_gets_the_sum(linear_attention_gate_vjp: Operation, draw: Draw) -> None:
    """Each cotangent at a distance from the others: the bias gets the gradient of its one token, and exactly what x gets."""
    given, keywords = draw_call(draw, "dt_bias")
    if given.dt_bias is None or not given.x.size:
        return
    c: Any = np.zeros(given.x.shape)
    rows = np.moveaxis(c, -2, 0).reshape(
        c.shape[-2], -1, *c.shape[-3:-2], c.shape[-1]
    )  # a view of tokens, batch, heads, channels
    rows[draw.integer(0, len(rows) - 1), draw.integer(0, rows.shape[1] - 1)] = draw.grid(rows.shape[2:])
    c = np.moveaxis(rows.reshape(c.shape[-2], *c.shape[:-2], c.shape[-1]), 0, -2)
    dx, dbias = linear_attention_gate_vjp(c, *given, **keywords, wrt=("x", "dt_bias"))
    assert_equal(dbias, sum_over_rows(dx))


@invariant("B", source=SOURCE, cost=2)
def test_slopes_add_up(linear_attention_gate_vjp: Operation, draw: Draw) -> None:
    """Without lower_bound the gradients at x and −x add up to −c e^a: σ(y) + σ(−y) = 1."""
    keywords, given = draw.only("lower_bound", None), draw_gate(draw)
    c, x = draw.grid(given.x.shape), np.clip(given.x, 1 - STRAIGHT, STRAIGHT - 1)
    one, other = (linear_attention_gate_vjp(c, s * x, given.a_log, **keywords, wrt="x") for s in (1.0, -1.0))
    assert_equal(one + other, -np.exp(exactly(given.a_log))[:, None, None] * c)


@invariant("B", source=SOURCE, cost=2, needs=BOUNDED)
def test_even_slope(linear_attention_gate_vjp: Operation, draw: Draw) -> None:
    """With lower_bound and without dt_bias the gradients at x and −x are equal."""
    keywords, given = draw.only("lower_bound", *LOWER_BOUNDS[1:]), draw_gate(draw)
    c = draw.grid(given.x.shape)
    one, other = (linear_attention_gate_vjp(c, s * given.x, given.a_log, **keywords, wrt="x") for s in (1.0, -1.0))
    assert_equal(one, other)


@invariant("B", source=SOURCE, cost=2, needs=BOUNDED)
def test_rate_and_argument(linear_attention_gate_vjp: Operation, draw: Draw) -> None:
    """With lower_bound g depends on e^a y alone: the gradient of a_log is the sum of dx y over a head's channels and tokens."""
    keywords = draw.only("lower_bound", *LOWER_BOUNDS[1:])
    given = draw_gate(draw, *accepted(linear_attention_gate_vjp, "dt_bias"))
    x, c = draw.grid(given.x.shape), draw.grid(given.x.shape)
    bias = None if given.dt_bias is None else draw.grid(given.dt_bias.shape)
    dx, drate = linear_attention_gate_vjp(c, x, given.a_log, bias, **keywords, wrt=("x", "a_log"))
    y = exactly(x if bias is None else x + bias[:, None, :])
    expected = sum_over_rows(dx * y)
    assert_equal(drate, np.sum(expected, axis=-1))


@invariant("B", source=SOURCE, cost=2)
def test_gradient_of_the_rate(linear_attention_gate_vjp: Operation, draw: Draw) -> None:
    """Without lower_bound g is e^a times a function of x: at y = 0 the gradient of a_log is −e^a ln 2 times the sum of c."""
    keywords, given = draw.only("lower_bound", None), draw_gate(draw)
    c = draw.grid(given.x.shape)
    drate = linear_attention_gate_vjp(c, np.zeros(c.shape), given.a_log, **keywords, wrt="a_log")
    assert_equal(drate, -np.log(2.0) * np.exp(exactly(given.a_log)) * np.sum(sum_over_rows(c), axis=-1))
