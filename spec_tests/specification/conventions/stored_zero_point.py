"""Whether zero points of four bits are stored as they are, or less one."""

from __future__ import annotations

from typing import Any

from ._convention import Convention, Equation, Value
from ._in_parts import change_part

FORMAT = "uint4"
NAMES = (("q_dtype", "zero_point"), ("a_dtype", "zero_point_a"), ("b_dtype", "zero_point_b"))


def _has_zero_point(named: dict[str, Any], settled: dict[str, str]) -> bool:
    return any(named.get(dtype) == FORMAT and named.get(zero_point) is not None for dtype, zero_point in NAMES)


def _add_one(subtracted: Equation) -> Equation:
    def one_more(zero_point: Any, dtype: str) -> Any:
        return subtracted(zero_point, dtype) + (dtype == FORMAT)

    return one_more


CONVENTION = Convention(
    "stored_zero_point",
    "what a zero point of uint4 stands for",
    ("dequantize", "scaled_matmul"),
    {
        "value": Value("itself", lambda equation: equation),
        "minus one": Value(
            "itself plus one, since it is stored less one",
            change_part("dequantize", "subtracted", _add_one),
            elsewhere={"scaled_matmul": change_part("scaled_matmul", "subtracted", _add_one)},
        ),
    },
    _has_zero_point,
    is_closed=True,
)
