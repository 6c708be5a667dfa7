"""What the equations need besides NumPy: the conversion to float64, seven functions, and twenty-eight marks.

A mark does not change the value of an array. It says what an implementation may do at that place. Only number types that
carry an error act on it: they have a method with the name of the mark.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

# NumPy functions that only move elements. A number type applies them to all that it carries alike.
REARRANGING = frozenset({
    "swapaxes", "moveaxis", "transpose", "reshape", "repeat", "squeeze", "expand_dims", "concatenate", "stack",
    "broadcast_to", "take", "take_along_axis", "flip", "roll",
})  # fmt: skip

_erfc = np.vectorize(math.erfc, otypes=[float])


def float64(x: Any) -> Any:
    """Return x as a float64 array. Other number types (objects with `__array_ufunc__`) are returned as they are."""
    own_type = hasattr(x, "__array_ufunc__") and not isinstance(x, np.ndarray | np.generic)
    return x if own_type else np.asarray(x, dtype=np.float64)


def logistic(x: Any) -> Any:
    """Return 1 / (1 + e^-x). Only the exponential of -|x| is computed, so nothing overflows."""
    if hasattr(x, "logistic"):
        return x.logistic()
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, e) / (1 + e)


def normal_cdf(x: Any) -> Any:
    """Return Φ(x) = erfc(-x/√2) / 2, which is accurate in the lower tail, where (1 + erf(x/√2)) / 2 cancels."""
    if hasattr(x, "normal_cdf"):
        return x.normal_cdf()
    return _erfc(-x / math.sqrt(2)) / 2


def finite_or_zero(x: Any) -> Any:
    """Return x where it is finite, else 0. logsumexp shifts by it, so that a row of -inf does not compute -inf - (-inf)."""
    if hasattr(x, "finite_or_zero"):
        return x.finite_or_zero()
    return np.where(np.isfinite(x), x, 0.0)


def scaled(x: Any, factor: Any) -> Any:
    """Return x * factor, and x itself where the factor is exactly 1, so that no rounding is allowed for there."""
    return x if is_one(factor) else x * factor


def is_one(factor: Any) -> bool:
    """Whether a factor is exactly 1."""
    return bool(np.all(getattr(factor, "value", factor) == 1))


def double(x: Any) -> float:
    """Return a scalar as a double, without an error of its own: for settings that code computes with before it rounds them."""
    return float(getattr(x, "value", x))


def number(x: Any) -> Any:
    """Return the numbers of an array without their errors: for decisions that are exact."""
    return np.asarray(getattr(x, "value", x), dtype=np.float64)


def quotient(x: Any, *divisors: Any, roundings: int) -> Any:
    """Return x divided by the product of numbers that are given.

    Mark that code may multiply by reciprocals, in any order, so that there are this many roundings. Powers of two divide exactly.
    """
    return x.quotient(divisors, roundings) if hasattr(x, "quotient") else x / math.prod(divisors)


def product(x: Any, *factors: Any, roundings: int) -> Any:
    """Return x times numbers that are given.

    Mark that code may multiply in any order, so that there are this many roundings. Powers of two multiply exactly.
    """
    return x.product(factors, roundings) if hasattr(x, "product") else x * math.prod(factors)


def contracted(a: Any, b: Any, *, factors: Any, sizes: Any, roundings: int) -> Any:
    """Return a @ b.T times given factors.

    Mark a sum that code may take apart, into terms whose sizes are the products of these two arrays, with so many roundings.
    """
    if hasattr(a, "contracted"):
        return a.contracted(b, factors, sizes, roundings)
    return np.matmul(a, np.swapaxes(b, -1, -2)) * math.prod(factors)


def narrowed(x: Any, unit: float, least: float) -> Any:
    """Return x. Mark an operand that code may round, by at most the unit roundoff of its size and by `least`."""
    return x.narrowed(unit, least) if hasattr(x, "narrowed") else x


def stored(x: Any, store: Callable[[Any], Any]) -> Any:
    """Return store(x), a monotone function that rounds to a format of few bits.

    A correct result lies between the roundings of the two ends of the interval in which x lies.
    """
    return x.stored(store) if hasattr(x, "stored") else store(x)


def between(x: Any, where: Any, low: float, high: float) -> Any:
    """Return x. Mark elements that may be any number from low to high."""
    return x.between(where, low, high) if hasattr(x, "between") else x


def answered(x: Any, name: str, *, least: float = -math.inf, roundings: int = 0) -> Any:
    """Return x. Mark a result of this name, which other results are judged at: they are computed from it as it was returned.

    One below `least` or not finite leaves the others open. Of one that is a power of two where x is none, `roundings` are allowed
    for all the same: dividing by x, or multiplying by its reciprocal, is not exact.
    """
    return x.answered(name, least, roundings) if hasattr(x, "answered") else x


def rounded(x: Any) -> Any:
    """Return x. Mark a tensor that may be stored in the dtype of the inputs (precision class mixed)."""
    return x.rounded() if hasattr(x, "rounded") else x


def joined(total: Any, term: Any, *, n: int) -> Any:
    """Return total + term. Mark that code may add the n other terms to this one, so that n additions round sums of its size."""
    return total.joined(term, n) if hasattr(total, "joined") else total + term


def tallied(terms: Sequence[Any], term: Any, *, counts: Any) -> Any:
    """Return the sum of the terms, and of one term more as often as it is counted.

    Mark that code may add it once for each count, and the other terms before or afterwards. It rounds after each addition.
    """
    first, *others = terms
    return first.tallied(others, term, counts) if hasattr(first, "tallied") else sum(others, first) + counts * term


def returned(x: Any) -> Any:
    """Return x. Mark a tensor that is a result, too, so that code may go on with it as it is stored, in every class."""
    return x.returned() if hasattr(x, "returned") else x


def eager(x: Any) -> Any:
    """Return x. Mark a tensor that only unfused code may store in the dtype of the inputs (precision class eager)."""
    return x.eager() if hasattr(x, "eager") else x


def wide(x: Any) -> Any:
    """Return x. Mark a number, such as an angle, that is computed in float32 or wider in every precision class."""
    return x.wide() if hasattr(x, "wide") else x


def widened(x: Any) -> Any:
    """Return x. Mark the terms of a result that may be returned in a wider dtype than that of the arguments.

    Code that returns it so computes it in float32 or wider from here on. Other code may store each step in 16 bits.
    """
    return x.widened() if hasattr(x, "widened") else x


def token_drawn(token: Any, reach: Any, like: Any) -> Any:
    """Return the token of each row. Mark the others that roundings may draw in its place: those within their reach."""
    return like.token_drawn(token, reach) if hasattr(like, "token_drawn") else token


def in_bits(x: Any) -> Any:
    """Return x. Mark a logarithm that code may keep to the base 2: each conversion multiplies by a rounded constant."""
    return x.in_bits() if hasattr(x, "in_bits") else x


def exact(x: Any) -> Any:
    """Return x. Mark a shift whose error cannot change the result, because what is subtracted now is given back later."""
    return x.exact() if hasattr(x, "exact") else x


def above_minus_infinity(x: Any) -> Any:
    """Whether each element is more than -inf, or NaN, as plain bools. Such elements carry no error that could change this."""
    return x.above_minus_infinity() if hasattr(x, "above_minus_infinity") else np.asarray(x != -np.inf, dtype=bool)


def beside_one(t: Any) -> Any:
    """Return t. Mark a tanh that stands beside 1, as in 1 + tanh(x), which code may compute by the exponential function.

    The forms are 2 / (1 + e^-2x) and 2 - 2 / (e^2x + 1). Their error is relative to 1, whatever the size of the tanh.
    """
    return t.beside_one() if hasattr(t, "beside_one") else t


def either(x: Any, other: Any) -> Any:
    """Return x. Mark that code may compute the other form of the same number, so that the larger of both errors is allowed."""
    return x.either(other) if hasattr(x, "either") else x


def interpolated(x: Any, a: Any, b: Any) -> Any:
    """Return x. Mark a mean of a and b that code may compute as a + w (b - a), whose roundings are as large as a and b."""
    return x.interpolated(a, b) if hasattr(x, "interpolated") else x


def positive(x: Any) -> Any:
    """Return 1 where x is positive, else 0: the derivative of relu, which is not specified at 0."""
    return x.positive() if hasattr(x, "positive") else np.where(x > 0, 1.0, 0.0)


def piled(x: Any, *, axis: int) -> Any:
    """Return the sum along an axis. Mark that unfused 16-bit code may add the terms one by one to a total in its own dtype."""
    return x.piled(axis) if hasattr(x, "piled") else np.sum(x, axis=axis)


def below(x: Any, limit: float, first: Any, second: Any, *, slack: float) -> Any:
    """Return `first` where x is below the limit, else `second`, for an x and a limit without axes.

    Mark that either is right where x, within its error, lies from limit - slack to the limit.
    """
    return x.below(limit, first, second, slack) if hasattr(x, "below") else np.where(x < limit, first, second)


def chunked(a: Any, b: Any) -> Any:
    """Return a @ b. Mark that the sum may be added up chunk by chunk, to a total in the dtype of the inputs."""
    return a.chunked(b) if hasattr(a, "chunked") else np.matmul(a, b)


def through_maximum(dx: Any, left: Any, x: Any, *, axis: int) -> Any:
    """Return dx. Mark the gradient of x - max(x), which code may differentiate as written.

    The dx of the largest entry is then smaller by `left`, which is 0 except for roundings. Code that goes through a row block by
    block leaves such roundings also at the largest entry so far: those of the entries that are not larger than it.
    """
    return dx.through_maximum(left, x, axis) if hasattr(dx, "through_maximum") else dx


def through_quotient(x: Any) -> Any:
    """Return x. Mark a factor in the gradient of e / sum(e), which code may differentiate as written.

    Such code divides x by the sum and then multiplies it by e. The equation does both in one step, with two roundings fewer.
    """
    return x.through_quotient() if hasattr(x, "through_quotient") else x


def copied(x: Any, count: int, *, axis: int) -> Any:
    """Return each entry along an axis so many times, one behind the other, as a shared head for the heads that read it.

    Mark that code may make the copies in the dtype of the inputs, so that the gradient of each is stored before they are summed.
    """
    return x.copied(count, axis) if hasattr(x, "copied") else np.repeat(x, count, axis=axis)


def summed_copies(x: Any, *, axis: int) -> Any:
    """Return the sum along an axis. Mark that code may store the terms, and add them in any order, in the dtype of the inputs."""
    return x.summed_copies(axis) if hasattr(x, "summed_copies") else np.sum(x, axis=axis)


def as_a_whole(equation: Callable[..., Any], *operands: Any) -> Any:
    """Return equation(*operands). Mark a recurrence whose error is derived as a whole, since that of single steps would grow.

    A number type that does so has a method with the name of the equation.
    """
    typed = next((x for x in operands if hasattr(x, equation.__name__)), None)
    return equation(*operands) if typed is None else getattr(typed, equation.__name__)(*operands)


def recomputed(scores: Callable[..., Any], *operands: Any, axis: int) -> Any:
    """Return 1, the ratio exp(s - logsumexp(s)) / softmax(s) for the scores s of these operands.

    Mark that code may recompute softmax weights. It computes the scores a second time, and sums them in another order than it did
    for the logsumexp. The logsumexp was kept in float32 or wider, with a rounding error that grows with the size of the scores.
    """
    x = operands[0]
    return x.recomputed(scores, operands, axis) if hasattr(x, "recomputed") else 1.0
