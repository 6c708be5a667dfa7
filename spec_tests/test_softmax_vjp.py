"""What must hold of softmax's gradient."""

from types import MappingProxyType
from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, exactly
from .helpers.softmax_rows import draw_logit_rows_to_differentiate
from .inputs.draw import MANY_ROWS, Draw
from .inputs.regimes import LOGITS
from .trials.invariant import invariant

EQUATION = "CS336 assignment 1, eq. (10), differentiated"
FLAT_REGIMES = MappingProxyType({name: LOGITS[name] for name in ("constant", "zeros", "ties")})  # all of a row counts in its sum


@invariant("B", source=EQUATION)
def test_constant_cotangent(softmax_vjp: Operation, draw: Draw) -> None:
    """A cotangent that is constant along each row gives 0: the rows of the Jacobian sum to zero, as probabilities sum to one."""
    x = draw_logit_rows_to_differentiate(draw, draw.one_of((LOGITS, FLAT_REGIMES, FLAT_REGIMES)))
    c = np.broadcast_to(draw.normal((*x.shape[:-1], 1), 4.0), x.shape)
    assert_equal(softmax_vjp(c, x, axis=-1, wrt="x"), 0.0)


@invariant("B", source=EQUATION, cost=2)
def test_sums_to_zero(softmax_vjp: Operation, draw: Draw) -> None:
    """The gradient of each row sums to zero: an offset of the row changes nothing."""
    x = draw_logit_rows_to_differentiate(draw)
    dx: Any = softmax_vjp(draw.vectors(x.shape), x, axis=-1, wrt="x")
    assert_equal(np.sum(dx, axis=-1), 0.0)


@invariant("B", source=EQUATION, cost=2)
def test_symmetric(softmax_vjp: Operation, draw: Draw) -> None:
    """The Jacobian is symmetric: d·vjp(c) = c·vjp(d)."""
    x = draw_logit_rows_to_differentiate(draw)
    c, d = draw.normal(x.shape), draw.normal(x.shape)
    left, right = (np.sum(exactly(a) * softmax_vjp(b, x, axis=-1, wrt="x"), axis=-1) for a, b in ((d, c), (c, d)))
    assert_equal(left, right)


@invariant("E", source=EQUATION, cost=2)
def test_hidden_entries(softmax_vjp: Operation, draw: Draw) -> None:
    """An entry of −∞ has a gradient of exactly 0."""
    (n,) = draw.dims(n=300)
    x, hidden = draw.normal((*draw.batch(MANY_ROWS), n), 3.0), np.arange(n) % 3 == 1
    dx = softmax_vjp(draw.vectors(x.shape), np.where(hidden, -np.inf, x), axis=-1, wrt="x").value[..., hidden]
    assert_identical(dx, np.zeros(dx.shape))
