"""Whether zero points of four bits are stored as they are, or less one."""

from __future__ import annotations

from typing import Any

from ._convention import Convention, Equation, Value
from ._in_parts import change_part

FORMAT = "uint4"


def _has_zero_point(named: dict[str, Any], settled: dict[str, str]) -> bool:
    return named.get("q_dtype") == FORMAT and named.get("zero_point") is not None


def _add_one(subtracted: Equation) -> Equation:
    def one_more(zero_point: Any, dtype: str) -> Any:
        return subtracted(zero_point, dtype) + (dtype == FORMAT)

    return one_more


CONVENTION = Convention(
    "stored_zero_point",
    "what a zero point of uint4 stands for",
    ("dequantize",),
    {
        "value": Value("itself", lambda equation: equation),
        "minus one": Value("itself plus one, since it is stored less one", change_part("dequantize", "subtracted", _add_one)),
    },
    _has_zero_point,
    is_closed=True,
)
