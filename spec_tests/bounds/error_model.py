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

ULPS = {"divide": 2.5, "sqrt": 3, "exp": 3, "log": 3, "sin": 4, "cos": 4, "tanh": 5, "power": 16, "erf": 16}
ROUNDINGS = {name: 2 * ulps for name, ulps in ULPS.items()}  # in units of u


def saturation(f: Format) -> float:
    """Beyond this argument exp(-x) is nothing, not even a rounding error: 1 + e^-x and the like are exact."""
    return -math.log(f.tiny) - math.log(f.u)


def density(x: Any) -> Any:
    return np.exp(-np.square(x) / 2) / math.sqrt(2 * math.pi)


def _once(z: Any, *_: Any, f: Format) -> Any:
    return np.abs(z)


def _relative(name: str) -> Callable[..., Any]:
    return lambda z, *_, f: ROUNDINGS[name] * np.abs(z)


def _absolute(name: str) -> Callable[..., Any]:
    return lambda z, *_, f: np.full(np.shape(z), ROUNDINGS[name])


def _exp(z: Any, x: Any, *, f: Format) -> Any:
    """Nothing at 0: exp(0) is exactly 1, as every standard of elementary functions demands."""
    return np.where(x == 0, 0.0, (ROUNDINGS["exp"] + 4 * np.where(np.isinf(x), 0.0, np.abs(x))) * z)


def _power(z: Any, base: Any, exponent: Any, *, f: Format) -> Any:
    return np.where(exponent == 0, 0.0, ROUNDINGS["power"] * z)  # x**0 is exactly 1


def _tanh(z: Any, x: Any, *, f: Format) -> Any:
    return np.where(2 * np.abs(x) > saturation(f), 0.0, ROUNDINGS["tanh"] * np.abs(z))


def _logistic(z: Any, x: Any, *, f: Format) -> Any:
    """As 1 / (1 + e^-x), or as (1 + tanh(x/2)) / 2, which is accurate to ulps of 1 only."""
    size = np.where(np.isinf(x), 0.0, np.abs(x))
    other = np.maximum(1 - z, 0)  # the error that z carries may lead beyond 1
    by_exp = z * (ROUNDINGS["divide"] + 2 + other * (ROUNDINGS["exp"] + 4 * size))
    by_tanh = np.where(size > saturation(f), 0.0, ROUNDINGS["tanh"] / 2)
    return by_exp + by_tanh


def _normal_cdf(z: Any, x: Any, *, f: Format) -> Any:
    """As (1 + erf(x/√2)) / 2: accurate to ulps of 1 in the lower tail too."""
    by_erf = np.where(np.square(x) / 2 > saturation(f), 0.0, ROUNDINGS["erf"] / 2)
    return by_erf + z + 2 * np.abs(x) * density(x)


STEP_ERRORS: dict[str, Callable[..., Any]] = {  # the absolute error of each step, in units of u of the compute format
    "add": _once,
    "subtract": _once,
    "multiply": _once,
    "square": _once,
    "divide": _relative("divide"),
    "sqrt": _relative("sqrt"),
    "exp": _exp,
    "log": _relative("log"),
    "sin": _absolute("sin"),
    "cos": _absolute("cos"),
    "tanh": _tanh,
    "power": _power,
    "logistic": _logistic,
    "normal_cdf": _normal_cdf,
}


def logsumexp_roundings(scores: Any, axis: int) -> Any:
    """How many roundings exp(s - logsumexp(s)) has beyond those of softmax: that of m + log(l), which is as large as the scores;
    the logarithm's; and that of a difference which is larger by log(l)."""
    m = np.max(scores, axis=axis, keepdims=True)
    log = np.log(np.sum(np.exp(scores - m), axis=axis, keepdims=True))
    return np.where(np.isfinite(m), np.abs(m + log) + (ROUNDINGS["log"] + 1) * log, 0.0)


def _eager_logistic(z: Any, x: Any, f: Format) -> Any:
    """e^-x, 1 + e^-x and the quotient each stored; and where e^-x overflows, the quotient is zero."""
    return np.where(-x > math.log(f.max) - 1, z, (1 + z * (3 - z)) * f.u)


def _eager_normal_cdf(z: Any, x: Any, f: Format) -> Any:
    """x/√2, the erf, 1 + erf and its half each stored."""
    return (1 + 2 * z + 2 * np.abs(x) * density(x)) * f.u


EAGER_ERRORS: dict[str, Callable[..., Any]] = {
    "logistic": _eager_logistic,
    "normal_cdf": _eager_normal_cdf,
}  # the steps that are several when unfused
