"""Test the oracle's elementwise functions, normalizations, softmax and rope against 60 digits (see sixty_digits.py)."""

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from reference_numpy.gelu import gelu
from reference_numpy.layer_norm import layer_norm
from reference_numpy.log_softmax import log_softmax
from reference_numpy.logsumexp import logsumexp
from reference_numpy.relu import relu
from reference_numpy.rms_norm import rms_norm
from reference_numpy.rope import rope
from reference_numpy.sigmoid import sigmoid
from reference_numpy.silu import silu
from reference_numpy.softmax import softmax

from ..support.sixty_digits import DIGITS, TINY, U, assert_within, evaluate_exactly, rng

# --- elementwise ------------------------------------------------------------------------------------------------------

WIDE = np.concatenate([np.linspace(-38.0, 38.0, 761), np.geomspace(1e-300, 700.0, 401), -np.geomspace(1e-300, 38.0, 401)])


def test_gelu_keeps_its_relative_accuracy_in_the_tail() -> None:
    """The error of 2 u in the argument changes erfc by x^2 + 2 times as much. Subnormal results of erfc add TINY |x|."""
    exact = evaluate_exactly(lambda a: a * mpmath.erfc(-a / mpmath.sqrt(2)) / 2, WIDE)
    size = np.abs(np.array([float(e) for e in exact]))
    assert_within(gelu(WIDE), exact, (2 * np.square(WIDE) + 12) * U * size + (np.abs(WIDE) + 1) * TINY)


@pytest.mark.parametrize("name", ["silu", "sigmoid"])
def test_silu_and_sigmoid_keep_their_relative_accuracy_in_the_tail(name: str) -> None:
    """The formulas consist of e^x, 1 + e^x, a quotient and a product, so nothing cancels."""
    x = np.concatenate([np.linspace(-700.0, 700.0, 1401), WIDE])
    exact = evaluate_exactly(lambda a: (a if name == "silu" else 1) / (1 + mpmath.exp(-a)), x)
    got = silu(x) if name == "silu" else sigmoid(x)
    assert_within(got, exact, 6 * U * np.abs(np.array([float(e) for e in exact])) + TINY)


def test_gelu_tanh_errs_by_units_of_its_argument() -> None:
    """For negative x, 1 + tanh cancels, so the error is relative to |x|.

    tanh errs by 2 u, and by the error 6 u |z| of its argument z times its slope, where |z| (1 - tanh(z)^2) < 0.45. Half of
    that, the sum and two products make 5 u |x|.
    """

    def in_digits(a: Any) -> Any:
        return a * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (a + mpf("0.044715") * a**3))) / 2

    assert_within(gelu(WIDE, approximate="tanh"), evaluate_exactly(in_digits, WIDE), 5 * U * np.abs(WIDE) + TINY)


def test_the_forms_of_gelu_differ_as_documented() -> None:
    x = np.linspace(-10, 10, 200001)
    assert 4.7e-4 < np.max(np.abs(gelu(x) - gelu(x, approximate="tanh"))) < 4.75e-4


def test_relu_is_exact() -> None:
    assert np.array_equal(relu(WIDE), [max(a, 0.0) for a in WIDE])


# --- normalizations ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("d", [1, 7, 256])
def test_rms_norm_at_the_ends_of_float64(scale: float, d: int) -> None:
    """A mean of d squares errs by at most (d + 1) u, its root by half of that and u, the quotient and the gain by 2 u."""
    x, weight = rng(d).standard_normal((3, d)) * scale, rng(1).standard_normal(d)
    eps = 1e-6 * scale * scale
    exact = []
    with mpmath.workdps(DIGITS):
        for row in x:
            root = mpmath.sqrt(sum(mpf(a) ** 2 for a in row) / d + mpf(eps))
            exact += [mpf(a) / root * mpf(g) for a, g in zip(row, weight, strict=True)]
    assert_within(rms_norm(x, weight, eps=eps), exact, ((d + 2) / 2 + 4) * U * np.abs([float(e) for e in exact]))


@pytest.mark.parametrize("offset", [0.0, 1e6, -1e6])
def test_layer_norm_under_a_large_offset(offset: float) -> None:
    """The mean errs by d u times the mean of |x|. Each difference errs by that, and by u of itself.

    Let t be that error in units of the standard deviation. Then the quotient changes by at most t (1 + y^2), and the roundings
    add (d + 8) u |y|.
    """
    d, eps = 64, 1e-5
    x = offset + rng(2).standard_normal((4, d))
    weight, bias = rng(3).standard_normal(d), rng(4).standard_normal(d)
    got = layer_norm(x, weight, bias, eps=eps)
    exact, limit = [], []
    for row in x:
        a = [Fraction(v) for v in row]
        mean = sum(a, Fraction(0)) / d
        variance = sum(((v - mean) ** 2 for v in a), Fraction(0)) / d + Fraction(eps)  # exact: rational numbers
        with mpmath.workdps(DIGITS):
            root = mpmath.sqrt(mpf(variance.numerator) / variance.denominator)
            y = [mpf((v - mean).numerator) / (v - mean).denominator / root for v in a]
            exact += [v * mpf(g) + mpf(b) for v, g, b in zip(y, weight, bias, strict=True)]
        t = d * U * float(np.mean(np.abs(row))) / float(root)
        y64 = np.array([float(v) for v in y])
        limit.append((t * (1 + np.square(y64)) + (d + 8) * U * np.abs(y64)) * np.abs(weight) + U * np.abs(bias) * 2)
    assert_within(got, exact, np.array(limit))


