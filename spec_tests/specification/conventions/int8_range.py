"""The smallest integer that is given where there is no zero point."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from ._convention import Convention, Equation, Value
from ._in_parts import change_part
from .fp4_ties import find_quotients

LEAST = MappingProxyType({"int8": -128, "int4": -8})


def _may_reach_least(named: dict[str, Any], settled: dict[str, str]) -> bool:
    if named.get("dtype") not in LEAST or named.get("zero_point") is not None:
        return False
    t = find_quotients(named)
    return bool(np.any(t < LEAST[named["dtype"]] + 0.75))


def _leave_least_out(least: Equation) -> Equation:
    """Return the limit that leaves out the one number that has no opposite."""

    def symmetric(dtype: str, zero_point: Any) -> int:
        return int(least(dtype, zero_point)) + int(zero_point is None and dtype in LEAST)

    return symmetric


CONVENTION = Convention(
    "int8_range",
    "the smallest integer that is given without a zero point",
    ("quantize",),
    {
        "-128": Value("the smallest of the format: -128, of int4 -8", lambda equation: equation),
        "-127": Value("the opposite of the largest: -127, of int4 -7", change_part("quantize", "qmin", _leave_least_out)),
    },
    _may_reach_least,
    is_closed=True,
)
