"""The matrix-valued optimizer of the oracle, compared with 60 digits."""

import mpmath
import pytest
from mpmath import mpf

from reference_numpy.newton_schulz import newton_schulz

from ..support.sixty_digits import DIGITS, U, assert_within, rng

COEFFICIENTS = (3.4445, -4.775, 2.0315)


@pytest.mark.parametrize(("m", "n"), [(3, 5), (5, 3), (4, 4), (1, 3), (1, 1)])
def test_newton_schulz(m: int, n: int) -> None:
    """A rounding grows by a + 3|b| s^2 + 5|c| s^4 < 30 in a step at most, by 3.5 where s is small: 1000 u a step are enough."""
    x = rng(m + 10 * n).standard_normal((m, n))
    with mpmath.workdps(DIGITS):
        a, b, c = map(mpf, COEFFICIENTS)
        y = mpmath.matrix(x.tolist())
        y = y / (mpmath.sqrt(sum(entry**2 for entry in y)) + mpf(1e-7))
        for _ in range(5):
            gram = y * y.T
            y = a * y + (b * gram + c * gram * gram) * y
        assert_within(newton_schulz(x), [y[i, j] for i in range(m) for j in range(n)], 5000 * U)
