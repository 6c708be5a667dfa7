"""What must hold of relu's gradient."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_identical
from .helpers.elementwise_gradients import assert_gradient_elementwise, draw_gradient_points
from .inputs.draw import Draw
from .trials.invariant import invariant


@invariant("E", cost=2)
def test_passes_or_stops(relu_vjp: Operation, draw: Draw) -> None:
    """The gradient is exactly the cotangent where x > 0, and exactly 0 where x < 0."""
    x = draw_gradient_points(draw)
    c, away = draw.vectors(x.shape), np.abs(x) >= draw.format.tiny
    dx = relu_vjp(c, x, wrt="x").value
    assert_identical(dx[away], np.where(x > 0, c, 0.0)[away])


@invariant("E", cost=2)
def test_elementwise(relu_vjp: Operation, draw: Draw) -> None:
    """Where only one element has a cotangent, every other has a gradient of exactly 0."""
    assert_gradient_elementwise(relu_vjp, draw)
