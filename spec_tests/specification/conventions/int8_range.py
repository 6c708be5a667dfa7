"""The smallest integer that is given where there is no zero point."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from ._convention import Convention, Equation, Value
from ._in_parts import change_part
from .fp4_ties import find_quotients

LEAST = MappingProxyType({"int8": -128, "int4": -8})
NEAR = 0.75  # above the least: quotients that may round to it


def _may_reach_least(named: dict[str, Any], settled: dict[str, str]) -> bool:
    if "k_cache" in named:
        return named.get("cache_dtype") in LEAST and any(_reaches_least(named, name) for name in ("k", "v"))
    if named.get("dtype") not in LEAST or named.get("zero_point") is not None:
        return False
    t = find_quotients(named)
    return bool(np.any(t < LEAST[named["dtype"]] + NEAR))


def _reaches_least(named: dict[str, Any], name: str) -> bool:
    """Whether some new key, or value, of a cache may round to the least number."""
    x, scale = (np.asarray(getattr(y, "value", y)) for y in (named[name], _given_scale(named, name)))
    scale = np.min(scale, initial=np.inf) if scale.ndim > 1 else np.reshape(scale, (-1, 1, 1))
    return bool(np.any(x < (LEAST[named["cache_dtype"]] + NEAR) * scale))


def _given_scale(named: dict[str, Any], name: str) -> Any:
    """Return the scale of keys or values, 1 where none is given."""
    scale = named.get(f"{name}_scale")
    return 1.0 if scale is None else scale


def _leave_least_out(least: Equation) -> Equation:
    """Return the limit that leaves out the one number that has no opposite."""

    def symmetric(dtype: str, zero_point: Any) -> int:
        return int(least(dtype, zero_point)) + int(zero_point is None and dtype in LEAST)

    return symmetric


CONVENTION = Convention(
    "int8_range",
    "the smallest integer that is given without a zero point",
    ("quantize", "kv_cache_append"),
    {
        "-128": Value("the smallest of the format: -128, of int4 -8", lambda equation: equation),
        "-127": Value("the opposite of the largest: -127, of int4 -7", change_part("quantize", "qmin", _leave_least_out)),
    },
    _may_reach_least,
    is_closed=True,
)
