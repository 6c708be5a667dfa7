"""What must hold of relu."""

from types import MappingProxyType

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_identical
from .inputs.draw import MANY_ROWS, Draw
from .inputs.regimes import POINTS
from .trials.invariant import invariant

EQUATION = "CS336 assignment 1, section 3.5.2"
NORMAL_REGIMES = MappingProxyType(
    {name: fill for name, fill in POINTS.items() if name != "subnormal"}
)  # which may be read as zeros


def draw_normal_points(draw: Draw) -> np.ndarray:
    """Draw rows of numbers, none of them subnormal."""
    (d,) = draw.dims(d=300)
    x = draw.array((*draw.batch(MANY_ROWS), d), NORMAL_REGIMES)
    return np.where(np.abs(x) < draw.format.tiny, 0.0, x)


@invariant("E", source=EQUATION)
def test_rectifies(relu: Operation, draw: Draw) -> None:
    """relu(x) is exactly x where x > 0 and exactly 0 elsewhere, up to the dtype's largest number."""
    x = draw_normal_points(draw)
    assert_identical(relu(x), np.where(x > 0, x, 0.0))


@invariant("E", source=EQUATION)
def test_odd_and_even_parts(relu: Operation, draw: Draw) -> None:
    """relu(x) − relu(−x) = x and relu(x) + relu(−x) = |x|, exactly."""
    x = draw_normal_points(draw)
    positive, negative = relu(x).value, relu(-x).value
    assert_identical(positive - negative, x)
    assert_identical(positive + negative, np.abs(x))


@invariant("E", source=EQUATION)
def test_homogeneous(relu: Operation, draw: Draw) -> None:
    """relu(αx) = α relu(x) for α > 0, exactly for powers of two."""
    (d,) = draw.dims(d=300)
    x = draw.normal((*draw.batch(MANY_ROWS), d))
    x, alpha = np.where(np.abs(x) < 2.0**-6, 0.0, x), draw.one_of((2.0, 0.5, 2.0**-7, 2.0**10))
    assert_identical(relu(alpha * x), alpha * relu(x).value)


@invariant("E", source=EQUATION)
def test_idempotent(relu: Operation, draw: Draw) -> None:
    """relu(relu(x)) = relu(x): positive numbers pass unchanged."""
    y = relu(draw_normal_points(draw)).value
    assert_identical(relu(y), y)


@invariant("E", source=EQUATION)
def test_infinities(relu: Operation, draw: Draw) -> None:
    """relu(+∞) = +∞ and relu(−∞) = 0, not −∞ · 0."""
    x = draw_normal_points(draw)
    infinite = draw.rng.choice((np.inf, -np.inf, 0.0), x.shape)
    x = np.where(infinite == 0, x, infinite)
    assert_identical(relu(x), np.where(x > 0, x, 0.0))


@invariant("E", source=EQUATION)
def test_elementwise(relu: Operation, draw: Draw) -> None:
    """Changing one element changes its own result alone."""
    x = draw_normal_points(draw)
    i = draw.integer(0, x.size - 1)
    changed = x.copy()
    changed.flat[i] = draw.one_of((-3.0, 5.0, 0.9 * draw.format.max, np.inf))
    y, other = relu(x).value, relu(draw.held(changed)).value
    assert_identical(np.delete(other, i), np.delete(y, i))
