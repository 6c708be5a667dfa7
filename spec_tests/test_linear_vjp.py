"""What must hold of linear's gradients."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_unmoved, exactly
from .inputs.draw import Draw
from .trials.invariant import invariant

EQUATION = "the transpose of each linear map"


@invariant("B", source=EQUATION, cost=2)
def test_one_token_is_an_outer_product(linear_vjp: Operation, draw: Draw) -> None:
    """The weight's gradient from a single token is c xᵀ, one row for each output."""
    d_in, d_out = draw.dims(d_in=257, d_out=257)
    x, c = draw.normal((1, d_in)), draw.normal((1, d_out))
    assert_equal(linear_vjp(c, x, draw.weight(d_out, d_in), wrt="weight"), exactly(c[0][:, None]) * x)


@invariant("B", source=EQUATION, cost=2)
def test_x_s_gradient_ignores_x(linear_vjp: Operation, draw: Draw) -> None:
    """The gradient of x does not depend on x, in which the equation is linear; nor the weight's on the weight."""
    d_in, d_out = draw.dims(d_in=257, d_out=257)
    n = draw.shape.one_of((3, 1, 8, 33))
    c, x, weight = draw.vectors((n, d_out)), draw.vectors((n, d_in)), draw.weight(d_out, d_in)
    assert_unmoved(linear_vjp(c, draw.normal(x.shape), weight, wrt="x"), linear_vjp(c, x, weight, wrt="x"))
    one, other = (linear_vjp(c, x, w, wrt="weight") for w in (weight, draw.weight(d_out, d_in)))
    assert_unmoved(other, one)


@invariant("B", source=EQUATION, cost=2, needs=("keyword:bias",))
def test_bias_gathers_the_cotangent(linear_vjp: Operation, draw: Draw) -> None:
    """The bias's gradient is the sum of the cotangent over all tokens."""
    d_in, d_out = draw.dims(d_in=33, d_out=257)
    n = draw.shape.one_of((3, 1, 8, 129))
    c, x = draw.grid((n, d_out), step=1.0, largest=1), draw.vectors((n, d_in))
    dbias = linear_vjp(c, x, draw.weight(d_out, d_in), bias=draw.gain(d_out), wrt="bias")
    assert_equal(dbias, np.sum(c, axis=0))
