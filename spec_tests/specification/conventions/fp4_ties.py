"""Where float4_e2m1fn rounds a number midway between two of its numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._convention import Convention, Equation, Value
from ._in_parts import change_part

FORMAT = "float4_e2m1fn"
NUMBERS = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
MIDPOINTS = (NUMBERS[1:] + NUMBERS[:-1]) / 2
SLACK = 2.0**-20  # more than the roundings of a quotient


def find_quotients(named: dict[str, Any]) -> Any:
    """Return the quotients of a call of quantize, without its global scale."""
    x, scale, shape = named["x"], named["scale"], named["x"].shape
    x, scale = (getattr(array, "value", array) for array in (x, scale))
    for axis, size, length in ((-2, named["block"][0], shape[-2]), (-1, named["block"][1], shape[-1])):
        size = max(length if size is None else min(size, max(length, 1)), 1)
        scale = np.take(scale, np.arange(length) // size, axis=axis)
    with np.errstate(all="ignore"):
        return x / scale


def _has_midpoint(named: dict[str, Any], settled: dict[str, str]) -> bool:
    if named.get("dtype") != FORMAT:
        return False
    if "scale" not in named:  # it is that of the largest number of each block
        return bool(np.any(np.asarray(getattr(named["x"], "value", named["x"])) != 0))
    t, g = np.abs(find_quotients(named)), named.get("global_scale")
    if g is not None:
        g = np.asarray(getattr(g, "value", g))
        t = t * g if settled.get("global_scale") == "divisor" else t / g
    nearest = MIDPOINTS[np.minimum(np.searchsorted(NUMBERS, t, side="right") - 1, len(MIDPOINTS) - 1)]
    return bool(np.any(np.abs(t - nearest) <= SLACK * nearest))


def _round_ties(words: str, side: str) -> Value:
    """Return the value that takes the codes above a midpoint, or below it, of every midpoint."""

    def change(nearest: Equation) -> Equation:
        def rounded(t: Any, dtype: str) -> Any:
            if dtype != FORMAT:
                return nearest(t, dtype)
            size = NUMBERS[np.searchsorted(MIDPOINTS, np.abs(t), side=side)]  # type: ignore[call-overload]
            return np.where(np.isnan(t), t, np.copysign(size, t))

        return rounded

    return Value(
        words,
        change_part("quantize", "nearest", change),
        elsewhere={"dynamic_quantize": change_part("dynamic_quantize", "nearest", change)},
    )


CONVENTION = Convention(
    "fp4_ties",
    "where float4_e2m1fn rounds what lies midway between two of its numbers",
    ("quantize", "dynamic_quantize"),
    {
        "even": Value("to the number whose code is even", lambda equation: equation),
        "away": _round_ties("away from zero", "right"),
        "toward zero": _round_ties("toward zero", "left"),
    },
    _has_midpoint,
    is_closed=True,
)
