"""Steps that several deviations share: means, sums in narrow formats, and the formats that kernels take for the promised ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from reference_numpy._marks import exact
from spec_tests.specification.formats import FORMATS, Format


def holding(f: Format) -> Callable[[Any], Any]:
    """Rounds to the format whatever number it is given."""
    return lambda x: x.held(f) if hasattr(x, "held") else f.round(x)


in_float32 = holding(FORMATS["float32"])
in_float16 = holding(FORMATS["float16"])
in_tf32 = holding(Format("tf32", 11, -126, 127))
to_12_bits = holding(Format("the estimate of a reciprocal root", 12, -1022, 1023))


def accumulated(terms: Any, held: Callable[[Any], Any], axis: int = -1) -> Any:
    """The sum along an axis, which is kept, every partial sum being held."""
    terms = np.moveaxis(held(terms), axis, -1)
    total = terms[..., :1]
    for i in range(1, terms.shape[-1]):
        total = held(total + terms[..., i : i + 1])
    return np.moveaxis(total, -1, axis)


def next_power_of_two(n: int) -> int:
    return 1 << (n - 1).bit_length()


def mean_square(x: Any) -> Any:
    return np.mean(np.square(x), axis=-1, keepdims=True)


def moments(x: Any) -> tuple[Any, Any]:
    """The differences from the mean, and the mean of their squares."""
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return centred, mean_square(centred)


def largest(x: Any, axis: int) -> Any:
    return exact(np.max(x, axis=axis, keepdims=True))
