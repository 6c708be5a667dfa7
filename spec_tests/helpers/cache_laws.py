"""What the laws of attention to a cache share, whether its slots lie in rows or in pages."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ..calls.operation import Operation
from ..implementation.domain import SCALES
from ..inputs.draw import Draw
from ..operations._serving import WINDOWS
from .keywords import accepted

OPTIONAL = ("sinks", "scale", "softcap", *WINDOWS)


def options_of(operation: Operation) -> tuple[str, ...]:
    """Return the optional keywords of the family that the function takes."""
    return accepted(operation, *OPTIONAL)


def draw_chunks(draw: Draw, n: int) -> list[slice]:
    """Cut n queries into chunks: one each, or any sizes."""
    if draw.one_of((True, False)):
        return [slice(i, i + 1) for i in range(n)]
    inner = np.unique(draw.rng.integers(1, n, 2)) if n > 1 else np.zeros(0, int)
    return [slice(start, stop) for start, stop in pairwise([0, *(int(i) for i in inner), n])]


def other_slots(draw: Draw, x: np.ndarray, beyond: np.ndarray, largest: float) -> np.ndarray:
    """Return x with other finite numbers, ordinary or large, in the slots beyond the lengths."""
    size = min(draw.one_of((1.0, 300.0, draw.format.max)), largest)
    return np.where(beyond, draw.held(draw.rng.uniform(-1, 1, x.shape) * size), x)


def scales_of_row(keywords: dict[str, Any], i: int) -> dict[str, Any]:
    """Return the keywords with the scales of one row of a cache, where each slot has its own."""
    return {name: x[i : i + 1] if name in SCALES and np.ndim(x) > 1 else x for name, x in keywords.items()}


def maybe_not_causal(operation: Operation, draw: Draw, keywords: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords, half of the time without causality, if that can be given: causal queries never look beyond."""
    if operation.accepts("is_causal") and draw.one_of((True, False)):
        return {**keywords, "is_causal": False}
    return keywords
