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

from ..specification.formats import Arithmetic, Format
from .random_rounding import RandomStream
from .sample import COARSE_FACTOR, DRAWS, ROUNDING_FACTORS, SIGMAS, Sample

MAX_UNDERFLOWED_TERMS = 1000  # an error below so many smallest normal numbers may be that of terms flushed to zero in a sum


def sampled_error(evaluate: Callable[[Callable[[Any], Any]], Any], value: np.ndarray, arithmetic: Arithmetic) -> np.ndarray:
    """Return the error around `value` that sampling allows: SIGMAS root mean squares of the draws' errors.

    `evaluate(wrap)` runs the equation on wrap(x) for each input x. The coarse draws check that the error is linear in the size of
    the roundings: their root mean square, divided by COARSE_FACTOR, must agree with that of the other draws within a factor of
    two. Elements that fail have an infinite error. If more than 5% of the elements fail, all have an infinite error.
    """
    scale = float(SIGMAS)
    if arithmetic.compute.precision == 53:  # the draws are float64 themselves: draw 2**29 times larger roundings and scale back
        fewer_bits = Format("float64 with fewer bits", 24, -1022, 1023)
        arithmetic, scale = replace(arithmetic, compute=fewer_bits), SIGMAS * 2.0**-29
    stream = RandomStream()
    result = evaluate(lambda x: Sample.input(x, arithmetic, stream))
    with np.errstate(all="ignore"):
        distance = np.broadcast_to(np.abs(result.value - value), (len(ROUNDING_FACTORS), *value.shape))
        largest = np.max(distance, axis=0)
        unit = np.where(largest > 0, largest, 1.0)  # so that the squares do not underflow
        squares = np.square(distance / unit)
        rms = unit * np.sqrt(np.mean(squares[:DRAWS], axis=0))
        scaled_coarse_rms = unit * np.sqrt(np.mean(squares[DRAWS:], axis=0)) / COARSE_FACTOR
        linear = (scaled_coarse_rms <= 2 * rms) & (rms <= 2 * scaled_coarse_rms)
    if np.mean(linear) < 0.95:  # the call is too ill-conditioned for this arithmetic
        linear = np.zeros_like(linear)
    underflow = rms < MAX_UNDERFLOWED_TERMS * arithmetic.compute.tiny  # no rounding error, so it is not scaled back
    error = np.where(underflow, SIGMAS * rms, scale * rms)
    return np.where(linear & np.isfinite(rms), error, np.inf)
