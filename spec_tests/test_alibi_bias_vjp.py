"""What must hold of alibi_bias's gradient."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical
from .inputs.draw import Draw
from .operations.alibi_bias import draw_slopes
from .trials.invariant import invariant


@invariant("E", cost=2)
def test_diagonal(alibi_bias_vjp: Operation, draw: Draw) -> None:
    """A cotangent on the diagonal alone gives exactly 0: there is no distance."""
    h, n = draw.dims(h=16, n=129)
    c = np.eye(n) * draw.normal((h, 1, n))
    assert_identical(alibi_bias_vjp(c, draw_slopes(draw, h), n=n, wrt="slopes"), np.zeros(h))


@invariant("B", cost=2)
def test_distances_of_one_query(alibi_bias_vjp: Operation, draw: Draw) -> None:
    """Where one query alone has a cotangent, of ones, the gradient is minus the sum of its distances to all keys."""
    h, n = draw.dims(h=16, n=33)
    i = draw.integer(0, n - 1)
    c = np.zeros((h, n, n))
    c[:, i] = 1.0
    distances = float(np.sum(np.abs(i - np.arange(n))))
    assert_equal(alibi_bias_vjp(c, draw_slopes(draw, h), n=n, wrt="slopes"), np.full(h, -distances))
