"""Arrays of 60-digit numbers on which the reference's own lines run, and the slopes that their central differences give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
from mpmath import mpf

from spec_tests.specification.formats import is_floating
from spec_tests.specification.pytree import tree_map

from .sixty_digits import DIGITS

STEP = mpf(10) ** -20  # a central difference errs by its square: 1e-40


def _elementwise(f: Callable[[Any], Any], inputs: int = 1) -> Callable[..., Any]:
    return np.frompyfunc(f, inputs, 1)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": _elementwise(mpmath.exp),
    "log": _elementwise(mpmath.log),
    "sqrt": _elementwise(mpmath.sqrt),
    "sin": _elementwise(mpmath.sin),
    "cos": _elementwise(mpmath.cos),
    "tanh": _elementwise(mpmath.tanh),
    "square": _elementwise(lambda x: x * x),
    "power": _elementwise(lambda x, y: mpf(x) ** y, 2),
}


def _exact(x: Any) -> Any:
    return np.vectorize(lambda a: mpf(float(a)), otypes=[object])(x) if np.size(x) else np.asarray(x, dtype=object)


class Precise(np.lib.mixins.NDArrayOperatorsMixin):
    def __init__(self, value: Any):
        self.value = np.asarray(value, dtype=object)

    shape = property(lambda self: self.value.shape)
    ndim = property(lambda self: self.value.ndim)

    @classmethod
    def of(cls, x: Any) -> Precise:
        return cls(_exact(x))

    def __getitem__(self, index: Any) -> Precise:
        return Precise(self.value[index])

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **options: Any) -> Any:
        values = [a.value if isinstance(a, Precise) else _exact(a) for a in args]
        return Precise(FUNCTIONS.get(ufunc.__name__, ufunc)(*values))

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        def bare(x: Any) -> Any:
            return [bare(item) for item in x] if isinstance(x, list) else x.value if isinstance(x, Precise) else x

        return Precise(function(*map(bare, args), **options))

    def logistic(self) -> Precise:
        return 1 / (1 + np.exp(-self))

    def normal_cdf(self) -> Precise:
        return Precise(_elementwise(mpmath.ncdf)(self.value))

    def finite_or_zero(self) -> Precise:
        return self


def raised(tree: Any) -> Any:
    return tree_map(lambda x: Precise.of(x) if is_floating(x) else x, tree)


def slope(function: Callable[[Any], Any], x: np.ndarray, direction: np.ndarray, cotangent: np.ndarray) -> Any:
    """d/dt of the sum of cotangent * function(x + t direction), at t = 0."""
    with mpmath.workdps(DIGITS):
        ends = (function(Precise.of(x) + sign * STEP * Precise.of(direction)) for sign in (1, -1))
        up, down = (np.sum(_exact(cotangent) * end.value) for end in ends)
        return (up - down) / (2 * STEP)
