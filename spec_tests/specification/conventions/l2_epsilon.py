"""Where a normalization by lengths adds its eps: to the sum of squares, to the length, or as a floor of the length."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from ._convention import Convention, Equation, Value
from ._in_parts import change_part

EPS = 1e-6  # where queries and keys are normalized


def _normalizes(named: dict[str, Any], settled: dict[str, str]) -> bool:
    return bool(named.get("qk_l2norm", "q" not in named))


def _length(x: Any) -> Any:
    return np.sqrt(np.sum(np.square(x), axis=-1, keepdims=True))


def _add_outside(normalize: Equation) -> Equation:
    """Return the normalization with eps added to the length."""

    def outside(x: Any, eps: Any = EPS) -> Any:
        return x / (_length(x) + eps)

    return outside


def _floor(normalize: Equation) -> Equation:
    """Return the normalization by the length, or by eps where the length is less."""

    def floored(x: Any, eps: Any = EPS) -> Any:
        return x / np.maximum(_length(x), eps)

    return floored


OPERATIONS = ("l2_norm", "linear_attention")
_CHANGES = MappingProxyType({"outside": _add_outside, "floor": _floor})


def _make_value(value: str, words: str) -> Value:
    """Return the value under which every operation, and its gradient, normalizes so."""
    change = _CHANGES[value]
    parts = {operation: change_part(operation, "of_unit_length", change) for operation in OPERATIONS}
    return Value(words, parts["l2_norm"], elsewhere={f"{name}{end}": parts[name] for name in OPERATIONS for end in ("", "_vjp")})


CONVENTION = Convention(
    "l2_epsilon",
    "where the eps of a normalization by lengths stands",
    OPERATIONS,
    {
        "inside": Value("under the root: x / √(Σx² + eps)", lambda equation: equation),
        "outside": _make_value("outside", "beside the length: x / (‖x‖ + eps)"),
        "floor": _make_value("floor", "as a floor of the length: x / max(‖x‖, eps)"),
    },
    _normalizes,
    is_closed=True,
    decides_every_call=True,
)
