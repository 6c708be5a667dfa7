"""The derivation of an expectation: the worst case of an equation, or its sampled error, as far as a question needs them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from ..specification.float_errors import ignored_float_errors
from ..specification.formats import Arithmetic, Format, JoinedFormat
from .bounded import Bounded
from .expectation import Expectation, Stage
from .sampled_error import Evaluate, few_draws_error, sampled_error


def expect(evaluate: Evaluate, arithmetic: Arithmetic, storage: Format | JoinedFormat, *, sampled: bool) -> Expectation:
    """Return the oracle's value and the error that `arithmetic` allows: the worst case, or the sampled error if it is smaller.

    sampled: whether the error is also sampled. The worst case of chained matrix products is too large to be useful. But only the
    worst case propagates errors that arguments have of their own.
    """
    return StagedExpectation(evaluate, arithmetic, storage, sampled=sampled).at_stage(Stage.WHOLE)


class StagedExpectation(Expectation):
    """An expectation whose value and error are derived when they are asked for, and no further than that.

    exact: the value of the equation in float64, if it is known. An answer that is its rounding is right whatever the error is.
    """

    def __init__(
        self,
        evaluate: Evaluate,
        arithmetic: Arithmetic,
        storage: Format | JoinedFormat,
        *,
        sampled: bool,
        exact: np.ndarray | None = None,
    ):
        self.evaluate, self.arithmetic, self.storage = evaluate, arithmetic, storage
        self.sampled, self.exact, self.open = sampled, exact, np.zeros((), dtype=bool)
        self.lost: np.ndarray | None = None  # the elements of which nothing is claimed, None if there are none
        self._stages: dict[Stage, Expectation] = {}

    def leave_open(self, open_: np.ndarray, lost: np.ndarray) -> None:
        """Note the elements that depend on an open choice, and those among them of which nothing is claimed."""
        self.open, self.lost = open_, lost
        self._stages = {stage: self._with_error(one.error) for stage, one in self._stages.items()}

    @property
    def value(self) -> np.ndarray:  # type: ignore[override]
        return self._center[0]

    @property
    def error(self) -> np.ndarray:  # type: ignore[override]
        return self.at_stage(Stage.WHOLE).error

    @property
    def is_whole(self) -> bool:
        """Whether the whole error was derived."""
        return Stage.WHOLE in self._stages

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        return self.at_stage(Stage.WHOLE).ends

    @property
    def claimed(self) -> np.ndarray:
        worst = self._at_worst.claimed
        return worst if np.all(worst) else self.at_stage(Stage.WHOLE).claimed

    def at_stage(self, stage: Stage) -> Expectation:
        if stage not in self._stages:
            if stage == Stage.STORED:
                self._stages[stage] = self._without_error()
            elif self._worst[2]:
                self._stages[Stage.FEW] = self._stages[Stage.WHOLE] = self._with_error(self._worst[1])
            elif Stage.WHOLE in self._stages:
                return self._stages[Stage.WHOLE]
            else:
                self._stages[stage] = self._sample(few_draws_error if stage == Stage.FEW else sampled_error)
        return self._stages[stage]

    def _without_error(self) -> Expectation:
        """Return the exact value, if there is one. Where it is NaN, its error says whether anything is claimed."""
        if self.exact is None or np.any(np.isnan(self.exact)):
            return self.at_stage(Stage.FEW)
        return Expectation(self.exact, np.zeros(self.exact.shape), self.storage)

    def _sample(self, sample: Callable[[Evaluate, np.ndarray, Arithmetic], np.ndarray]) -> Expectation:
        with ignored_float_errors():
            return self._with_error(np.minimum(self._worst[1], sample(self.evaluate, self._center[1], self.arithmetic)))

    @property
    def _at_worst(self) -> Expectation:
        """The expectation with the error of the worst case, which no error exceeds."""
        return self._with_error(self._worst[1])

    def _with_error(self, error: np.ndarray) -> Expectation:
        error = error if self.lost is None else np.where(self.lost, np.inf, error)
        return Expectation(self.value, error, self.storage)

    def accepts(self, result: np.ndarray) -> np.ndarray:
        """Return whether each element of the result is within its bound. The error is derived only as far as this needs it."""
        if self._is_nearest(result):
            return np.ones(np.shape(result), dtype=bool)
        if self.is_whole:
            return self.at_stage(Stage.WHOLE).accepts(result)
        accepted = self.at_stage(Stage.FEW).accepts(result)
        is_decided = np.all(accepted) or np.all(accepted | ~self._at_worst.accepts(result))
        return accepted if is_decided else self.at_stage(Stage.WHOLE).accepts(result)

    def accepts_all(self, result: np.ndarray) -> bool:
        """Return whether every element of the result is within its bound. What exceeds the worst case exceeds the bound."""
        if not self._is_nearest(result) and not self._worst[2]:
            return bool(np.all(self._at_worst.accepts(result)) and np.all(self.accepts(result)))
        return super().accepts_all(result)

    def _is_nearest(self, result: np.ndarray) -> bool:
        """Whether each element is the value of the equation as stored. A NaN is not."""
        with ignored_float_errors():
            return self.exact is not None and np.array_equal(self.storage.round(self.exact), result)

    @cached_property
    def _worst(self) -> tuple[np.ndarray, np.ndarray, bool]:
        """The value and the error in the worst case, and whether this is the error that is allowed."""
        with ignored_float_errors():  # where the value is infinite, the error says whether anything is claimed
            value, error = self.evaluate(lambda x: Bounded.input(x, self.arithmetic)).pair
            if self.arithmetic.compute.precision == 53:
                error = 2 * error  # the oracle is a float64 implementation too, with an error of its own
        return value, error, not (self.sampled and value.size and not _is_below_storage_rounding(error, value, self.storage))

    @cached_property
    def _center(self) -> tuple[np.ndarray, np.ndarray]:
        """The value around which the error lies, and that of the equation in float64.

        `Bounded` reports an infinity where the worst case overflows; the value of the equation may still be finite.
        """
        value, error, is_final = self._worst
        if is_final:
            return value, value
        with ignored_float_errors():
            exact = value if np.all(np.isfinite(value)) else self.evaluate(np.asarray)
            return np.where(np.isfinite(value) | np.isinf(error), exact, value), exact


def _is_below_storage_rounding(error: np.ndarray, value: np.ndarray, storage: Format | JoinedFormat) -> bool:
    """Return whether the error is so far below the rounding on storage that a sampled one could not change a verdict."""
    return bool(np.all(error <= storage.u * np.abs(value) / 16))
