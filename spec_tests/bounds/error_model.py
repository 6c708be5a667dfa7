"""The error model: how large an error one step of floating-point arithmetic may add, with the source of each constant.

Both number types use this table. `Bounded` adds the errors up; `Sample` draws their signs.
Elementary functions may err by as much as OpenCL C (3.0, section 7.4, "Relative error as ULPs") allows in single and double
precision; CUDA's own functions meet these limits. exp may err by Vulkan's 3 + 2|x| ulp, because kernels compute exp2(x log2 e).
One ulp is at most 2u. No constant was tuned to an implementation.

An error function takes the size z of the result and the operands, and returns an absolute error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ..specification.formats import FORMATS, Arithmetic, Format

MAX_ERROR_ULPS = MappingProxyType(
    {"divide": 2.5, "sqrt": 3, "exp": 3, "log": 3, "sin": 4, "cos": 4, "tanh": 5, "power": 16, "erf": 16}
)
ROUNDINGS = MappingProxyType(
    {name: 2 * ulps for name, ulps in MAX_ERROR_ULPS.items()}
)  # the same errors in units of the unit roundoff u


def saturation(f: Format) -> float:
    """Return the argument beyond which exp(-x) is smaller than any rounding error, so that 1 + e^-x and the like are exact."""
    return -math.log(f.tiny) - math.log(f.u)


def normal_density(x: Any) -> Any:
    """Return the standard normal density."""
    return np.exp(-np.square(x) / 2) / math.sqrt(2 * math.pi)


def _one_rounding(z: Any, *_: Any, f: Format) -> Any:
    """Return the error of a correctly rounded result."""
    return z


def _relative_error(name: str) -> Callable[..., Any]:
    """Make the error function of an elementary function whose error is relative to its result."""
    return lambda z, *_, f: ROUNDINGS[name] * z


def _absolute_error(name: str) -> Callable[..., Any]:
    """Make the error function of an elementary function whose error is relative to 1, whatever its result."""
    return lambda z, *_, f: np.full(np.shape(z), ROUNDINGS[name])


def _exp_error(z: Any, x: Any, *, f: Format) -> Any:
    """Return (6 + 4|x|) z, but no error at 0: every standard of elementary functions requires exp(0) to be exactly 1.

    A z that is 0 in float64 may be its smallest number in code of float64 that rounds x otherwise, or that shifts it.
    """
    size = np.where(x == 0, 0.0, (ROUNDINGS["exp"] + 4 * np.where(np.isinf(x), 0.0, np.abs(x))) * z)
    if f.precision < FORMATS["float64"].precision:
        return size
    return np.where((size == 0) & (x != 0) & ~np.isinf(x), f.quantum / f.u, size)


def _power_error(z: Any, base: Any, exponent: Any, *, f: Format) -> Any:
    """Return the error of a power."""
    return np.where(exponent == 0, 0.0, ROUNDINGS["power"] * z)  # x**0 is exactly 1


def _tanh_error(z: Any, x: Any, *, f: Format) -> Any:
    """Return the error of tanh, which is exactly ±1 in the tails."""
    return np.where(2 * np.abs(x) > saturation(f), 0.0, ROUNDINGS["tanh"] * np.abs(z))


def beside_one_error(t: Any, arithmetic: Arithmetic) -> Any:
    """Return what 1 ± t may err by beyond the error of t = tanh(x), where it is computed by the exponential function.

    With s = σ(2x) = (1 + t) / 2 the forms are 2s - 1 and 1 - 2 / (e^2x + 1) = 1 - 2 (1 - s). The quotient and the sum err by
    5 + 1 in units of u, the exponential by 6 + 8|x|, and each form rounds once more: at most
    14 max(s, 1 - s) + 2 s (1 - s) (6 + 8|x|) in all. tanh errs by 10|t| already. Unfused code stores e^2x, e^2x + 1, the
    quotient and 2s - 1. Where t is ±1 in float64, e^-2|x| is 0 beside 1, and all forms are exact.
    """
    size = np.minimum(np.abs(t), 1.0)
    x = np.arctanh(np.where(size < 1, size, 0.0))
    larger = (1 + size) / 2  # of s and 1 - s
    by_exp = 2 * larger * (ROUNDINGS["divide"] + 2) + 2 * larger * (1 - larger) * (ROUNDINGS["exp"] + 8 * x)
    error = np.maximum(by_exp - ROUNDINGS["tanh"] * size, 0.0) * arithmetic.compute.u
    if arithmetic.step_storage is not None:
        error = error + 2 * larger * (3 - larger) * arithmetic.step_storage.u
    return np.where(size < 1, error, 0.0)


def _logistic_error(z: Any, x: Any, *, f: Format) -> Any:
    """Return the error of two formulas together: 1 / (1 + e^-x), and (1 + tanh(x/2)) / 2, whose error is relative to 1."""
    size = np.where(np.isinf(x), 0.0, np.abs(x))
    complement = np.maximum(1 - z, 0)  # z includes the inherited error and may exceed 1
    by_exp = z * (ROUNDINGS["divide"] + 2 + complement * (ROUNDINGS["exp"] + 4 * size))
    by_tanh = np.where(size > saturation(f), 0.0, ROUNDINGS["tanh"] / 2)
    return by_exp + by_tanh


def _normal_cdf_error(z: Any, x: Any, *, f: Format) -> Any:
    """Return the error of (1 + erf(x/√2)) / 2, which is relative to 1 in the lower tail too."""
    by_erf = np.where(np.square(x) / 2 > saturation(f), 0.0, ROUNDINGS["erf"] / 2)
    return by_erf + z + 2 * np.abs(x) * normal_density(x)


# The absolute error of each step, in units of u of the compute format f.
STEP_ERRORS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "add": _one_rounding,
        "subtract": _one_rounding,
        "multiply": _one_rounding,
        "square": _one_rounding,
        "divide": _relative_error("divide"),
        "sqrt": _relative_error("sqrt"),
        "exp": _exp_error,
        "log": _relative_error("log"),
        "sin": _absolute_error("sin"),
        "cos": _absolute_error("cos"),
        "tanh": _tanh_error,
        "power": _power_error,
        "logistic": _logistic_error,
        "normal_cdf": _normal_cdf_error,
    }
)


def logsumexp_roundings(scores: Any, axis: int) -> Any:
    """Return the error of the exponent in exp(s - logsumexp(s)) beyond that of softmax, in units of u.

    With the maximum m and l = sum(exp(s - m)), it consists of the rounding of m + log(l), which is as large as the scores, the
    error of the logarithm, and the rounding of a difference that is larger by log(l).
    """
    m = np.max(scores, axis=axis, keepdims=True)
    log = np.log(np.sum(np.exp(scores - m), axis=axis, keepdims=True))
    return np.where(np.isfinite(m), np.abs(m + log) + (ROUNDINGS["log"] + 1) * log, 0.0)


def _eager_logistic_error(z: Any, x: Any, f: Format) -> Any:
    """Return the error of storing e^-x, 1 + e^-x and the quotient. Where e^-x may overflow, the quotient may be zero."""
    return np.where(-x > math.log(f.max) - 1, z, (1 + z * (3 - z)) * f.u)


def _eager_normal_cdf_error(z: Any, x: Any, f: Format) -> Any:
    """Return the error of storing x/√2, its erf, 1 + erf and half of that."""
    return (1 + 2 * z + 2 * np.abs(x) * normal_density(x)) * f.u


# The further absolute error of steps that are several operations in unfused code, which stores each result in the format f.
EAGER_ERRORS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "logistic": _eager_logistic_error,
        "normal_cdf": _eager_normal_cdf_error,
    }
)
