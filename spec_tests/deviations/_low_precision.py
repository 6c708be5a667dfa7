"""A number type that computes in fewer bits than promised.

An equation evaluated on it rounds its steps, its sums or the operands of its matrix products to chosen formats.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from reference_numpy._marks import REARRANGING, logistic, normal_cdf

from ..specification.formats import FORMATS, Format
from ._faults import change_numbers

UNROUNDED = FORMATS["float64"]


@dataclass(frozen=True)
class RoundingManner:
    """The formats to which results of steps, operands of matrix products, and sums of `block` terms are rounded."""

    steps: Format = UNROUNDED
    operands: Format = UNROUNDED
    sums: Format = UNROUNDED
    block: int = 0  # terms that are added exactly before the sum is rounded; 0: all of them


class LowPrecision(np.lib.mixins.NDArrayOperatorsMixin):
    """A float64 array whose arithmetic rounds to the formats of its manner."""

    evaluations = 4  # in float64 that one of an equation is worth, as work

    def __init__(self, value: Any, manner: RoundingManner):
        if not isinstance(value, np.ndarray | np.generic):
            raise TypeError(f"of float64 arrays alone, not of {type(value).__name__}: what is narrow knows no bound")
        self.value, self.manner = np.asarray(value, dtype=np.float64), manner

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def ndim(self) -> int:
        return self.value.ndim

    def __getitem__(self, index: Any) -> LowPrecision:
        return self.with_value(self.value[index])

    def with_value(self, value: Any) -> LowPrecision:
        return LowPrecision(value, self.manner)

    def round_step(self, value: Any) -> LowPrecision:
        return self.with_value(self.manner.steps.round(value))

    def stored(self, store: Callable[[Any], Any]) -> LowPrecision:
        return self.with_value(store(self.value))

    def logistic(self) -> LowPrecision:
        return self.round_step(logistic(self.value))

    def normal_cdf(self) -> LowPrecision:
        return self.round_step(normal_cdf(self.value))

    def above_minus_infinity(self) -> np.ndarray:
        return np.asarray(self.value != -np.inf)

    def positive(self) -> LowPrecision:
        return self.with_value(np.where(self.value > 0, 1.0, 0.0))

    def constant(self, x: np.ndarray) -> LowPrecision:
        return self.with_value(x)

    def piled(self, axis: int) -> LowPrecision:
        return np.sum(self, axis=axis)  # type: ignore[call-overload]

    def finite_or_zero(self) -> LowPrecision:
        return self.with_value(np.where(np.isfinite(self.value), self.value, 0.0))

    def accumulate(self, n: int, terms: Callable[[slice], np.ndarray]) -> LowPrecision:
        """Return the sum over n terms, which `terms` gives block by block."""
        block = self.manner.block or max(n, 1)
        total = self.manner.sums.round(terms(slice(0, block)))
        for start in range(block, n, block):
            total = self.manner.sums.round(total + terms(slice(start, start + block)))
        return self.round_step(total)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            return NotImplemented
        values = [_unwrap(x) for x in args]
        if ufunc is np.matmul:
            a, b = (self.manner.operands.round(x) for x in values)
            return self.accumulate(a.shape[-1], lambda s: a[..., s] @ (b[..., s, :] if b.ndim > 1 else b[s]))
        result = ufunc(*values)
        return self.round_step(result) if result.dtype.kind == "f" else result

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, options: Any) -> Any:
        name = function.__name__
        if name in ("sum", "mean"):
            x = np.moveaxis(self.value, options["axis"], 0)
            total = self.accumulate(len(x), lambda s: np.sum(x[s], axis=0))
            total = total.with_value(np.expand_dims(total.value, options["axis"])) if options.get("keepdims") else total
            return total / len(x) if name == "mean" else total
        if name in ("max", "where", *REARRANGING):
            return self.with_value(function(*map(_unwrap, args), **options))
        return NotImplemented


def _unwrap(x: Any) -> Any:
    return [_unwrap(item) for item in x] if isinstance(x, list | tuple) else x.value if isinstance(x, LowPrecision) else x


def compute_in(equation: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any], **manner: Any) -> Any:
    """Return the equation's value on float64 arrays, computed in these formats."""
    arguments, keywords = change_numbers(lambda x: LowPrecision(x, RoundingManner(**manner)), arguments, keywords)
    return equation(*arguments, **keywords).value
