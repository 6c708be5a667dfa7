"""What must hold of layer_norm."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, assert_unmoved, exactly
from .helpers.rows import draw_row_and_exact_offset, draw_row_shape
from .inputs.draw import EPS, SIZES, Draw, single
from .trials.invariant import invariant

EQUATION = "Ba, Kiros and Hinton 2016, eq. (4); lab 2, section 1.2.1"


def draw_inputs(draw: Draw) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
    """Draw rows of every regime, a gain, a bias and an eps."""
    x = draw.rows(draw_row_shape(draw, d=300))
    return x, draw.gain(x.shape[-1]), draw.gain(x.shape[-1]), draw.keyword("eps", EPS)


def center(values: np.ndarray) -> tuple[Any, Any]:
    """Return the differences from the mean, and the mean of their squares."""
    x: Any = exactly(values)
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return centred, np.mean(np.square(centred), axis=-1, keepdims=True)


def evaluate_equation(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, eps: float) -> Any:
    """Return layer_norm(x) by the equation, with its error."""
    centred, variance = center(x)
    return centred / np.sqrt(variance + eps) * weight + bias


@invariant("B", source=EQUATION)
def test_zero_mean(layer_norm: Operation, draw: Draw) -> None:
    """With gain 1 and bias 0 the mean of y is 0."""
    x, weight, bias, eps = draw_inputs(draw)
    y: Any = layer_norm(x, np.ones_like(weight), np.zeros_like(bias), **eps)
    assert_equal(np.mean(y, axis=-1), 0.0)


@invariant("B", source=EQUATION)
def test_unit_variance(layer_norm: Operation, draw: Draw) -> None:
    """With gain 1 and bias 0 the mean of y² is var / (var + ε), where var is the mean of (x − mean)². It differs from one
    only because of ε.
    """
    x, weight, bias, eps = draw_inputs(draw)
    y = layer_norm(x, np.ones_like(weight), np.zeros_like(bias), **eps)
    variance = center(x)[1][..., 0]
    assert_equal(np.mean(np.square(y), axis=-1), variance / (variance + eps["eps"]))


@invariant("B", source=EQUATION)
def test_biased_variance(layer_norm: Operation, draw: Draw) -> None:
    """A row half of which is c + h and half c − h gives b ± g h/√(h² + ε): the variance divides by d, not by d − 1."""
    d = draw.size("d", tuple(s for s in SIZES if s % 2 == 0))
    h, weight, bias, eps = draw.grid((4, 1)) + 4, draw.gain(d), draw.gain(d), draw.keyword("eps", EPS)
    sign = draw.rng.permutation(np.where(np.arange(d) % 2, 1.0, -1.0))
    expected = sign * (exactly(h) / np.sqrt(np.square(exactly(h)) + eps["eps"])) * weight + bias
    if d % 2 == 0:
        assert_equal(layer_norm(draw.one_of((0.0, 1.0, -5.0)) + sign * h, weight, bias, **eps), expected)


@invariant("B", source=EQUATION)
def test_shift(layer_norm: Operation, draw: Draw) -> None:
    """layer_norm(x + c) = layer_norm(x), also for c far beyond the spread of x, where mean(x²) − mean(x)² cancels."""
    x, c = draw_row_and_exact_offset(draw, draw_row_shape(draw, d=300), (3, 7, 10, 13))
    weight, bias, eps = draw.gain(x.shape[-1]), draw.gain(x.shape[-1]), draw.keyword("eps", EPS)
    assert_equal(layer_norm(x + c, weight, bias, **eps), layer_norm(x, weight, bias, **eps))


@invariant("B", source=EQUATION, needs=("keyword:eps",))
def test_scale(layer_norm: Operation, draw: Draw) -> None:
    """layer_norm(αx; α²ε) = sign(α) layer_norm(x; ε) for bias 0: scaling a row and its ε changes nothing but the sign."""
    x, weight, bias, eps = draw_inputs(draw)
    alpha = draw.one_of((2.0, -1.0, 0.5, 4.0, -8.0, 3.0, -0.75))
    (scaled_eps,) = single(alpha**2 * eps["eps"])
    if scaled_eps == alpha**2 * eps["eps"]:
        zero = np.zeros_like(bias)
        scaled = layer_norm(exactly(x) * alpha, weight, zero, eps=scaled_eps)
        assert_equal(scaled, np.sign(alpha) * layer_norm(x, weight, zero, **eps))


@invariant("B", source=EQUATION, needs=("keyword:eps",))
def test_scale_invariance(layer_norm: Operation, draw: Draw) -> None:
    """At ε = 0, layer_norm(αx) = layer_norm(x) for α > 0."""
    x = draw.normal(draw_row_shape(draw, d=300))
    x[..., 0] += 8  # no row is constant
    weight, bias, alpha = draw.gain(x.shape[-1]), draw.gain(x.shape[-1]), draw.one_of((2.0, 2.0**-6, 64.0))
    if x.shape[-1] > 1:
        assert_equal(layer_norm(draw.held(x) * alpha, weight, bias, eps=0.0), layer_norm(draw.held(x), weight, bias, eps=0.0))


@invariant("B", source=EQUATION)
def test_constant_row(layer_norm: Operation, draw: Draw) -> None:
    """A constant row gives the bias, whatever its size and the gain."""
    size = draw_row_shape(draw, d=300)
    c, weight, bias, eps = draw.normal((*size[:-1], 1), 3.0), draw.gain(size[-1]), draw.gain(size[-1]), draw.keyword("eps", EPS)
    assert_equal(layer_norm(np.broadcast_to(c, size), weight, bias, **eps), np.broadcast_to(bias, size))


@invariant("E", source=EQUATION)
def test_zero_row(layer_norm: Operation, draw: Draw) -> None:
    """A row of zeros gives exactly the bias, for every ε > 0, however small."""
    size = draw_row_shape(draw, d=300)
    bias, eps = draw.gain(size[-1]), draw.keyword("eps", EPS)
    assert_identical(layer_norm(np.zeros(size), draw.gain(size[-1]), bias, **eps), np.broadcast_to(bias, size))


@invariant("B", source=EQUATION)
def test_rms_norm_of_the_centred(layer_norm: Operation, rms_norm: Operation, draw: Draw) -> None:
    """With bias 0, layer_norm(x) = rms_norm(x − mean(x)): here for x = z + c, z of mean 0."""
    x, c = draw_row_and_exact_offset(draw, draw_row_shape(draw, d=300), (3, 7, 10))
    x[..., : x.shape[-1] // 2] = -x[..., x.shape[-1] - x.shape[-1] // 2 :]
    x[..., x.shape[-1] // 2 : x.shape[-1] - x.shape[-1] // 2] = 0.0
    weight, order = draw.gain(x.shape[-1]), draw.rng.permutation(x.shape[-1])
    eps = {"eps": draw.one_of(EPS)} if "eps" not in {*layer_norm.domain, *rms_norm.domain} else draw.keyword("eps", EPS)
    x = x[..., order]
    assert_equal(layer_norm(x + c, weight, np.zeros_like(weight), **eps), rms_norm(x, weight, **eps))


@invariant("E", source=EQUATION)
def test_gain_and_bias_are_featurewise(layer_norm: Operation, draw: Draw) -> None:
    """Changing gain i and bias i changes feature i alone; a gain of zero gives exactly the bias."""
    x, weight, bias, eps = draw_inputs(draw)
    i = draw.integer(0, len(weight) - 1)
    gain, offset = weight.copy(), bias.copy()
    gain[i], offset[i] = 0.0, 1.75
    y, changed = layer_norm(x, weight, bias, **eps), layer_norm(x, gain, offset, **eps)
    assert_unmoved(changed, y, (..., np.arange(len(weight)) != i))
    silent = changed.value[..., i]
    finite = np.isfinite(silent)  # 0 · NaN, where the row itself overflows
    assert_identical(silent[finite], np.full(np.sum(finite), 1.75))


@invariant("B", source=EQUATION)
def test_gain_then_bias(layer_norm: Operation, draw: Draw) -> None:
    """layer_norm is the plain normalization times the gain, and then plus the bias."""
    x, weight, bias, eps = draw_inputs(draw)
    plain = layer_norm(x, np.ones_like(weight), np.zeros_like(bias), **eps)
    assert_equal(layer_norm(x, weight, bias, **eps), plain * weight + bias)


@invariant("B", source=EQUATION, needs=("keyword:eps",))
def test_eps_is_inside_the_root(layer_norm: Operation, draw: Draw) -> None:
    """y = b + (x − mean) g / √(var + ε), for a spread near √ε or far below it, and for the ε that is given, from 1e-12 to 1."""
    size = draw_row_shape(draw, d=300)
    (eps,) = single(10.0 ** draw.rng.uniform(-12, 0)) if draw.one_of((True, False)) else (draw.one_of(EPS),)
    spread = np.sqrt(eps) * 2.0 ** draw.rng.integers(-8, 3, (*size[:-1], 1))
    x, weight, bias = draw.held(draw.normal(size) * spread), draw.gain(size[-1]), draw.gain(size[-1]) / 64
    assert_equal(layer_norm(x, weight, draw.held(bias), eps=eps), evaluate_equation(x, weight, draw.held(bias), eps))


@invariant("B", source=EQUATION)
def test_odd(layer_norm: Operation, draw: Draw) -> None:
    """layer_norm(−x; −b) = −layer_norm(x; b)."""
    x, weight, bias, eps = draw_inputs(draw)
    assert_unmoved(layer_norm(-x, weight, -bias, **eps), -layer_norm(x, weight, bias, **eps))


@invariant("B", source=EQUATION)
def test_permutation(layer_norm: Operation, draw: Draw) -> None:
    """Permuting the features of x, gain and bias together permutes the result."""
    x, weight, bias, eps = draw_inputs(draw)
    order = draw.rng.permutation(len(weight))
    permuted = layer_norm(x[..., order], weight[order], bias[order], **eps)
    assert_equal(permuted, layer_norm(x, weight, bias, **eps)[..., order])


@invariant("B", source=EQUATION)
def test_one_rounding(layer_norm: Operation, draw: Draw) -> None:
    """Gain and bias are applied before the one rounding to the dtype: y is within half a unit of its last place."""
    size = draw_row_shape(draw, d=300)
    x, weight, eps = draw.normal(size), draw.normal((size[-1],)), draw.keyword("eps", EPS)
    bias = draw.held(draw.normal((size[-1],)) * draw.one_of((0.0, 1.0)))
    assert_equal(layer_norm(x, weight, bias, **eps), evaluate_equation(x, weight, bias, eps["eps"]))


@invariant("B", source="CS336 assignment 1, the note on upcasting to float32")
def test_float32_inside(layer_norm: Operation, draw: Draw) -> None:
    """The equation holds for entries from 2^-14 to 2^16. Their squares overflow or vanish in float16, but not in float32."""
    (d,) = draw.dims(d=64)
    k = draw.one_of((0, 6, 12, 15, -6, -12, -14))
    x = draw.held(draw.rng.choice((1.0, -1.0), (2, d)) * draw.rng.uniform(1, 1.9, (2, d))) * 2.0**k
    weight, bias, eps = draw.gain(d), draw.gain(d), draw.keyword("eps", (2.0**-20,))
    assert_equal(layer_norm(x, weight, bias, **eps), evaluate_equation(x, weight, bias, eps["eps"]))
