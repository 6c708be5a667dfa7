"""What the backend answered, with the bound that the equation allows around it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..bounds.bounded import Bounded
from ..specification.formats import FORMATS, Arithmetic
from .call import Call

WIDE = Arithmetic(FORMATS["float64"], FORMATS["float64"])  # of the suite's own algebra on results


class Part(Bounded):
    """Some of a result. Its error is worked out when somebody asks: where two sides have the same bits, nobody does."""

    def __init__(self, whole: Bounded, index: Any):
        self.value, self.arithmetic, self._of = np.asarray(whole.value[index]), whole.arithmetic, (whole, index)

    @cached_property
    def error(self) -> np.ndarray:  # type: ignore[override]
        whole, index = self._of
        return np.asarray(whole.error[index])

    def __getitem__(self, index: Any) -> Bounded:
        return Part(self, index)


class Result(Bounded):
    """What the backend answered, ± how far from it the truth may be if the backend conforms."""

    def __init__(self, values: np.ndarray, call: Call):
        self.call, self.value, self.arithmetic = call, np.asarray(values, dtype=np.float64), WIDE

    def __getitem__(self, index: Any) -> Bounded:
        return Part(self, index)

    @cached_property
    def error(self) -> np.ndarray:  # type: ignore[override]
        operation = self.call.operation
        expectation = self.call.expectation(operation.precision)
        if operation.precision == "exact":
            return expectation.radius
        oracle = expectation.error * (2.0**-53 / Arithmetic.of(operation.dtype).compute.u)  # two of its values may be compared
        return expectation.radius + oracle + (expectation.error if self.call.inexact else 0.0)
