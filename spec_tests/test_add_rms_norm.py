"""What must hold of add_rms_norm."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, exactly
from .helpers.conventions import assert_convention
from .inputs.draw import EPS, Draw
from .operations.add_rms_norm import draw_summands
from .trials.invariant import invariant

EQUATION = "Zhang and Sennrich 2019, eq. 4"


@invariant("E", source=EQUATION)
def test_sum_is_rounded_once(add_rms_norm: Operation, draw: Draw) -> None:
    """The sum is the number nearest to x + residual: it is added once, and rounded to nearest, not truncated."""
    x, residual, weight = draw_summands(draw, 300)
    given = draw.keyword("eps", EPS)
    total = add_rms_norm(x, residual, weight, **given).parts["residual"]
    assert_identical(total, draw.format.round(x + residual))


@invariant("B", source=EQUATION)
def test_norm_of_the_sum(add_rms_norm: Operation, rms_norm: Operation, draw: Draw) -> None:
    """y is the backend's own rms_norm of the sum."""
    x, residual, weight = draw_summands(draw, 300)
    given = draw.keyword("eps", EPS)
    y = add_rms_norm(x, residual, weight, **given).parts["y"]
    assert_equal(y, rms_norm(exactly(x) + exactly(residual), weight, **given))


@invariant("B", source=EQUATION)
def test_summands_exchanged(add_rms_norm: Operation, draw: Draw) -> None:
    """Exchanging x and the residual changes nothing."""
    x, residual, weight = draw_summands(draw, 300)
    given = draw.keyword("eps", EPS)
    one, other = (add_rms_norm(*pair, weight, **given).parts for pair in ((x, residual), (residual, x)))
    assert_equal(one["y"], other["y"])
    assert_identical(one["residual"], other["residual"])


@invariant("B", source=EQUATION)
def test_residual_of_zero(add_rms_norm: Operation, rms_norm: Operation, draw: Draw) -> None:
    """A residual of 0 leaves rms_norm of x, and x itself, bit for bit."""
    x, _, weight = draw_summands(draw, 300)
    given = draw.keyword("eps", EPS)
    after = add_rms_norm(x, 0 * x, weight, **given).parts
    assert_equal(after["y"], rms_norm(x, weight, **given))
    assert_identical(after["residual"], x)


@invariant("B", source=EQUATION)
def test_any_split_of_the_sum(add_rms_norm: Operation, draw: Draw) -> None:
    """Only the sum matters: what is moved from one summand to the other changes nothing."""
    x, _, weight = draw_summands(draw, 300)
    given = draw.keyword("eps", EPS)
    a, b, c = (draw.grid(x.shape) for _ in "abc")
    one, other = (add_rms_norm(*pair, weight, **given).parts for pair in ((a, b), (a + c, b - c)))
    assert_equal(one["y"], other["y"])
    assert_identical(one["residual"], other["residual"])


@invariant("E", source=EQUATION)
def test_weight_of_zero(add_rms_norm: Operation, draw: Draw) -> None:
    """A weight of 0 gives a y of exactly 0, and the sum as before: the residual stream does not pass through the norm."""
    x, residual, weight = draw_summands(draw, 300)
    given = draw.keyword("eps", EPS)
    after = add_rms_norm(x, residual, 0 * weight, **given).parts
    assert_identical(after["y"], np.zeros(x.shape))
    assert_identical(after["residual"], add_rms_norm(x, residual, weight, **given).parts["residual"])


@invariant("B", bits=16)
def test_residual_rounding(add_rms_norm: Operation, draw: Draw) -> None:
    """In 16 bits the sum is normalized as it is stored, or before it is rounded, one of the two in every call."""
    assert_convention(add_rms_norm, draw, "residual_rounding")
