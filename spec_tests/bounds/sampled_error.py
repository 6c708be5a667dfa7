"""The sampled error bound: how far rounding errors move the result of an equation when they do not all act together.

In a chain of matrix products the worst case multiplies norms and says nothing, because roundings do not conspire (Higham and Mary
2019). There the equation is evaluated on `Sample`. A correct implementation is one more draw: its error exceeds SIGMAS times the
root mean square of DRAWS draws once in 2e9 elements (Student's t with 24 degrees of freedom).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..specification.float_errors import ignored_float_errors
from ..specification.formats import Arithmetic, Format
from .random_rounding import COARSE_FACTOR, DRAWS, FEW_DRAWS, ROUNDING_FACTORS, RandomStream
from .sample import SIGMAS, Sample

Evaluate = Callable[[Callable[[Any], Any]], Any]  # evaluate(wrap) runs the equation on wrap(x) for each input x


SCALED = "float64 with fewer bits"  # the format in which roundings of float64 are drawn
DRAWN_IN_FLOAT32 = "float64 with the bits of float32"  # that in which they are drawn, and not scaled back

MAX_UNDERFLOWED_TERMS = 1000  # an error below so many smallest normal numbers may be that of terms flushed to zero in a sum


def sampled_error(evaluate: Evaluate, value: np.ndarray, arithmetic: Arithmetic) -> np.ndarray:
    """Return the error around `value` that sampling allows: SIGMAS root mean squares of the draws' errors.

    The coarse draws check that the error is linear in the size of the roundings: their root mean square, divided by
    COARSE_FACTOR, must agree with that of the other draws within a factor of two. Elements that fail have an infinite error. If
    more than 5% of the elements fail, all have an infinite error.
    """
    drawn, scale = _drawn_arithmetic(arithmetic)
    unit, squares = _squared_distances(evaluate, value, drawn, len(ROUNDING_FACTORS))
    with ignored_float_errors():
        rms = unit * np.sqrt(np.mean(squares[:DRAWS], axis=0))
        scaled_coarse_rms = unit * np.sqrt(np.mean(squares[DRAWS:], axis=0)) / COARSE_FACTOR
        linear = (scaled_coarse_rms <= 2 * rms) & (rms <= 2 * scaled_coarse_rms)
    if np.mean(linear) < 0.95:  # the call is too ill-conditioned for this arithmetic
        linear = np.zeros_like(linear)
    underflow = rms < MAX_UNDERFLOWED_TERMS * drawn.compute.tiny  # no rounding error, so it is not scaled back
    error = np.where(underflow, SIGMAS * rms, scale * rms)
    return np.where(linear & np.isfinite(rms), error, np.inf)


def few_draws_error(evaluate: Evaluate, value: np.ndarray, arithmetic: Arithmetic) -> np.ndarray:
    """Return an error that `sampled_error` is never below, from the first FEW_DRAWS of its draws.

    The mean square of DRAWS draws is at least the sum of the squares of some of them, divided by DRAWS. This is not proven where
    only a later draw decides a sign otherwise, since the first draws then differ (`RandomStream.either`).
    """
    drawn, scale = _drawn_arithmetic(arithmetic)
    unit, squares = _squared_distances(evaluate, value, drawn, FEW_DRAWS)
    with ignored_float_errors():
        rms = unit * np.sqrt(np.sum(squares, axis=0) / DRAWS)
        return np.where(np.isfinite(rms), scale * rms, np.inf)


def _drawn_arithmetic(arithmetic: Arithmetic) -> tuple[Arithmetic, float]:
    """Return the arithmetic in which roundings are drawn, and how many of its root mean squares the error is.

    Draws are float64 numbers themselves. Roundings of float64 are drawn 2**29 times larger, and scaled back. What depends on a
    sign that rounding decides does not become smaller with the roundings, so it has no sampled error (`RandomStream.either`).
    Where a part is computed in 16 bits, its roundings could not be scaled: those of float64 are drawn as those of float32.
    """
    if arithmetic.compute.precision != 53:
        return arithmetic, float(SIGMAS)
    if arithmetic.narrows:
        return replace(arithmetic, compute=Format(DRAWN_IN_FLOAT32, 24, -1022, 1023)), float(SIGMAS)
    return replace(arithmetic, compute=Format(SCALED, 24, -1022, 1023)), SIGMAS * 2.0**-29


def _squared_distances(
    evaluate: Evaluate, value: np.ndarray, arithmetic: Arithmetic, draws: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return a unit for each element, and the squares of the distances of the first draws from the value in this unit."""
    stream = RandomStream(draws, is_scaled=arithmetic.compute.name == SCALED)
    result = evaluate(lambda x: Sample.input(x, arithmetic, stream))
    with ignored_float_errors():
        distance = np.broadcast_to(np.abs(result.value - value), (draws, *value.shape))
        largest = np.max(distance, axis=0)
        unit = np.where(largest > 0, largest, 1.0)  # so that the squares do not underflow
        return unit, np.square(distance / unit)
