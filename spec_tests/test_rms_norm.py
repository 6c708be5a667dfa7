"""What must hold of rms_norm."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, assert_unmoved, exactly
from .inputs.draw import EPS, MANY_ROWS, Draw, single
from .trials.invariant import invariant

EQUATION = "CS336 assignment 1, eq. (4)"


def draw_inputs(draw: Draw) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Draw rows of every regime, a gain and an eps."""
    (d,) = draw.dims(d=300)
    return draw.rows((*draw.batch(MANY_ROWS), d)), draw.gain(d), draw.keyword("eps", EPS)


@invariant("B", source=EQUATION)
def test_unit_scale(rms_norm: Operation, draw: Draw) -> None:
    """With gain 1 the mean of y² is ms / (ms + ε), where ms is the mean of x². It differs from one only because of ε."""
    x, weight, eps = draw_inputs(draw)
    y = rms_norm(x, np.ones_like(weight), **eps)
    ms = np.mean(np.square(exactly(x)), axis=-1)
    assert_equal(np.mean(np.square(y), axis=-1), ms / (ms + eps["eps"]))


@invariant("B", source=EQUATION, needs=("keyword:eps",))
def test_scale(rms_norm: Operation, draw: Draw) -> None:
    """rms_norm(αx; α²ε) = sign(α) rms_norm(x; ε): scaling a row and its ε changes nothing but the sign."""
    x, weight, eps = draw_inputs(draw)
    alpha = draw.one_of((2.0, -1.0, 0.5, 4.0, -8.0, 3.0, -0.75))
    (scaled_eps,) = single(alpha**2 * eps["eps"])
    if scaled_eps == alpha**2 * eps["eps"]:
        assert_equal(rms_norm(exactly(x) * alpha, weight, eps=scaled_eps), np.sign(alpha) * rms_norm(x, weight, **eps))


@invariant("B", source=EQUATION, needs=("keyword:eps",))
def test_scale_by_powers_of_two(rms_norm: Operation, draw: Draw) -> None:
    """rms_norm(2^k x; 4^k ε) = rms_norm(x; ε): every step but the root's inverse, which may be a power, scales exactly."""
    (d,) = draw.dims(d=300)
    x, weight, eps = draw.normal((*draw.batch(MANY_ROWS), d)), draw.gain(d), draw.one_of(single(1e-5, 1e-3, 0.1, 1.0))
    x, scale = np.where(np.abs(x) < 2.0**-6, 0.0, x), 2.0 ** draw.one_of((1, -1, 3, -6, 8))
    assert_equal(rms_norm(scale * x, weight, eps=scale**2 * eps), rms_norm(x, weight, eps=eps))


@invariant("B", source=EQUATION, needs=("keyword:eps",))
def test_scale_invariance(rms_norm: Operation, draw: Draw) -> None:
    """At ε = 0, rms_norm(αx) = rms_norm(x) for α > 0."""
    (d,) = draw.dims(d=300)
    x = draw.normal((*draw.batch(MANY_ROWS), d))
    alpha = draw.one_of((2.0, 2.0**-6, 64.0))
    assert_equal(rms_norm(x * alpha, weight := draw.gain(d), eps=0.0), rms_norm(x, weight, eps=0.0))


@invariant("E", source=EQUATION)
def test_gain_is_featurewise(rms_norm: Operation, draw: Draw) -> None:
    """Changing gain i changes feature i alone; a gain of zero gives exactly zero."""
    x, weight, eps = draw_inputs(draw)
    i = draw.integer(0, len(weight) - 1)
    other = weight.copy()
    other[i] = 0.0
    y, changed = rms_norm(x, weight, **eps), rms_norm(x, other, **eps)
    assert_unmoved(changed, y, (..., np.arange(len(weight)) != i))
    silent = changed.value[..., i]
    finite = np.isfinite(silent)  # 0 · NaN, where the row itself overflows
    assert_identical(silent[finite], np.zeros(np.sum(finite)))


@invariant("B", source=EQUATION)
def test_gain_is_linear(rms_norm: Operation, draw: Draw) -> None:
    """rms_norm is linear in the gain: it is the plain normalization times the gain."""
    x, weight, eps = draw_inputs(draw)
    assert_equal(rms_norm(x, weight, **eps), rms_norm(x, np.ones_like(weight), **eps) * weight)


