"""The operands of one step of an equation: numbers that carry an error, and plain arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

Number = TypeVar("Number")


def leading_operand(operands: Iterable[Any], kind: type[Number]) -> Number:
    """Return the operand whose arithmetic applies: the first number of this kind that may store each step, or just the first."""
    numbers = [x for x in operands if isinstance(x, kind)]
    return next((x for x in numbers if x.arithmetic.step_storage is not None), numbers[0])  # type: ignore[attr-defined]


def select_part(part: str, x: Any, kind: type[Any]) -> Any:
    """Replace each number of this kind in nested arguments by its part, such as "value"."""
    if isinstance(x, kind):
        return getattr(x, part)
    if isinstance(x, list | tuple):
        return type(x)(select_part(part, item, kind) for item in x)
    if isinstance(x, dict):
        return {key: select_part(part, item, kind) for key, item in x.items()}
    return x
