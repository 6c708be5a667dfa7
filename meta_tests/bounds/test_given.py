"""Test the bounds of products and quotients with numbers that are given, against the ends of the intervals that they allow."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from reference_numpy._marks import answered, product, quotient
from spec_tests.bounds.answers import judged_at
from spec_tests.bounds.bounded import Bounded
from spec_tests.specification.formats import Arithmetic

FLOAT32 = Arithmetic.of("float32", "fused")
U = Fraction(1, 2**24)


def number(value: float, error: float = 0.0) -> Bounded:
    return Bounded(np.array([value]), np.array([error]), FLOAT32)


@pytest.mark.parametrize("relative", [2.0**-24, 2.0**-12, 0.0625, 0.3, 0.9])
@pytest.mark.parametrize(("given", "roundings"), [(3.0, 2), (4.0, 2), (0.1, 6)])
def test_every_number_that_an_uncertain_divisor_allows_is_within_the_bound(relative: float, given: float, roundings: int) -> None:
    x, divisor = number(5.0, 0.01), number(given, relative * given)
    y = quotient(x, divisor, roundings=roundings)
    value, error = (Fraction(part.item()) for part in (y.value, y.error))
    ends = [[Fraction(z.value.item()) + side * Fraction(z.error.item()) for side in (-1, 1)] for z in (x, divisor)]
    units = 1 if given == 4.0 else (1 + U) ** roundings
    largest = max(units * a / b for a, b in itertools.product(*ends))
    assert largest <= (value + error) * (1 + Fraction(1, 2**48))
    assert error <= (largest - value) * (1 + Fraction(1, 2**20))  # and no more than that


def test_nothing_is_claimed_of_a_divisor_that_may_be_zero() -> None:
    assert np.isinf(quotient(number(5.0), number(3.0, 3.0), roundings=2).error)


@pytest.mark.parametrize("relative", [2.0**-24, 0.0625, 1.0, 3.0])
def test_every_number_that_an_uncertain_factor_allows_is_within_the_bound(relative: float) -> None:
    y = product(number(5.0, 0.01), number(3.0, 3 * relative), roundings=2)
    largest = Fraction(5.01) * Fraction(3) * (1 + Fraction(relative)) * (1 + U) ** 2
    assert abs(Fraction(y.value.item()) + Fraction(y.error.item()) - largest) <= largest / 2**40


def test_a_power_of_two_that_was_rounded_to_leaves_the_errors_of_a_quotient() -> None:
    """No quotient of a number of 24 bits and qmax is so near to a power of two that float64 takes it for one."""
    for found, exact, units in ((0.5, 0.5, 0), (0.5, 0.5 * (1 + 2.0**-24), 4), (0.75, 0.75 * (1 + 2.0**-24), 0)):
        with judged_at({"scale": np.array([found])}):
            scale = answered(number(exact, 2.0**-23), "scale", least=0.0, roundings=4)
        assert scale.value == found
        assert scale.error == pytest.approx(units * 2.0**-24 * found, rel=1e-6)
    for largest in (448.0, 57344.0, 127.0, 240.0, 28.0, 6.0, 7.5, 255.0):
        a = np.float32(largest) * np.float32(2.0) ** np.arange(-3, 4, dtype=np.float32)
        near = np.concatenate([np.nextafter(a, np.float32(np.inf)), np.nextafter(a, np.float32(0))]).astype(np.float64)
        assert np.all(np.abs(np.frexp(near / largest)[0]) != 0.5)
