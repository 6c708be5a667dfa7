"""What must hold of gelu, in both of its forms."""

import math
from types import MappingProxyType
from typing import Any

import numpy as np

from .bounds.bounded import Bounded
from .bounds.error_model import ROUNDINGS, saturation
from .bounds.expectation import Expectation
from .calls.operation import Operation
from .calls.result import WIDE
from .helpers.assertions import assert_equal, assert_finite, assert_identical, assert_within, exactly
from .helpers.elementwise import assert_elementwise, draw_points, draw_points_and_zeros
from .helpers.rows import draw_row_shape
from .inputs.draw import Draw
from .specification.formats import Arithmetic
from .trials.invariant import invariant

EQUATION = "CS336 assignment 1, earlier edition, eq. (2)"
MINIMUM = MappingProxyType(
    {  # x and gelu(x) at the minimum of each form
        "none": (-0.75179152469356445745790494678, -0.169971207479903661693868470982),
        "tanh": (-0.752461422071016258487954443289, -0.170040750571254050639067427988),
    }
)
# Where the two forms differ most, and by how much
LARGEST_DIFFERENCE = (2.69894138637727030047803986577, 0.000473235520687284877113982295)
_erf, _erfc = (np.vectorize(f, otypes=[float]) for f in (math.erf, math.erfc))


def draw_form(draw: Draw) -> dict[str, Any]:
    """Draw the keyword that selects the form, if the function takes it."""
    return draw.keyword("approximate", ("none", "tanh"))


def draw_saturated_points(draw: Draw, largest: float) -> np.ndarray:
    """Draw positive numbers, up to `largest`, at which 1 − Φ(x) is negligible, even times x."""
    lowest = np.log2(2 * math.sqrt(2 * saturation(Arithmetic.of(draw.operation.dtype).compute)))
    return draw.held(2.0 ** draw.rng.uniform(lowest, np.log2(largest), draw_row_shape(draw, d=300)))


@invariant("B", source=EQUATION)
def test_odd_part(gelu: Operation, draw: Draw) -> None:
    """gelu(x) − gelu(−x) = x, in both forms."""
    x, which = draw_points(draw), draw_form(draw)
    assert_equal(gelu(x, **which) - gelu(-x, **which), x)


@invariant("B", source=EQUATION)
def test_even_part(gelu: Operation, draw: Draw) -> None:
    """gelu(x) + gelu(−x) = x erf(x/√2) exactly, and x tanh(√(2/π)(x + 0.044715 x³)) in the other form."""
    x, which = draw_points(draw), draw_form(draw)
    near = np.clip(x, -100, 100)  # where the gate is ±1 already
    if which.get("approximate", "none") == "none":
        z = near / math.sqrt(2)
        own = 4 * 2.0**-53 * (np.abs(_erf(z)) + 2 * np.abs(z) * np.exp(-np.square(z)))  # of erf, and of its argument
        gate = Bounded(_erf(z), own, WIDE)
    else:
        h = exactly(near)
        gate = np.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * (h * h * h)))
    assert_equal(gelu(x, **which) + gelu(-x, **which), exactly(x) * gate)


@invariant("E", source=EQUATION)
def test_zero(gelu: Operation, draw: Draw) -> None:
    """gelu(0) is exactly 0, beside any other numbers."""
    x = draw_points_and_zeros(draw)
    assert_identical(gelu(x, **draw_form(draw)).value[x == 0], np.zeros(np.sum(x == 0)))


