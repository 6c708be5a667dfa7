"""Arrays of 60-digit numbers, with which the reference's code computes, and directional derivatives by central differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
from mpmath import mpf

from spec_tests.specification.formats import is_floating
from spec_tests.specification.pytree import tree_map

from .sixty_digits import DIGITS

STEP = mpf(10) ** -20  # the error of a central difference is proportional to its square, 1e-40


def _vectorize(f: Callable[[Any], Any], inputs: int = 1) -> Callable[..., Any]:
    return np.frompyfunc(f, inputs, 1)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": _vectorize(mpmath.exp),
    "log": _vectorize(mpmath.log),
    "sqrt": _vectorize(mpmath.sqrt),
    "sin": _vectorize(mpmath.sin),
    "cos": _vectorize(mpmath.cos),
    "tanh": _vectorize(mpmath.tanh),
    "square": _vectorize(lambda x: x * x),
    "power": _vectorize(lambda x, y: mpf(x) ** y, 2),
}


def _to_mpf(x: Any) -> Any:
    return np.vectorize(lambda a: mpf(float(a)), otypes=[object])(x) if np.size(x) else np.asarray(x, dtype=object)


class Precise(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of mpmath numbers with the functions and marks that the reference uses."""

    def __init__(self, value: Any):
        self.value = np.asarray(value, dtype=object)

    shape = property(lambda self: self.value.shape)
    ndim = property(lambda self: self.value.ndim)

    @classmethod
    def from_floats(cls, x: Any) -> Precise:
        return cls(_to_mpf(x))

    def __getitem__(self, index: Any) -> Precise:
        return Precise(self.value[index])

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **options: Any) -> Any:
        values = [a.value if isinstance(a, Precise) else _to_mpf(a) for a in args]
        return Precise(FUNCTIONS.get(ufunc.__name__, ufunc)(*values))

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        def unwrap(x: Any) -> Any:
            return [unwrap(item) for item in x] if isinstance(x, list) else x.value if isinstance(x, Precise) else x

        return Precise(function(*map(unwrap, args), **options))

    def logistic(self) -> Precise:
        return 1 / (1 + np.exp(-self))

    def normal_cdf(self) -> Precise:
        return Precise(_vectorize(mpmath.ncdf)(self.value))

    def finite_or_zero(self) -> Precise:
        return self

    def above_minus_infinity(self) -> np.ndarray:
        return np.asarray(self.value != mpf("-inf"), dtype=bool)


def to_precise(tree: Any) -> Any:
    """Turn every floating-point array of the tree into a Precise one."""
    return tree_map(lambda x: Precise.from_floats(x) if is_floating(x) else x, tree)


def directional_derivative(function: Callable[[Any], Any], x: np.ndarray, direction: np.ndarray, cotangent: np.ndarray) -> Any:
    """Return d/dt of the sum of cotangent * function(x + t direction) at t = 0."""
    with mpmath.workdps(DIGITS):
        ends = (function(Precise.from_floats(x) + sign * STEP * Precise.from_floats(direction)) for sign in (1, -1))
        up, down = (np.sum(_to_mpf(cotangent) * end.value) for end in ends)
        return (up - down) / (2 * STEP)
