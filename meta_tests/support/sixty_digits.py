"""Compare the oracle with results computed with 60 decimal digits. Its errors are a few times u = 2**-53.

Each limit is derived beside it. The derivations assume that a float64 operation has a relative error of at most u, and that exp,
log, sin, cos, tanh, erfc and power of NumPy and the C library have at most 2 u (one unit in the last place), if nothing else is
said. The factors leave room for that.
"""

from typing import Any

import mpmath
import numpy as np
from mpmath import mpf

U = 2.0**-53
TINY = 2.0**-1074  # the spacing of float64's subnormals: the absolute error of results that underflow
DIGITS = 60


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def errors(got: Any, exact: Any) -> np.ndarray:
    """Return |got - exact|, computed with 60 digits; `exact` is a flat list of such numbers."""
    got = np.ravel(got)
    assert len(got) == len(exact)
    with mpmath.workdps(DIGITS):
        return np.array([float(abs(mpf(float(g)) - e)) for g, e in zip(got, exact, strict=True)])


def assert_within(got: Any, exact: Any, limit: Any) -> None:
    """Assert that |got - exact| <= limit in every element."""
    error = errors(got, exact)
    limit = np.broadcast_to(np.ravel(limit), error.shape)
    assert np.all(error <= limit), f"{np.max(error / limit):.3g} times the limit at {np.argmax(error / limit)}"


def evaluate_exactly(function: Any, x: Any) -> list[Any]:
    """Evaluate an mpmath function with 60 digits on every element of x."""
    with mpmath.workdps(DIGITS):
        return [function(mpf(float(a))) for a in np.ravel(x)]