# --- softmax ----------------------------------------------------------------------------------------------------------

ROWS = {
    "600 orders of magnitude": np.linspace(-700.0, 700.0, 29),
    "a large offset": 1e6 + rng(5).standard_normal(29) * 20,
    "a large negative offset": -1e6 + rng(6).standard_normal(29) * 300,
    "one far above the rest": np.array([0.0] * 28 + [700.0]),
    "random": rng(7).standard_normal(29),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_softmax_and_its_logarithms(row: np.ndarray) -> None:
    """The relative errors add up, and a logarithm turns the relative error of the sum into an absolute one.

    The shifted x - m errs by u |x - m|. exp has this as a relative error (in the sum less, as d e^-d < 0.37) and errs by 2 u
    itself. The sum of n terms errs by (n - 1) u, the quotient by u.
    """
    n = len(row)
    with mpmath.workdps(DIGITS):
        terms = [mpmath.exp(mpf(a) - mpf(max(row))) for a in row]
        total = sum(terms)
        log_total = mpmath.log(total)
        p = [t / total for t in terms]
        log_p = [mpf(a) - mpf(max(row)) - log_total for a in row]
        lse = mpf(max(row)) + log_total
    depth, of_sum = np.max(row) - row, n + 6 + 2 * abs(float(log_total))
    size = np.array([float(a) for a in p])
    assert_within(softmax(row, axis=0), p, (depth + n + 8) * U * size + TINY)
    assert_within(log_softmax(row, axis=0), log_p, (2 * depth + 1 + of_sum) * U)
    assert_within(logsumexp(row, axis=0), [lse], (abs(float(lse)) + of_sum) * U)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_softmax_takes_the_axis_that_it_is_given(axis: int) -> None:
    x = rng(8).standard_normal((3, 3, 3))
    moved = np.moveaxis(x, axis, -1)
    assert np.array_equal(softmax(x, axis=axis), np.moveaxis(softmax(np.ascontiguousarray(moved), axis=-1), -1, axis))
    assert logsumexp(x, axis=axis).shape == (3, 3)


@pytest.mark.filterwarnings("error")
def test_logsumexp_of_minus_infinity_alone_is_minus_infinity() -> None:
    x = np.array([[-np.inf, -np.inf], [-np.inf, 3.0]])
    assert np.array_equal(logsumexp(x, axis=1), [-np.inf, 3.0])
    assert np.array_equal(softmax(x[1], axis=0), [0.0, 1.0])
    assert np.array_equal(log_softmax(x[1], axis=0), [-np.inf, 0.0])


# --- rope -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["interleaved", "half"])
@pytest.mark.parametrize("theta", [10000.0, 500000.0])
def test_rope_at_large_positions(layout: str, theta: float) -> None:
    """The error grows with the position p: at p = 1e6 it is less than 1e-9.

    The exponent e errs by u e, the power by ln(theta) times that and by 2 u, the product by u. So the angle p theta^-e errs by
    p theta^-e (e ln(theta) + 3) u <= 3.37 u p. With features up to 1, the result errs by twice as much, and by 10 u more.
    """
    d = 8
    positions = np.array([0, 1, 2047, 131071, 999_999, 1_000_000, -1_000_000])
    x = rng(9).uniform(-1, 1, (len(positions), d))
    first, second = (slice(0, d, 2), slice(1, d, 2)) if layout == "interleaved" else (slice(0, 4), slice(4, 8))
    exact = np.empty((len(positions), d), dtype=object)
    with mpmath.workdps(DIGITS):
        for row, p in enumerate(positions):
            for k in range(d // 2):
                angle = mpf(int(p)) * mpf(theta) ** (-mpf(2 * k) / d)
                a, b, c, s = mpf(x[row, first][k]), mpf(x[row, second][k]), mpmath.cos(angle), mpmath.sin(angle)
                exact[row, first][k], exact[row, second][k] = a * c - b * s, a * s + b * c
    limit = (3.37 * np.abs(positions)[:, None] + 5) * U * 2.0
    assert np.max(limit) < 1e-9
    assert_within(rope(x, positions, theta=theta, layout=layout), list(exact.ravel()), np.broadcast_to(limit, x.shape))
