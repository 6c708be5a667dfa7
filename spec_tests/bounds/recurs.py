"""The recurrence of linear attention as a method of `Bounded`, forward and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..specification.float_errors import ignored_float_errors
from ..specification.formats import Arithmetic
from .recurrence import recurrence_errors
from .recurrence_operands import Operands, Pair
from .recurrence_vjp import gradient_errors


class Recurs:
    """The recurrence of numbers that carry an error."""

    arithmetic: Arithmetic
    store: Any  # the methods of `Bounded`

    def recur(self, *operands: Any) -> Any:
        """Return the outs of all tokens and the last state behind them: see `reference_numpy._recurrence`."""
        with ignored_float_errors():
            pair = recurrence_errors(_operands(operands, type(self)), self.arithmetic)
            return self.store(*pair, self.arithmetic.compute, 0.0)

    def recur_vjp(self, cotangent: Any, *operands: Any) -> list[Any]:
        """Return the gradients of the six arrays: see `reference_numpy._recurrence`."""
        with ignored_float_errors():
            of_rows, given = _split(cotangent, type(self)), _operands(operands, type(self))
            pairs = gradient_errors(of_rows, given, self.arithmetic)  # type: ignore[arg-type]
            return [None if pair is None else self.store(*pair, self.arithmetic.compute, 0.0) for pair in pairs]


def _operands(operands: tuple[Any, ...], kind: type[Any]) -> Operands:
    """Return the arrays of the recurrence with their errors, and what stands before v and the reads."""
    arrays, (steps, scale) = operands[:6], (x.value if isinstance(x, kind) else x for x in operands[6:])
    steps = None if steps is None else np.asarray(steps)
    q, k, v, g, beta, state = (_split(x, kind) for x in arrays)
    return Operands(q, k, v, g, beta, state, steps, float(scale))  # type: ignore[arg-type]


def _split(x: Any, kind: type[Any]) -> Pair | None:
    """Return the values and the errors of an operand, which may be a plain array without an error, or none."""
    if x is None:
        return None
    return x.pair if isinstance(x, kind) else (np.asarray(x, dtype=np.float64), np.zeros(np.shape(x)))
