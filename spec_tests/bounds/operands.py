"""The operands of one step of an equation: numbers that carry an error, and plain arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np

from ..specification.float_errors import ignored_float_errors
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


def join_given(given: tuple[Any, ...], compute: Format) -> tuple[Any, Any, Any]:
    """Return the product of numbers that are given, and by how much their errors may enlarge it, and its reciprocal, relatively.

    They are never flushed to zero, so that of an error that is a flush nothing counts.
    """
    joined, larger, smaller = np.ones(()), np.zeros(()), np.zeros(())
    for x in given:
        value, error = x.pair if hasattr(x, "pair") else (np.asarray(x, dtype=np.float64), 0.0)
        flushed = (np.abs(value) < compute.tiny) & np.isfinite(error)
        relative = np.where(flushed | (error == 0), 0.0, error / np.abs(value))
        with ignored_float_errors():  # a number that may be 0
            joined, larger = joined * value, larger + np.log1p(relative)
            smaller = smaller + np.log1p(-np.minimum(relative, 1.0))
    return joined, np.expm1(larger), np.expm1(-smaller)


def error_of_given(value: Any, inherited: Any, given: Any, enlarged: Any, roundings: int, compute: Format) -> Any:
    """Return the error of a product with given numbers, or of a quotient: of so many roundings, or none by a power of two.

    inherited: how far the other operand may move the value. enlarged: by how much the given numbers may enlarge it, relatively.
    """
    size = np.where(np.isinf(value), 0.0, np.abs(value))
    units = np.where(np.abs(np.frexp(given)[0]) == 0.5, 0.0, np.expm1(roundings * np.log1p(compute.u)))
    error = inherited + (units + enlarged + units * enlarged) * (size + inherited) + np.where(size < compute.tiny, size, 0.0)
    return np.where(np.isinf(enlarged), np.inf, error)


def contract_sizes(sizes: Any, compute: Format) -> tuple[Any, Any]:
    """Return the sum of the sizes of the terms of a contraction, and what may be lost of them below the normal range."""
    a, b = (np.abs(getattr(x, "value", x)) for x in sizes)
    size = a @ np.swapaxes(b, -1, -2)
    return size, (size > 0) * (a.shape[-1] * compute.tiny)
