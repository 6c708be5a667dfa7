"""What the largest number of a block is divided by to give the scale of integers."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from ._convention import Convention, Equation, Value
from ._in_parts import change_part

DIVISORS = MappingProxyType({"int8": 127.5, "int4": 7.5})


def _has_symmetric_integers(named: dict[str, Any], settled: dict[str, str]) -> bool:
    x = named["x"]
    return (
        named.get("dtype") in DIVISORS and named.get("symmetric", True) and bool(np.any(np.asarray(getattr(x, "value", x)) != 0))
    )


def _halve_the_range(divisor: Equation) -> Equation:
    return lambda dtype: DIVISORS.get(dtype) or divisor(dtype)


CONVENTION = Convention(
    "integer_divisor",
    "what the largest number of a block of signed integers is divided by",
    ("dynamic_quantize",),
    {
        "127": Value("the largest integer: 127, of int4 7", lambda equation: equation),
        "127.5": Value(
            "half the number of steps: 127.5, of int4 7.5", change_part("dynamic_quantize", "divisor", _halve_the_range)
        ),
    },
    _has_symmetric_integers,
    is_closed=True,
)
