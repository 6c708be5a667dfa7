"""The rounding of a call's arguments to the dtype under test."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..bounds.bounded import Bounded
from ..specification.float_errors import ignored_float_errors
from ..specification.formats import Arithmetic, Format, at_least_float32

BLOCK_ELEMENTS = 2**16
SMALLEST_STEP = 2.0**-40  # of an argument that a number is added to, so that the sum is exact in float64


def round_shifted(x: Any, shift: float, storage: Format, dtype: str) -> Any:
    """Return the sum that a function makes of a shift and of the argument that it is given, which is rounded to the format.

    The error of the sum is that of one rounding, and the change from what was drawn.
    """
    drawn = np.asarray(x.value if isinstance(x, Bounded) else x)
    with ignored_float_errors():
        given = np.round(storage.round(drawn - shift) / SMALLEST_STEP) * SMALLEST_STEP
        value = given + shift
        error = np.abs(value - drawn) + at_least_float32(storage).u * np.abs(value)
        error = error + (x.error if isinstance(x, Bounded) else 0.0)
    return Bounded(value, np.where(np.isfinite(value), error, 0.0), Arithmetic.of(dtype))


def _is_large_and_held(x: np.ndarray, storage: Format) -> bool:
    """Whether an array is large and all its numbers are of the format. It is seen in blocks, which stay in the cache."""
    if x.size <= BLOCK_ELEMENTS or not x.flags.c_contiguous:
        return False
    flat = x.reshape(-1)
    parts = (flat[start : start + BLOCK_ELEMENTS] for start in range(0, x.size, BLOCK_ELEMENTS))
    return all(np.array_equal(storage.round(part), part) for part in parts)


def round_number(x: Any, storage: Format, dtype: str) -> Any:
    """Return a floating array, or numbers with an error, rounded to the format, and anything else as it is.

    What rounding changes becomes a `Bounded`, whose error is the change.
    """
    x = np.asarray(x) if isinstance(x, np.generic) else x
    if isinstance(x, Bounded):
        value = storage.round(x.value)
        with ignored_float_errors():
            error = np.where(value == x.value, x.error, x.error + np.abs(value - x.value))
        return Bounded(value, error, Arithmetic.of(dtype)) if np.any(error) else value
    if isinstance(x, np.ndarray) and x.dtype.kind == "f" and not _is_large_and_held(x, storage):
        value = storage.round(x)
        if value is not x and not (same := value == x).all() and not (same := same | np.isnan(x)).all():
            with ignored_float_errors():
                error = np.where(same, 0.0, np.abs(value - x) + 2.0**-53 * np.abs(x))
            return Bounded(value, error, Arithmetic.of(dtype))
    return x
