"""What must hold of add_rms_norm's gradients."""

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical
from .inputs.draw import EPS, Draw
from .operations.add_rms_norm import draw_summands
from .trials.invariant import invariant

EQUATION = "differentiation of Zhang and Sennrich 2019, eq. 4"


@invariant("B", source=EQUATION, cost=2)
def test_both_summands_alike(add_rms_norm_vjp: Operation, draw: Draw) -> None:
    """x and the residual have the same gradient."""
    x, residual, weight = draw_summands(draw, 129)
    given, c, g = draw.keyword("eps", EPS), draw.vectors(x.shape), draw.vectors(x.shape)
    of_x, of_residual = (add_rms_norm_vjp((c, g), x, residual, weight, **given, wrt=name) for name in ("x", "residual"))
    assert_equal(of_x, of_residual)


@invariant("E", source=EQUATION, cost=2)
def test_the_stream_passes(add_rms_norm_vjp: Operation, draw: Draw) -> None:
    """Without a cotangent of y, that of the sum reaches both summands bit for bit."""
    x, residual, weight = draw_summands(draw, 129)
    given, g = draw.keyword("eps", EPS), draw.vectors(x.shape)
    for name in ("x", "residual"):
        assert_identical(add_rms_norm_vjp((None, g), x, residual, weight, **given, wrt=name), g)


@invariant("B", source=EQUATION, cost=2)
def test_paths_add_up(add_rms_norm_vjp: Operation, draw: Draw) -> None:
    """The gradient of both cotangents is the sum of the gradients of each."""
    x, residual, weight = draw_summands(draw, 129)
    given, c, g = draw.keyword("eps", EPS), draw.grid(x.shape), draw.grid(x.shape)
    both, norm, stream = (
        add_rms_norm_vjp(pair, x, residual, weight, **given, wrt="x") for pair in ((c, g), (c, None), (None, g))
    )
    assert_equal(both, norm + stream)
