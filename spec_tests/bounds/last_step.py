"""The least error that every bound allows: that of one of the last steps of an equation, which no other rounding can undo.

An answer within this error is right whatever the other steps add, so that the bound, which costs ten times as much, need not be
known. See "An answer that is right whatever the bound is" in docs/bounds.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any, Self

import numpy as np

from ..specification.formats import Arithmetic, Format
from .axis_of_draws import align_ranks, broadcast_draws, shift_axis
from .random_rounding import root_of_squares, spread_of_partial_sums
from .sample import Sample
from .sampled_error import simulated_compute

CERTAIN_SIGMAS = 4  # of one sum, where the bound allows SIGMAS = 10; docs/bounds.md has the chance that it allows less


class LastStep(Sample):
    """A value, and the value moved by the largest rounding that only this value has, which is mostly that of its last step.

    A step takes over the rounding of the operand that was computed last. No other operand depends on it, so nothing undoes it.
    """

    stream: Any  # the count of steps, in place of the random numbers of a Sample
    made = 0  # the number of the oldest step whose rounding the second draw may hold; 0: an argument, which has none
    latest = 0  # the number of the last step on which the value depends

    @classmethod
    def input(cls, x: Any, arithmetic: Arithmetic, stream: Any) -> Self:
        """Make an argument of the equation, which has no error. In place of random numbers, `stream` counts the steps."""
        return cls(np.asarray(x, dtype=np.float64)[None], arithmetic, stream)

    def at(self, value: np.ndarray) -> LastStep:
        result = LastStep(value, self.arithmetic, self.stream)
        result.made, result.latest = self.made, self.latest
        return result

    @property
    def exactly(self) -> LastStep:
        """The value without a rounding."""
        return self.at(self.value[:1])

    def perturb(self, value: np.ndarray, size: np.ndarray) -> np.ndarray:
        """Return the value, and the value moved by `size`, or by the rounding that it has if that is larger."""
        first = value[:1]
        return np.concatenate(np.broadcast_arrays(first, first + np.maximum(size, np.abs(value[-1:] - first))))

    def round_literal(self, x: Any) -> np.ndarray:
        return np.asarray(x, dtype=np.float64)[None]

    def or_in_float32(self) -> LastStep:
        return self

    def store(self, x: np.ndarray, f: Format) -> np.ndarray:
        return x

    def held(self, f: Format) -> LastStep:
        return self.at(f.round(self.value[:1]))

    def eager(self) -> LastStep:
        return self

    def wide(self) -> LastStep:
        return self

    def exact(self) -> LastStep:
        return self.exactly

    def positive(self) -> LastStep:
        return self.at(np.where(self.value[:1] > 0, 1.0, 0.0))

    def below(self, limit: float, first: Any, second: Any, slack: float) -> LastStep:
        return self.at((first if self.value[0] < limit else second).value[:1])

    def through_maximum(self, left: Sample, x: Sample, axis: int) -> LastStep:
        return self

    def recomputed(self, scores: Callable[..., Any], operands: Any, axis: int) -> LastStep:
        return self.at(np.ones((1,) * (self.ndim + 1)))

    # --- NumPy's protocols ------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **options: Any) -> Any:
        own, kept = [x for x in args if isinstance(x, LastStep)], None
        last = max(own, key=lambda x: x.made)
        is_alone = all(x is last or x.latest < last.made for x in own) and sum(x is last for x in own) == 1
        if is_alone and ufunc.__name__ != "matmul":
            kept = last
        operands = [x.exactly if isinstance(x, LastStep) and x is not kept else x for x in args]
        if ufunc.__name__ == "matmul":
            result = self._multiply_matrices(*operands)
        else:
            result = super().__array_ufunc__(ufunc, method, *operands, **options)
        if isinstance(result, LastStep):
            result.latest = next(self.stream)
            result.made = kept.made if kept is not None and len(kept.value) > 1 else result.latest
        return result

    def _multiply_matrices(self, *operands: Any) -> LastStep:
        with np.errstate(all="ignore"):
            a, b = (x.value if isinstance(x, LastStep) else self.round_literal(x) for x in operands)
            is_vector = a.ndim == 2  # the axis of the draws is not that of rows
            a, b = align_ranks([a[:, None] if is_vector else a, b])
            value, n = np.matmul(a, b), a.shape[-1]
            spread = spread_of_partial_sums(n, value, root_of_squares(a, b, self.arithmetic.compute))
            moved = self.perturb(value, certain_sigmas(n) * self.arithmetic.compute.u * spread)
            return self.at(moved[..., 0, :] if is_vector else moved)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, options: Any) -> Any:
        name = function.__name__
        operands = [x for x in (args[0] if name in ("concatenate", "stack") else args) if isinstance(x, LastStep)]
        if name in ("concatenate", "stack"):
            values = broadcast_draws([x.value if isinstance(x, LastStep) else self.round_literal(x) for x in args[0]])
            result: Any = self.at(function(values, axis=shift_axis(options["axis"])))
        elif name in ("sum", "mean", "max"):
            result = super().__array_function__(function, types, (args[0].exactly, *args[1:]), options)
        else:
            result = super().__array_function__(function, types, args, options)
        if isinstance(result, LastStep) and name != "mean":  # a mean is a division, which has set its own
            result.latest = next(self.stream) if name == "sum" else max(x.latest for x in operands)
            result.made = result.latest if name == "sum" else min((x.made for x in operands if x.made), default=0)
        return result

    def _sum(self, x: np.ndarray, total: np.ndarray, options: Any) -> LastStep:
        n = x.shape[options["axis"]]
        spread = spread_of_partial_sums(n - 1, total, np.sqrt(np.sum(np.square(x), **options)))
        return self.at(self.perturb(total, certain_sigmas(n - 1) * self.arithmetic.compute.u * spread))


def certain_sigmas(n: int) -> float:
    """Return how much of the spread of n additions every bound allows: CERTAIN_SIGMAS, and no more than the worst case.

    The spread is at most sqrt(2n/3 + 1) times the sum of the sizes of the terms, and the worst case is n times that sum.
    """
    return min(CERTAIN_SIGMAS, n / (2 * n / 3 + 1) ** 0.5)


def least_error(evaluate: Callable[[Callable[[Any], Any]], Any], arithmetic: Arithmetic) -> np.ndarray:
    """Return for each element of an equation's result an error that its bound allows in every precision class."""
    arithmetic, factor = simulated_compute(replace(arithmetic, precision="fused"))
    with np.errstate(all="ignore"):
        steps = count(1)
        draws = evaluate(lambda x: LastStep.input(x, arithmetic, steps)).value
        return np.asarray(factor * np.abs(draws[-1] - draws[0]))
