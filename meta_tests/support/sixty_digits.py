"""The oracle against 60 decimal digits: its errors are a few units of 2**-53, as derived beside each limit.

In the derivations u = 2**-53, a float64 operation errs by u of its result, and exp, log, sin, cos, tanh, erfc and power
of NumPy and the C library by 2 u (one unit in the last place) except where said; the factors leave room for it.
"""

from typing import Any

import mpmath
import numpy as np
from mpmath import mpf

U = 2.0**-53
TINY = 2.0**-1074  # the spacing of float64's subnormals: an absolute error where results underflow
DIGITS = 60


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def errors(got: Any, exact: Any) -> np.ndarray:
    """|got - exact| for a flat list of 60-digit numbers, computed with 60 digits."""
    got = np.ravel(got)
    assert len(got) == len(exact)
    with mpmath.workdps(DIGITS):
        return np.array([float(abs(mpf(float(g)) - e)) for g, e in zip(got, exact, strict=True)])


def assert_within(got: Any, exact: Any, limit: Any) -> None:
    error = errors(got, exact)
    limit = np.broadcast_to(np.ravel(limit), error.shape)
    assert np.all(error <= limit), f"{np.max(error / limit):.3g} times the limit at {np.argmax(error / limit)}"


def digits(function: Any, x: Any) -> list[Any]:
    with mpmath.workdps(DIGITS):
        return [function(mpf(float(a))) for a in np.ravel(x)]
