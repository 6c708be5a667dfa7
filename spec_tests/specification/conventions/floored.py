"""What eps is a floor of, where numbers are quantized with scales of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._convention import Convention, Equation, Value
from ._in_parts import change_part


def _has_floor(named: dict[str, Any], settled: dict[str, str]) -> bool:
    return float(getattr(named.get("eps", 0.0), "value", named.get("eps", 0.0))) > 0


def _floor_the_scale(scale_in_float32: Equation) -> Equation:
    return lambda size, largest, eps: np.maximum(scale_in_float32(size, largest, 0.0), eps)


CONVENTION = Convention(
    "floored",
    "what eps is the least value of",
    ("dynamic_quantize",),
    {
        "amax": Value("the largest number of a block: scale = max(A, eps) / qmax", lambda equation: equation),
        "scale": Value("the scale: max(A / qmax, eps)", change_part("dynamic_quantize", "scale_in_float32", _floor_the_scale)),
    },
    _has_floor,
    is_closed=True,
)
