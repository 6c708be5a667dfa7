"""The matrix-valued optimizer of the oracle, compared with 60 digits."""

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from reference_numpy.muon_step import muon_step
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


@pytest.mark.parametrize("nesterov", [True, False])
@pytest.mark.parametrize(("adjust", "factor"), [("original", (5 / 3) ** 0.5), ("match_rms_adamw", 0.2 * 5**0.5)])
def test_muon_step(nesterov: bool, adjust: str, factor: float) -> None:
    """A step of the three matrices with newton_schulz itself, each entry of which is at most 2."""
    p, g, m = rng(7).standard_normal((3, 5, 3))
    after, buffer = muon_step(p, g, m, learning_rate=0.1, momentum=0.75, nesterov=nesterov, weight_decay=0.5, adjust=adjust)
    averaged = 0.75 * m + 0.25 * g
    assert np.array_equal(buffer, averaged)
    update = newton_schulz(0.75 * averaged + 0.25 * g if nesterov else averaged)
    assert np.max(np.abs(after - (0.95 * p - 0.1 * factor * update))) <= 20 * U


def test_an_unknown_adjustment_is_named() -> None:
    with pytest.raises(ValueError, match="adamw"):
        muon_step([[1.0]], [[1.0]], [[1.0]], learning_rate=0.1, adjust="adamw")
