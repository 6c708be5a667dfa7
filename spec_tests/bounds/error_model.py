"""What one step of floating-point arithmetic may add: the constants of the error model, each with its source.

Both number types use this table: `Bounded` adds the amounts up, `Sample` draws their signs.
The elementary functions may err by as much as OpenCL C (3.0, section 7.4, "Relative error as ULPs") allows in single and
double precision, which CUDA's own functions meet; exp by Vulkan's 3 + 2|x| ulp, since kernels compute exp2(x log2 e).
One ulp is at most 2u. Nothing here was tuned to an implementation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..specification.formats import Format

MAX_ERROR_ULPS = {"divide": 2.5, "sqrt": 3, "exp": 3, "log": 3, "sin": 4, "cos": 4, "tanh": 5, "power": 16, "erf": 16}
ROUNDINGS = {name: 2 * ulps for name, ulps in MAX_ERROR_ULPS.items()}  # in units of u


def saturation(f: Format) -> float:
    """Beyond this argument exp(-x) is nothing, not even a rounding error: 1 + e^-x and the like are exact."""
    return -math.log(f.tiny) - math.log(f.u)


def normal_density(x: Any) -> Any:
    return np.exp(-np.square(x) / 2) / math.sqrt(2 * math.pi)


def _one_rounding(z: Any, *_: Any, f: Format) -> Any:
    return np.abs(z)


def _relative_error(name: str) -> Callable[..., Any]:
    return lambda z, *_, f: ROUNDINGS[name] * np.abs(z)


def _absolute_error(name: str) -> Callable[..., Any]:
    return lambda z, *_, f: np.full(np.shape(z), ROUNDINGS[name])


def _exp_error(z: Any, x: Any, *, f: Format) -> Any:
    """Nothing at 0: exp(0) is exactly 1, as every standard of elementary functions demands."""
    return np.where(x == 0, 0.0, (ROUNDINGS["exp"] + 4 * np.where(np.isinf(x), 0.0, np.abs(x))) * z)


def _power_error(z: Any, base: Any, exponent: Any, *, f: Format) -> Any:
    return np.where(exponent == 0, 0.0, ROUNDINGS["power"] * z)  # x**0 is exactly 1


def _tanh_error(z: Any, x: Any, *, f: Format) -> Any:
    return np.where(2 * np.abs(x) > saturation(f), 0.0, ROUNDINGS["tanh"] * np.abs(z))


def _logistic_error(z: Any, x: Any, *, f: Format) -> Any:
    """As 1 / (1 + e^-x), or as (1 + tanh(x/2)) / 2, which is accurate to ulps of 1 only."""
    size = np.where(np.isinf(x), 0.0, np.abs(x))
    other = np.maximum(1 - z, 0)  # the error that z carries may lead beyond 1
    by_exp = z * (ROUNDINGS["divide"] + 2 + other * (ROUNDINGS["exp"] + 4 * size))
    by_tanh = np.where(size > saturation(f), 0.0, ROUNDINGS["tanh"] / 2)
    return by_exp + by_tanh


def _normal_cdf_error(z: Any, x: Any, *, f: Format) -> Any:
    """As (1 + erf(x/√2)) / 2: accurate to ulps of 1 in the lower tail too."""
    by_erf = np.where(np.square(x) / 2 > saturation(f), 0.0, ROUNDINGS["erf"] / 2)
    return by_erf + z + 2 * np.abs(x) * normal_density(x)


STEP_ERRORS: dict[str, Callable[..., Any]] = {  # the absolute error of each step, in units of u of the compute format
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


def logsumexp_roundings(scores: Any, axis: int) -> Any:
    """How many roundings exp(s - logsumexp(s)) has beyond those of softmax: that of m + log(l), which is as large as the scores;
    the logarithm's; and that of a difference which is larger by log(l)."""
    m = np.max(scores, axis=axis, keepdims=True)
    log = np.log(np.sum(np.exp(scores - m), axis=axis, keepdims=True))
    return np.where(np.isfinite(m), np.abs(m + log) + (ROUNDINGS["log"] + 1) * log, 0.0)


def _eager_logistic_error(z: Any, x: Any, f: Format) -> Any:
    """e^-x, 1 + e^-x and the quotient each stored; and where e^-x overflows, the quotient is zero."""
    return np.where(-x > math.log(f.max) - 1, z, (1 + z * (3 - z)) * f.u)


def _eager_normal_cdf_error(z: Any, x: Any, f: Format) -> Any:
    """x/√2, the erf, 1 + erf and its half each stored."""
    return (1 + 2 * z + 2 * np.abs(x) * normal_density(x)) * f.u


EAGER_ERRORS: dict[str, Callable[..., Any]] = {
    "logistic": _eager_logistic_error,
    "normal_cdf": _eager_normal_cdf_error,
}  # the steps that are several when unfused
