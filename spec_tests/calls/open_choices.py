"""The expectation of a call whose equation chooses the largest of some entries: by which of the open choices it is judged."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np

from ..bounds.bounded import Bounded
from ..bounds.choices import Choices, judged_by
from ..bounds.expectation import Expectation
from ..bounds.sampled_error import Evaluate
from ..specification.formats import INTEGER, Arithmetic
from ..specification.registry import Specification
from .parts import Parts

Derive = Callable[[Evaluate, Arithmetic], Expectation]


class HasSpecification(Protocol):
    """What is asked of an operation."""

    @property
    def spec(self) -> Specification: ...


class AnsweredCall(Protocol):
    """What is asked of a call. `Call` meets it; importing that here would be a circle."""

    observed: np.ndarray | None

    @property
    def operation(self) -> HasSpecification: ...

    @property
    def parts(self) -> Parts | None: ...


def expect_by_choice(call: AnsweredCall, evaluate: Evaluate, arithmetic: Arithmetic, derive: Derive) -> Expectation:
    """Return the expectation of the choices that the backend made, where rounding leaves them open.

    A backend that returns indices has said what it chose. Of one that does not, the choice nearest to its answer is assumed.
    Without an answer, in gradients, and where too many choices are open, nothing is claimed of elements that depend on them.
    """
    choices, in_float64 = Choices(_answered_indices(call)), []

    def watch(wrap: Any) -> Any:
        in_float64.extend([True] if wrap is np.asarray else [])
        return evaluate(wrap)

    with judged_by(choices):
        expectation = derive(watch, arithmetic)
    rows = choices.open_rows()
    if rows is None:
        return expectation
    if call.operation.spec.passes_choices_on and rows.ndim:
        rows = np.logical_or.accumulate(rows, axis=-1)
    lost = rows if choices.answered is None or in_float64 else np.zeros_like(rows)
    if choices.answered is None and not in_float64 and _may_seek(call, choices, rows):
        alternatives, lost = choices.made[0].alternatives()
        values = [_evaluate_forced(evaluate, arithmetic, indices) for indices in alternatives]
        nearest = _nearest(values, np.asarray(call.observed, dtype=np.float64))
        forced = np.take_along_axis(np.stack(alternatives), nearest[None, ..., None], axis=0)[0]
        with judged_by(Choices(forced=forced)):
            expectation = derive(evaluate, arithmetic)
    spread = partial(_spread, call, shape=expectation.value.shape)
    result = Expectation(expectation.value, np.where(spread(lost), np.inf, expectation.error), expectation.storage)
    result.open = spread(rows)
    return result


def _answered_indices(call: AnsweredCall) -> np.ndarray | None:
    """Return the indices among the backend's results, None if there are none."""
    if call.observed is None or call.parts is None or call.operation.spec.is_gradient:
        return None
    names = [name for name, rule in call.operation.spec.results.items() if rule == INTEGER]
    return call.parts.split(call.observed)[names[0]].astype(int) if names else None


def _may_seek(call: AnsweredCall, choices: Choices, rows: np.ndarray) -> bool:
    """Whether each row of the answer belongs to one row of the only choice."""
    return (
        call.observed is not None
        and not call.operation.spec.passes_choices_on
        and not call.operation.spec.is_gradient
        and len(choices.made) == 1
        and call.observed.shape[:-1] == rows.shape
    )


def _evaluate_forced(evaluate: Evaluate, arithmetic: Arithmetic, indices: np.ndarray) -> np.ndarray:
    with judged_by(Choices(forced=indices)), np.errstate(all="ignore"):
        value: np.ndarray = evaluate(lambda x: Bounded.input(x, arithmetic)).value
    return value


def _nearest(values: list[np.ndarray], observed: np.ndarray) -> np.ndarray:
    """Return the number of the value that is nearest to what was observed, for each row."""
    with np.errstate(all="ignore"):
        distances = [np.max(np.nan_to_num(np.abs(v - observed), nan=np.inf), axis=-1, initial=0.0) for v in values]
    return np.asarray(np.argmin(np.stack(distances), axis=0))


def _spread(call: AnsweredCall, rows: np.ndarray, *, shape: tuple[int, ...]) -> np.ndarray:
    """Return which elements of the result belong to these rows: all, if results do not belong to single rows."""
    shapes = [part.shape for part in call.parts] if call.parts else [shape]
    by_row = not call.operation.spec.is_gradient and all(s[:-1] == rows.shape for s in shapes)
    arrays = [np.broadcast_to(rows[..., None] if by_row else np.any(rows), s) for s in shapes]
    return np.concatenate([x.ravel() for x in arrays]) if call.parts else arrays[0]
