"""The result of a call, with the error bound that is derived from the reference equation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from operator import getitem
from typing import Any

import numpy as np

from ..bounds.bounded import Bounded
from ..bounds.expectation import Stage
from ..specification.formats import FORMATS, Arithmetic
from .call import Call

WIDE = Arithmetic(FORMATS["float64"], FORMATS["float64"])  # in which laws compute with results


class Answered(Bounded):
    """Numbers that come from the backend's answers. Their error is derived only as far as a comparison needs it."""

    of_backend = True

    def error_at(self, stage: Stage) -> np.ndarray:
        """Return the error at a stage of its derivation."""
        raise NotImplementedError

    @cached_property
    def error(self) -> np.ndarray:  # type: ignore[override]
        return self.error_at(Stage.WHOLE)

    def at_stage(self, stage: Stage) -> Bounded:
        known = self.error if stage == Stage.WHOLE else self.error_at(stage)
        result = Bounded(self.value, known, self.arithmetic)
        result.of_backend = True
        return result

    def with_values(self, values: np.ndarray) -> Bounded:
        """Return other values with the same error."""
        return Computed(Bounded.with_values, (self, values), {})

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **options: Any) -> Any:
        return Computed(getattr(ufunc, method), args, options)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, options: Any) -> Any:
        return Computed(function, args, options)


class Computed(Answered):
    """What a law computes from answers: `function(*args, **options)`, evaluated with the errors of a stage."""

    def __init__(self, function: Callable[..., Any], args: Any, options: dict[str, Any]):
        self._function, self._args, self._options = function, args, options
        self.value, self.arithmetic = self.at_stage(Stage.STORED).value, WIDE

    def at_stage(self, stage: Stage) -> Bounded:
        result: Bounded = self._function(*_at_stage(stage, self._args), **_at_stage(stage, self._options))
        return result

    def error_at(self, stage: Stage) -> np.ndarray:
        return self.at_stage(stage).error

    def __getitem__(self, index: Any) -> Bounded:
        return Computed(getitem, (self, index), {})


class ResultSlice(Answered):
    """A slice of a result. `shape` is that of an array among several in a vector."""

    def __init__(self, whole: Bounded, index: Any, shape: tuple[int, ...] | None = None):
        self.value, self.arithmetic, self._source = np.asarray(whole.value[index]), whole.arithmetic, (whole, index)
        self.value = self.value if shape is None else self.value.reshape(shape)

    def error_at(self, stage: Stage) -> np.ndarray:
        whole, index = self._source
        return np.asarray(whole.at_stage(stage).error[index]).reshape(self.value.shape)

    def __getitem__(self, index: Any) -> Bounded:
        return ResultSlice(self, index)


class Result(Answered):
    """The backend's values. The error says how far the exact values may lie from them if the backend conforms."""

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

    def error_at(self, stage: Stage) -> np.ndarray:
        operation, whole = self.call.operation, self.call.expectation(self.call.operation.precision)
        # Arguments with errors of their own: two results may lie as far apart as both of their expected values.
        expectation = whole if self.call.inexact else whole.at_stage(stage)
        if operation.precision == "exact":
            return expectation.radius
        # A law may compare two results, whose expected values the oracle computed separately: add the oracle's own rounding.
        oracle_error = expectation.error * (2.0**-53 / Arithmetic.of(operation.dtype).compute.u)
        closed = expectation.radius + oracle_error + (expectation.error if self.call.inexact else 0.0)
        return np.where(whole.open, np.inf, closed) if np.any(whole.open) else closed


def _at_stage(stage: Stage, x: Any) -> Any:
    """Replace each answer in nested arguments by the number with its error at the stage."""
    if isinstance(x, Answered):
        return x.at_stage(stage)
    if isinstance(x, list | tuple):
        return type(x)(_at_stage(stage, item) for item in x)
    return {key: _at_stage(stage, item) for key, item in x.items()} if isinstance(x, dict) else x
