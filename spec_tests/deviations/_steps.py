"""Steps that several deviations share: means, sums in narrow formats, and roundings to the formats that kernels use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from reference_numpy._marks import exact
from spec_tests.specification.formats import FORMATS, Format


def make_rounder(f: Format) -> Callable[[Any], Any]:
    """Return a function that rounds any number to the format."""
    return lambda x: x.held(f) if hasattr(x, "held") else f.round(x)


round_to_float32 = make_rounder(FORMATS["float32"])
round_to_float16 = make_rounder(FORMATS["float16"])
round_to_tf32 = make_rounder(Format("tf32", 11, -126, 127))
round_to_12_bits = make_rounder(Format("the estimate of a reciprocal root", 12, -1022, 1023))


def accumulate(terms: Any, held: Callable[[Any], Any], axis: int = -1) -> Any:
    """Return the sum along an axis, which is kept; `held` rounds every partial sum."""
    terms = np.moveaxis(held(terms), axis, -1)
    total = terms[..., :1]
    for i in range(1, terms.shape[-1]):
        total = held(total + terms[..., i : i + 1])
    return np.moveaxis(total, -1, axis)


def next_power_of_two(n: int) -> int:
    return 1 << (n - 1).bit_length()


def mean_square(x: Any) -> Any:
    return np.mean(np.square(x), axis=-1, keepdims=True)


def center(x: Any) -> tuple[Any, Any]:
    """Return the differences from the mean, and the mean of their squares."""
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return centred, mean_square(centred)


def exact_maximum(x: Any, axis: int) -> Any:
    return exact(np.max(x, axis=axis, keepdims=True))


def plain(x: Any) -> np.ndarray:
    """Return the numbers of an argument, whichever number type carries them: what code compares that chooses by them."""
    value = np.asarray(getattr(x, "value", x))
    return np.asarray(value[0] if value.ndim > x.ndim else value, dtype=np.float64)  # a sample has one value for each draw
