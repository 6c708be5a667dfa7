"""The recurrence of linear attention as a method of `Bounded`, forward and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..specification.float_errors import ignored_float_errors
from ..specification.formats import Arithmetic
from .recurrence import Operands, Pair, recurrence_errors
from .recurrence_vjp import gradient_errors


class Recurs:
    """The recurrence of numbers that carry an error."""

    arithmetic: Arithmetic
    store: Any  # the methods of `Bounded`

    def recur(self, q: Any, k: Any, v: Any, g: Any, beta: Any, state: Any) -> Any:
        """Return the outs of all tokens and the last state behind them: see `reference_numpy._recurrence`."""
        with ignored_float_errors():
            operands = Operands(*(_split(x, type(self)) for x in (q, k, v, g, beta, state)))  # type: ignore[arg-type]
            pair = recurrence_errors(operands, self.arithmetic)
            return self.store(*pair, self.arithmetic.compute, 0.0)

    def recur_vjp(self, cotangent: Any, q: Any, k: Any, v: Any, g: Any, beta: Any, state: Any) -> list[Any]:
        """Return the gradients of the six arrays: see `reference_numpy._recurrence`."""
        with ignored_float_errors():
            of_rows, *given = (_split(x, type(self)) for x in (cotangent, q, k, v, g, beta, state))
            pairs = gradient_errors(of_rows, Operands(*given), self.arithmetic)  # type: ignore[arg-type]
            return [None if pair is None else self.store(*pair, self.arithmetic.compute, 0.0) for pair in pairs]


def _split(x: Any, kind: type[Any]) -> Pair | None:
    """Return the values and the errors of an operand, which may be a plain array without an error, or none."""
    if x is None:
        return None
    return x.pair if isinstance(x, kind) else (np.asarray(x, dtype=np.float64), np.zeros(np.shape(x)))
