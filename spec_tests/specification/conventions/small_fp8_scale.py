"""Whether scales in float8_e4m3fn may be smaller than the smallest normal number of that format."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._convention import Convention, Equation, Value
from ._in_parts import change_part

FORMAT = "float8_e4m3fn"
LEAST = 2.0**-6


def _may_be_small(named: dict[str, Any], settled: dict[str, str]) -> bool:
    """Whether some number is so small that a block of it alone could have a small scale in any format."""
    if named.get("scale_dtype") != FORMAT:
        return False
    x, g = (np.abs(np.asarray(getattr(array, "value", array))) for array in (named["x"], named.get("global_scale", 1.0)))
    return bool(np.any((x > 0) & (x < LEAST * 2.0**17 * np.maximum(g, 1 / g))))


def _keep_normal(least_fp8_scale: Equation) -> Equation:
    return lambda: LEAST


CONVENTION = Convention(
    "small_fp8_scale",
    "what becomes of scales in float8_e4m3fn that are below 2^-6",
    ("dynamic_quantize",),
    {
        "rounded": Value("they are rounded as any other", lambda equation: equation),
        "clamped": Value("they become 2^-6", change_part("dynamic_quantize", "least_fp8_scale", _keep_normal)),
    },
    _may_be_small,
    is_closed=True,
)
