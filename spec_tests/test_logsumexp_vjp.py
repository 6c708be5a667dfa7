"""What must hold of logsumexp's gradient."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal
from .helpers.softmax_rows import draw_logit_rows_to_differentiate
from .inputs.draw import Draw
from .trials.invariant import invariant

EQUATION = "CS336 assignment 1, eq. (10), differentiated"


@invariant("B", source=EQUATION, cost=2)
def test_sums_to_the_cotangent(logsumexp_vjp: Operation, draw: Draw) -> None:
    """The gradient of each row sums to its cotangent: an offset of the row is one of the result."""
    x = draw_logit_rows_to_differentiate(draw)
    c = draw.normal(x.shape[:-1], 4.0)
    dx: Any = logsumexp_vjp(c, x, axis=-1, wrt="x")
    assert_equal(np.sum(dx, axis=-1), c)


@invariant("B", source=EQUATION, cost=2)
def test_is_softmax(logsumexp_vjp: Operation, softmax: Operation, draw: Draw) -> None:
    """The gradient of logsumexp is softmax."""
    x = draw_logit_rows_to_differentiate(draw)
    assert_equal(logsumexp_vjp(np.ones(x.shape[:-1]), x, axis=-1, wrt="x"), softmax(x, axis=-1))
