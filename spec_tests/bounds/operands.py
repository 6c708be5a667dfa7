"""The operands of one step of an equation: numbers that carry an error, and plain arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np

from ..specification.formats import Format

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


def join_given(given: tuple[Any, ...], compute: Format) -> tuple[Any, Any]:
    """Return the product of numbers that are given, and its relative error. They are never flushed to zero."""
    joined, relative = np.ones(()), np.zeros(())
    for x in given:
        value, error = x.pair if hasattr(x, "pair") else (np.asarray(x, dtype=np.float64), 0.0)
        flushed = (np.abs(value) < compute.tiny) & np.isfinite(error)
        joined, relative = joined * value, relative + np.where(flushed, 0.0, error / np.abs(value))
    return joined, relative


def error_of_given(value: Any, given: Any, relative: Any, roundings: int, compute: Format) -> Any:
    """Return the error of a product with given numbers, or of a quotient: of so many roundings, or none by a power of two."""
    size = np.where(np.isinf(value), 0.0, np.abs(value))
    own = np.where(np.abs(np.frexp(given)[0]) == 0.5, 0.0, np.expm1(roundings * np.log1p(compute.u))) * size
    return own + np.where(size < compute.tiny, size, 0.0) + relative * size


def contract_sizes(sizes: Any, compute: Format) -> tuple[Any, Any]:
    """Return the sum of the sizes of the terms of a contraction, and what may be lost of them below the normal range."""
    a, b = (np.abs(getattr(x, "value", x)) for x in sizes)
    size = a @ np.swapaxes(b, -1, -2)
    return size, (size > 0) * (a.shape[-1] * compute.tiny)
