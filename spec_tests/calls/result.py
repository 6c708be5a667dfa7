"""The result of a call, with the error bound that is derived from the reference equation."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from ..bounds.bounded import Bounded
from ..bounds.expectation import Expectation
from ..specification.formats import FORMATS, Arithmetic
from .call import Call

WIDE = Arithmetic(FORMATS["float64"], FORMATS["float64"])  # in which laws compute with results


class ResultSlice(Bounded):
    """A slice of a result. Its error is computed lazily, because comparing identical bits never needs it.

    `shape` is that of an array among several in a vector.
    """

    of_backend = True

    def __init__(self, whole: Bounded, index: Any, shape: tuple[int, ...] | None = None):
        self.value, self.arithmetic, self._source = np.asarray(whole.value[index]), whole.arithmetic, (whole, index)
        self.value = self.value if shape is None else self.value.reshape(shape)

    @cached_property
    def error(self) -> np.ndarray:  # type: ignore[override]
        whole, index = self._source
        return np.asarray(whole.error[index]).reshape(self.value.shape)

    def __getitem__(self, index: Any) -> Bounded:
        return ResultSlice(self, index)


class Result(Bounded):
    """The backend's values. The error says how far the exact values may lie from them if the backend conforms."""

    of_backend = True

    def __init__(self, values: np.ndarray, call: Call):
        self.call, self.value, self.arithmetic = call, np.asarray(values, dtype=np.float64), WIDE

    def __getitem__(self, index: Any) -> Bounded:
        return ResultSlice(self, index)

    @property
    def parts(self) -> dict[str, Bounded]:
        """Return each array by its name. That of a single one is ""."""
        if self.call.parts is None:
            return {"": self}
        return {part.name: ResultSlice(self, part.elements, part.shape) for part in self.call.parts}

    def __iter__(self) -> Iterator[Bounded]:
        """Iterate over several results, or gradients, as over a tuple of them: `out, lse = attention_with_lse(q, k, v)`."""
        return iter(self.parts.values()) if self.call.parts else (self[i] for i in range(len(self)))

    @cached_property
    def error(self) -> np.ndarray:  # type: ignore[override]
        operation = self.call.operation
        expectation = self.call.expectation(operation.precision)
        if operation.precision == "exact":
            return expectation.radius
        if np.any(expectation.open):
            return np.where(expectation.open, np.inf, self._closed_error(expectation))
        return self._closed_error(expectation)

    def _closed_error(self, expectation: Expectation) -> np.ndarray:
        operation = self.call.operation
        # A law may compare two results, whose expected values the oracle computed separately: add the oracle's own rounding.
        oracle_error = expectation.error * (2.0**-53 / Arithmetic.of(operation.dtype).compute.u)
        return expectation.radius + oracle_error + (expectation.error if self.call.inexact else 0.0)
