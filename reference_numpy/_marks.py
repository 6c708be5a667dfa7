"""What the equations need beside NumPy: entry into float64, three functions, and ten marks.

A mark changes no value. It says what an implementation may do at that place, and only a number type that
carries an error bound (it brings a method of the mark's name) takes notice.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

_erfc = np.vectorize(math.erfc, otypes=[float])


def float64(x: Any) -> Any:
    """Return x as a float64 array, whatever it came as; number types of one's own pass through."""
    own_type = hasattr(x, "__array_ufunc__") and not isinstance(x, np.ndarray | np.generic)
    return x if own_type else np.asarray(x, dtype=np.float64)


def logistic(x: Any) -> Any:
    """1 / (1 + e^-x), with the exponential of -|x| alone, so that nothing overflows."""
    if hasattr(x, "logistic"):
        return x.logistic()
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, e) / (1 + e)


def normal_cdf(x: Any) -> Any:
    """Φ(x) = erfc(-x/√2) / 2: accurate in the lower tail, where (1 + erf(x/√2)) / 2 cancels."""
    if hasattr(x, "normal_cdf"):
        return x.normal_cdf()
    return _erfc(-x / math.sqrt(2)) / 2


def finite_or_zero(x: Any) -> Any:
    """Return x where it is finite, else 0: the shift of logsumexp, so that a row of -inf is not -inf - (-inf)."""
    if hasattr(x, "finite_or_zero"):
        return x.finite_or_zero()
    return np.where(np.isfinite(x), x, 0.0)


def rounded(x: Any) -> Any:
    """Mark a tensor that may be stored in the dtype of the inputs (precision class mixed)."""
    return x.rounded() if hasattr(x, "rounded") else x


def joined(total: Any, term: Any, *, n: int) -> Any:
    """Return total + term, where the term may have been the first of the n + 1 summed: each addition then carried it."""
    return total.joined(term, n) if hasattr(total, "joined") else total + term


def eager(x: Any) -> Any:
    """Mark a tensor that may be stored in the dtype of the inputs, but only by unfused code (precision class eager)."""
    return x.eager() if hasattr(x, "eager") else x


def wide(x: Any) -> Any:
    """Mark what is computed in float32 or wider in every class, whatever the dtype of the inputs: an angle."""
    return x.wide() if hasattr(x, "wide") else x


def exact(x: Any) -> Any:
    """An error here cannot matter: what is subtracted now is given back later."""
    return x.exact() if hasattr(x, "exact") else x


def positive(x: Any) -> Any:
    """1 where x is positive, else 0: the slope of the rectifier, of which nothing is known at 0."""
    return x.positive() if hasattr(x, "positive") else np.where(x > 0, 1.0, 0.0)


def piled(x: Any, *, axis: int) -> Any:
    """Return the sum of terms that arrive one by one: unfused 16-bit code adds each to a total of its own dtype."""
    return x.piled(axis) if hasattr(x, "piled") else np.sum(x, axis=axis)


def through_maximum(dx: Any, left: Any, x: Any, *, axis: int) -> Any:
    """Return dx. Where x - max(x) is differentiated as it stands, the largest entry's is less by what is left: 0, but for the
    roundings."""
    return dx.through_maximum(left, x, axis) if hasattr(dx, "through_maximum") else dx


def through_quotient(x: Any) -> Any:
    """Return x. Where e / sum(e) is differentiated as it stands, x is divided by the sum and then multiplied by e, which the
    equation does in one step: two roundings more."""
    return x.through_quotient() if hasattr(x, "through_quotient") else x


def recomputed(scores: Callable[..., Any], *operands: Any, axis: int) -> Any:
    """1: exp(s - logsumexp(s)) over softmax(s), for the scores s of these operands. They are computed a second time, in another
    order than the logsumexp's, which was kept in float32 or wider: its rounding is as large as the scores."""
    x = operands[0]
    return x.recomputed(scores, operands, axis) if hasattr(x, "recomputed") else 1.0
