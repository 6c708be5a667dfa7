"""What must hold of log_softmax's gradient."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal
from .helpers.rows import one_hot
from .helpers.softmax_rows import draw_logit_rows_to_differentiate
from .inputs.draw import Draw
from .trials.invariant import invariant

EQUATION = "CS336 assignment 1, eq. (10), differentiated"


@invariant("B", source=EQUATION, cost=2)
def test_sums_to_zero(log_softmax_vjp: Operation, draw: Draw) -> None:
    """The gradient of each row sums to zero: an offset of the row changes nothing."""
    x = draw_logit_rows_to_differentiate(draw)
    dx: Any = log_softmax_vjp(draw.vectors(x.shape), x, axis=-1, wrt="x")
    assert_equal(np.sum(dx, axis=-1), 0.0)


@invariant("B", source=EQUATION, cost=2)
def test_cross_entropy(log_softmax_vjp: Operation, softmax: Operation, draw: Draw) -> None:
    """With a one-hot cotangent it is the one-hot vector less softmax(x): minus the gradient of the cross-entropy."""
    x = draw_logit_rows_to_differentiate(draw)
    hot = one_hot(np.asarray(draw.rng.integers(0, x.shape[-1], x.shape[:-1])), x.shape[-1])
    assert_equal(log_softmax_vjp(hot, x, axis=-1, wrt="x"), hot - softmax(x, axis=-1))