@invariant("B", source=EQUATION, needs=("keyword:eps",))
def test_eps_is_inside_the_root(rms_norm: Operation, draw: Draw) -> None:
    """For |x| far below √ε, y = x g / √ε for the ε that is given. A row of zeros gives exactly zeros."""
    (d,) = draw.dims(d=300)
    eps = draw.one_of(EPS)
    x = draw.held(draw.normal((3, d)) * 2.0**-8 * np.sqrt(eps))
    x[0] = 0.0
    weight = draw.gain(d)
    y, ms = rms_norm(x, weight, eps=eps), np.mean(np.square(exactly(x)), axis=-1, keepdims=True)
    assert_equal(y * y, np.square(exactly(x)) * np.square(exactly(weight)) / (ms + eps))
    assert_identical(y.value[0], np.zeros(d))


@invariant("B", source=EQUATION, needs=("keyword:eps",))
def test_eps_as_given(rms_norm: Operation, draw: Draw) -> None:
    """y²(ms + ε) = x²g², where ms is the mean of x². This holds for every ε from 1e-12 to 1, near ms and far from it, so the
    code uses the ε that is given.
    """
    (d,) = draw.dims(d=300)
    (eps,) = single(10.0 ** draw.rng.uniform(-12, 0)) if "eps" not in rms_norm.domain else (draw.one_of(EPS),)
    x = draw.held(draw.normal((4, d)) * 2.0 ** draw.integer(-8, 3) * np.sqrt(eps))
    weight = draw.gain(d)
    assert_equal(np.square(rms_norm(x, weight, eps=eps)), _square_of_the_result(x, weight, eps))


@invariant("B", source=EQUATION)
def test_gain_before_the_rounding(rms_norm: Operation, draw: Draw) -> None:
    """The gain multiplies before the one rounding to the dtype: y is within half a unit of its last place of the equation."""
    (d,) = draw.dims(d=300)
    x, weight, eps = draw.normal((*draw.batch(MANY_ROWS), d)), draw.normal((d,)), draw.keyword("eps", EPS)
    ms = np.mean(np.square(exactly(x)), axis=-1, keepdims=True)
    assert_equal(rms_norm(x, weight, **eps), exactly(x) / np.sqrt(ms + eps["eps"]) * weight)


@invariant("B", source=EQUATION)
def test_not_centred(rms_norm: Operation, draw: Draw) -> None:
    """A constant row c gives g c / √(c² + ε), not zero: no mean is subtracted."""
    (d,) = draw.dims(d=300)
    c, weight, eps = draw.normal((4, 1), 3.0), draw.gain(d), draw.keyword("eps", EPS)
    expected = weight * exactly(c) / np.sqrt(np.square(exactly(c)) + eps["eps"])
    assert_equal(rms_norm(np.repeat(c, d, axis=-1), weight, **eps), expected)


@invariant("B", source=EQUATION)
def test_odd(rms_norm: Operation, draw: Draw) -> None:
    """rms_norm(−x) = −rms_norm(x)."""
    x, weight, eps = draw_inputs(draw)
    assert_unmoved(rms_norm(-x, weight, **eps), -rms_norm(x, weight, **eps))


@invariant("B", source=EQUATION)
def test_permutation(rms_norm: Operation, draw: Draw) -> None:
    """Permuting the features of x and gain together permutes the result."""
    x, weight, eps = draw_inputs(draw)
    order = draw.rng.permutation(len(weight))
    assert_equal(rms_norm(x[..., order], weight[order], **eps), rms_norm(x, weight, **eps)[..., order])


@invariant("B", source="CS336 assignment 1, the note on upcasting to float32")
def test_float32_inside(rms_norm: Operation, draw: Draw) -> None:
    """The equation holds for entries from 2^-14 to 2^16. Their squares overflow or vanish in float16, but not in float32."""
    (d,) = draw.dims(d=64)
    x, weight = draw.held(draw.rng.choice((1.0, -1.0), (2, d)) * draw.rng.uniform(1, 1.99, (2, d))), draw.gain(d)
    k = draw.one_of((0, 6, 12, 15, -6, -12, -14))
    eps = draw.keyword("eps", (2.0**-20,))
    assert_equal(np.square(rms_norm(x * 2.0**k, weight, **eps)), _square_of_the_result(x * 2.0**k, weight, **eps))


def _square_of_the_result(x: np.ndarray, weight: np.ndarray, eps: float) -> Any:
    """Return the square of rms_norm(x) by the equation, with its error."""
    square = np.square(exactly(x))
    return square / (np.mean(square, axis=-1, keepdims=True) + eps) * np.square(exactly(weight))
