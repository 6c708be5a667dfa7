"""How each NumPy function propagates errors: one rule for each function, registered by its name.

A rule computes the value and the inherited error: a bound, to all orders and without linearization, on how far the operands'
errors may move the value. `Bounded.finish_step` or `Bounded.finish_sum` then adds the error of the function itself.
The first argument, `like`, is the operand whose arithmetic applies.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .bounded import Bounded
from .error_model import ROUNDINGS
from .registered_rules import implements


@implements
def _add(like: Bounded, x: Bounded, y: Bounded) -> Bounded:
    return like.finish_step("add", x.value + y.value, x.error + y.error, x.value, y.value)


@implements
def _subtract(like: Bounded, x: Bounded, y: Bounded) -> Bounded:
    return like.finish_step("subtract", x.value - y.value, x.error + y.error, x.value, y.value)


@implements
def _negative(like: Bounded, x: Bounded) -> Bounded:
    return x.at(-x.value, x.error)


@implements
def _absolute(like: Bounded, x: Bounded) -> Bounded:
    return x.at(np.abs(x.value), x.error)


@implements
def _multiply(like: Bounded, x: Bounded, y: Bounded) -> Bounded:
    inherited = 0.0 if _is_exact(y) else _scale_error(np.abs(x.value), y.error)
    if not _is_exact(x):
        inherited = inherited + _scale_error(np.abs(y.value) + y.error, x.error)
    return like.finish_step("multiply", x.value * y.value, inherited, x.value, y.value)


@implements
def _square(like: Bounded, x: Bounded) -> Bounded:
    inherited = 0.0 if _is_exact(x) else _scale_error(2 * np.abs(x.value) + x.error, x.error)
    return like.finish_step("square", np.square(x.value), inherited, x.value)


@implements
def _divide(like: Bounded, x: Bounded, y: Bounded) -> Bounded:
    z, smallest_divisor = x.value / y.value, np.abs(y.value) - y.error
    inherited = np.where(smallest_divisor > 0, (x.error + _scale_error(np.abs(z), y.error)) / smallest_divisor, np.inf)
    return like.finish_step("divide", z, inherited, x.value)


@implements
def _sqrt(like: Bounded, x: Bounded) -> Bounded:
    z = np.sqrt(x.value)
    root_sum = z + np.sqrt(np.maximum(x.value - x.error, 0))  # √x - √(x - e) = e / (√x + √(x - e))
    return like.finish_step("sqrt", z, np.where(x.error == 0, 0.0, x.error / root_sum), x.value)


@implements
def _exp(like: Bounded, x: Bounded) -> Bounded:
    z = np.exp(x.value)
    inherited = z * np.expm1(x.error)
    if not (z.size and np.minimum.reduce(z, axis=None) > 0):
        inherited = np.where(z > 0, inherited, np.where(np.isinf(x.value), 0.0, np.exp(x.value + x.error)))
    # exp is exact at 0, but only if the operand is certainly 0.
    return like.finish_step("exp", z, inherited, np.where(x.value == 0, x.error, x.value))


@implements
def _log(like: Bounded, x: Bounded) -> Bounded:
    inherited = np.where(x.error == 0, 0.0, np.where(x.error < x.value, -np.log1p(-x.error / x.value), np.inf))
    return like.finish_step("log", np.log(x.value), inherited, np.where(x.value == 0, np.inf, x.value))


@implements
def _tanh(like: Bounded, x: Bounded) -> Bounded:
    smallest_size = np.minimum(np.maximum(np.abs(x.value) - x.error, 0), 300)  # at most 300, so that cosh² does not overflow
    inherited = np.where(np.isinf(x.value), 0.0, np.minimum(x.error / np.cosh(smallest_size) ** 2, 2))
    return like.finish_step("tanh", np.tanh(x.value), inherited, x.value)


@implements
def _sin(like: Bounded, x: Bounded) -> Bounded:
    return _bound_circular(like, x, np.sin)


@implements
def _cos(like: Bounded, x: Bounded) -> Bounded:
    return _bound_circular(like, x, np.cos)


def _bound_circular(like: Bounded, x: Bounded, function: np.ufunc) -> Bounded:
    """Return the sine or the cosine. It is not a step: it is stored only where the equation says so."""
    inherited = np.where(np.isinf(x.error), np.inf, np.minimum(x.error, 2))
    own = ROUNDINGS[function.__name__] * like.arithmetic.compute.u
    return like.store(function(x.value), inherited + own, like.arithmetic.compute, 0.0)


@implements
def _power(like: Bounded, x: Bounded, y: Bounded) -> Bounded:
    z = np.power(x.value, y.value)
    log_base_error = np.where(x.error < x.value, -np.log1p(-x.error / x.value), np.inf)
    log_error = np.abs(np.log(x.value)) * y.error + _scale_error(log_base_error, np.abs(y.value) + y.error)
    return like.finish_step("power", z, z * np.expm1(log_error), x.value, y.value)


@implements
def _maximum(like: Bounded, x: Bounded, y: Bounded) -> Bounded:
    return like.at(np.maximum(x.value, y.value), np.maximum(x.error, y.error))


@implements
def _minimum(like: Bounded, x: Bounded, y: Bounded) -> Bounded:
    return like.at(np.minimum(x.value, y.value), np.maximum(x.error, y.error))


@implements
def _matmul(like: Bounded, x: Bounded, y: Bounded) -> Bounded:
    """Bound n products and n - 1 additions, in any order, fused or not: n u |x||y| (Jeannerod and Rump 2013)."""
    n, compute = x.shape[-1], like.arithmetic.compute
    a, b = np.abs(x.value), np.abs(y.value)
    exact = all(_is_exact(part) or not np.any(part.error) for part in (x, y))
    inherited = 0.0 if exact else a @ y.error + x.error @ (b + y.error)
    size = a @ b if exact else (a + x.error) @ (b + y.error)
    underflow = (size > 0) * (n * compute.tiny / compute.u)
    return like.finish_sum(x.value @ y.value, inherited, n * size + underflow)


@implements
def _sum(like: Bounded, x: Bounded, *, axis: int, keepdims: bool = False) -> Bounded:
    """Bound n - 1 additions, in any order: (n - 1) u sum|x| (Rump 2012)."""
    size = np.sum(np.abs(x.value) + x.error, axis=axis, keepdims=keepdims)
    inherited = np.sum(x.error, axis=axis, keepdims=keepdims)
    infinite = np.any(np.isinf(x.value), axis=axis, keepdims=keepdims)
    return like.finish_sum(np.sum(x.value, axis=axis, keepdims=keepdims), inherited, (x.shape[axis] - 1) * size, infinite)


@implements
def _mean(like: Bounded, x: Bounded, *, axis: int, keepdims: bool = False) -> Bounded:
    return _divide(like, _sum(like, x, axis=axis, keepdims=keepdims), like.at(x.shape[axis], 0.0))


@implements
def _rint(like: Bounded, x: Bounded) -> Bounded:
    low, z, high = (np.rint(part) for part in (x.value - x.error, x.value, x.value + x.error))
    return like.at(z, np.maximum(high - z, z - low))


@implements
def _max(like: Bounded, x: Bounded, *, axis: int, keepdims: bool = False, initial: float = -np.inf) -> Bounded:
    value, error = x.pair
    return like.at(
        np.max(value, axis=axis, keepdims=keepdims, initial=initial), np.max(error, axis=axis, keepdims=keepdims, initial=0.0)
    )


@implements
def _where(like: Bounded, condition: Any, x: Any, y: Any) -> Bounded:
    if hasattr(condition, "error"):
        raise TypeError("numbers that carry an error are no condition")
    x, y = (a if hasattr(a, "error") else like.round_literal(a) for a in (x, y))
    return like.at(np.where(condition, x.value, y.value), np.where(condition, x.error, y.error))


def _is_exact(x: Bounded) -> bool:
    """Whether one zero is the error of all elements, as it is of most arguments. This is seen without a look at each of them."""
    return x.error.size > 0 and not any(x.error.strides) and x.error.item(0) == 0


def _scale_error(x: Any, error: Any) -> Any:
    """Return x · error, but 0 where the error is 0, even if x is infinite. Zero times an infinite error is left as NaN."""
    scaled = x * error
    if scaled.size and math.isnan(np.maximum.reduce(scaled, axis=None)):
        scaled = np.where(error == 0, 0.0, scaled)
    return scaled
