"""A failing call that is made again: with the same values, in other circumstances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..calls.call import Call
from ..calls.recorder import Recorder
from ..calls.violation import Lost, NotImplementedVariant, Violation
from ..diagnosis.evidence import truth_of
from ..implementation.framework import CannotMakeArray
from ..specification.formats import is_floating

Native = tuple[tuple[Any, ...], dict[str, Any]]


def do_nothing() -> None:
    """Do nothing between a call and the reading of its result."""


class RepeatedCall:
    """One call, which can be made again. Once a repeat is lost, no other is made."""

    def __init__(self, call: Call, *, is_lost: bool = False):
        own: Any = call.operation
        self.call, self.operation, self.is_lost = call, replace(own, recorder=Recorder()), is_lost
        self.results: list[tuple[Call, Any]] = []  # that are kept, to be read again
        self.last: Native | None = None

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The arguments that are arrays of floating numbers, by name."""
        return {name: x for name, x in self.call.named.items() if is_floating(x) and x.size}

    def make_arguments(self) -> Native | None:
        """Return new arrays of the framework with the values of the arguments, None if there are none."""
        try:
            native: Native = self.operation.native(self._copy())
        except (Violation, NotImplementedVariant, CannotMakeArray) as error:
            self.is_lost = self.is_lost or isinstance(error, Lost)
            return None
        return native

    def with_argument(self, native: Native, change: Callable[[str, Any], Any]) -> Native:
        """Return the arrays with a change of each, which is given its name."""
        positional = tuple(change(name, x) for name, x in zip(self.operation.spec.positional, native[0], strict=False))
        return positional, {name: change(name, x) for name, x in native[1].items()}

    def answer(
        self, native: Native | None = None, between: Callable[[], object] = do_nothing, *, keeps: bool = False
    ) -> np.ndarray | None:
        """Return the answer on new arrays, or on these; None if there is none.

        between: is called after the backend has returned, before its result is read. keeps: the result is kept.
        """
        if self.is_lost or (native := native or self.make_arguments()) is None:
            return None
        call = self._copy()
        try:
            result = self.operation.run(call, native)
            between()
            values = np.asarray(self.operation.values(call, result), dtype=np.float64)
        except (Violation, NotImplementedVariant, CannotMakeArray) as error:
            self.is_lost = isinstance(error, Lost)
            return None
        if keeps:
            self.results.append((call, result))
        return values if values.shape == self.call.value.shape else None

    def read_again(self) -> list[np.ndarray]:
        """Return what the results hold now that were kept."""
        return [np.asarray(self.operation.values(call, result), dtype=np.float64) for call, result in self.results]

    def wrong_in(self, answer: np.ndarray) -> np.ndarray:
        """Return which elements of an answer are wrong."""
        return np.asarray(~truth_of(self.call).accepts(answer))

    def is_wrong(self, answer: np.ndarray) -> bool:
        """Whether an answer is wrong."""
        return bool(np.any(self.wrong_in(answer)))

    def with_values(self, name: str, values: np.ndarray) -> RepeatedCall:
        """Return the call with other values of one argument."""
        positional = self.operation.spec.positional
        arguments = [values if n == name else x for n, x in zip(positional, self.call.arguments, strict=False)]
        keywords = {n: values if n == name else x for n, x in self.call.keywords.items()}
        return RepeatedCall(Call(self.operation, tuple(arguments), keywords), is_lost=self.is_lost)

    def _copy(self) -> Call:
        """Return the call without its answer. What the equation gives for it is kept."""
        copy = Call(self.operation, self.call.arguments, self.call.keywords)
        copy.__dict__["_settled"] = self.call._settled
        return copy