@invariant("B", source=EQUATION)
def test_slope_at_zero(gelu: Operation, draw: Draw) -> None:
    """Near 0, gelu(x) = x/2 + x²/√(2π) in both forms, the next term being less than x⁴/12: the slope at 0 is ½."""
    which = draw_form(draw)
    x = draw.held(draw.rng.uniform(-1, 1, draw_row_shape(draw, d=300)) * 2.0 ** -(draw.format.precision // 2))
    square = np.square(exactly(x))
    beyond = Bounded(np.zeros(x.shape), x**4 / 12, WIDE)
    assert_equal(gelu(x, **which), exactly(x) / 2 + square / math.sqrt(2 * math.pi) + beyond)


@invariant("B", source=EQUATION)
def test_minimum(gelu: Operation, draw: Draw) -> None:
    """Nothing is less than −0.16997, which is the value at −0.75179; of the tanh form, −0.17004 at −0.75246."""
    which = draw_form(draw)
    place, least = MINIMUM[which.get("approximate", "none")]
    assert_within(gelu(draw_points(draw), **which), least, np.inf)
    assert_equal(gelu(np.full(draw_row_shape(draw, d=300), place), **which), least)


@invariant("B", source=EQUATION, needs=("keyword:approximate",))
def test_two_forms(gelu: Operation, draw: Draw) -> None:
    """The exact form and the tanh form differ by up to 4.7e-4, and by just that at ±2.699: each is itself."""
    place, most = LARGEST_DIFFERENCE
    if {"none", "tanh"} <= set(gelu.domain.get("approximate", ("none", "tanh"))):
        x = draw.held(draw.rng.uniform(-8, 8, draw_row_shape(draw, d=300)))
        assert_within(gelu(x, approximate="none") - gelu(x, approximate="tanh"), -most, most)
        x = np.full(draw_row_shape(draw, d=300), place) * draw.one_of((1.0, -1.0))
        assert_equal(gelu(x, approximate="tanh") - gelu(x, approximate="none"), most)


@invariant("E", source=EQUATION)
def test_far_away(gelu: Operation, draw: Draw) -> None:
    """Where 1 − Φ(|x|) vanishes gelu(x) is exactly x on the right, and exactly 0 on the left."""
    which = draw_form(draw)
    right = draw_saturated_points(draw, draw.format.max / 4)  # x (1 + erf) / 2 may be x (1 + erf) first
    assert_identical(gelu(right, **which), right)
    left = -draw_saturated_points(draw, draw.format.max)
    assert_identical(gelu(left, **which), np.zeros(left.shape))


@invariant("F", source=EQUATION)
def test_no_overflow(gelu: Operation, draw: Draw) -> None:
    """The result is finite for every finite x, up to the dtype's largest number, of either sign: no cube, and no x (1 + erf)
    before it is halved, may overflow."""
    which = draw_form(draw)
    x = np.where(
        draw.rng.random(size := draw_row_shape(draw, d=300)) < 0.5,
        draw.points(size),
        draw_saturated_points(draw, draw.format.max).flat[0],
    )
    assert_finite(gelu(np.where(draw.rng.random(size) < 0.2, draw.format.max, x), **which))
    assert_finite(gelu(-draw_saturated_points(draw, draw.format.max), **which))


@invariant("B", source=EQUATION)
def test_elementwise(gelu: Operation, draw: Draw) -> None:
    """Changing one element, to the largest numbers too, changes its own result alone."""
    x, which = draw_points(draw), draw_form(draw)
    assert_elementwise(gelu, draw, x, **which)


@invariant("E", level="limits", source=EQUATION)
def test_infinities(gelu: Operation, draw: Draw) -> None:
    """gelu(+∞) = +∞ and gelu(−∞) = 0, in both forms: the limits, not −∞ · 0."""
    infinite = draw.rng.choice((np.inf, -np.inf), draw_row_shape(draw, d=300))
    assert_identical(gelu(infinite, **draw_form(draw)), np.maximum(infinite, 0))


@invariant("B", level="relative-tails", source=EQUATION)
def test_relative_tail(gelu: Operation, draw: Draw) -> None:
    """Left of 0 the error of x erfc(−x/√2)/2 is relative: |y| u (32 + 6(x² + 1) + 1), for erfc; for √2 and the quotient, 6u,
    of which erfc makes |z erfc′(z)/erfc(z)| ≤ 2z² + 1 = x² + 1 times as much; and for the product."""
    x = _draw_tail(draw, math.sqrt(-2 * math.log(draw.format.tiny)))
    argument = ROUNDINGS["divide"] + 1
    _assert_relative(gelu, x, ROUNDINGS["erf"] + argument * (np.square(x) + 1) + 1, "none")


@invariant("B", level="relative-tails", source=EQUATION, needs=("keyword:approximate",))
def test_relative_tail_of_the_tanh_form(gelu: Operation, draw: Draw) -> None:
    """Left of 0 the error of x σ(s), s = √(8/π)(x + 0.044715 x³), which is the tanh form without its cancellation, is relative:
    |y| u (6 + 4|s| + 5 + 2 + 7|s|), as of silu, and for the seven roundings of s, which σ makes at most |s| times as much."""
    if "tanh" in gelu.domain.get("approximate", ("tanh",)):
        x = _draw_tail(draw, 0.9 * math.sqrt(-2 * math.log(draw.format.tiny)))
        s = math.sqrt(8 / math.pi) * np.abs(x + 0.044715 * x**3)
        _assert_relative(gelu, x, ROUNDINGS["exp"] + 4 * s + ROUNDINGS["divide"] + 2 + 7 * s, "tanh")


def _draw_tail(draw: Draw, length: float) -> np.ndarray:
    """Draw numbers from −length to 0."""
    return draw.held(draw.rng.uniform(-length, 0, draw_row_shape(draw, d=300)))


def _assert_relative(gelu: Operation, x: np.ndarray, roundings: np.ndarray, approximate: str) -> None:
    """The error is at most `roundings` times u |y|, and |x| times what underflows in the gate, before y is rounded."""
    compute = Arithmetic.of(gelu.dtype).compute
    y = gelu(x, **({"approximate": approximate} if gelu.accepts("approximate") else {}))
    truth = _evaluate_without_cancellation(x, approximate)
    error = np.abs(truth) * compute.u * roundings + np.abs(x) * compute.tiny
    assert_equal(y.value, Bounded(truth, Expectation(truth, error, gelu.storage).radius, WIDE))


def _evaluate_without_cancellation(x: np.ndarray, approximate: str) -> np.ndarray:
    """Return gelu(x) for x ≤ 0 from formulas that do not cancel there."""
    if approximate == "none":
        return np.asarray(x * _erfc(-x / math.sqrt(2)) / 2)
    e = np.exp(math.sqrt(8 / math.pi) * (x + 0.044715 * x**3))
    return np.asarray(x * e / (1 + e))
