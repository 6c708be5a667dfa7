"""The expectation of a call whose equation chooses the largest of some entries: by which of the open choices it is judged."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ..bounds.choices import Choices, judged_by
from ..bounds.derivation import StagedExpectation, expect
from ..bounds.sampled_error import Evaluate
from ..specification.float_errors import ignored_float_errors
from ..specification.formats import INTEGER, Arithmetic, Format, JoinedFormat
from ..specification.registry import Specification
from .parts import Parts


class Derive(Protocol):
    """What makes an expectation. The value in float64 is passed where it is known, so that an answer may be its rounding."""

    def __call__(self, evaluate: Evaluate, arithmetic: Arithmetic, *, exact: np.ndarray | None = None) -> StagedExpectation: ...


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


def expect_by_choice(call: AnsweredCall, evaluate: Evaluate, arithmetic: Arithmetic, derive: Derive) -> StagedExpectation:
    """Return the expectation of the choices that the backend made, where rounding leaves them open.

    A backend that returns indices has said what it chose. Of one that does not, the choice nearest to its answer is assumed.
    Without an answer, in gradients, and where too many choices are open, nothing is claimed of elements that depend on them.
    """
    choices, in_float64 = Choices(_answered_indices(call)), []

    def watch(wrap: Any) -> Any:
        in_float64.extend([True] if wrap is np.asarray else [])
        return evaluate(wrap)

    expectation = derive(_judge(watch, choices), arithmetic)
    shape = expectation.value.shape  # the value settles the choices
    rows = choices.open_rows()
    if rows is None:
        return expectation
    if call.operation.spec.declaration.passes_choices_on and rows.ndim:
        rows = np.logical_or.accumulate(rows, axis=-1)
    lost = rows if choices.answered is None or in_float64 else np.zeros_like(rows)
    if choices.answered is None and not in_float64 and _may_seek(call, choices, rows):
        alternatives, lost = choices.made[0].alternatives()
        observed = np.asarray(call.observed, dtype=np.float64)
        expectation = _expect_nearest(alternatives, observed, evaluate, arithmetic, derive, expectation.storage)
    expectation.leave_open(_spread(call, rows, shape), _spread(call, lost, shape))
    return expectation


def _judge(evaluate: Evaluate, choices: Choices) -> Evaluate:
    """Return the evaluation by these choices. An evaluation that makes no choices of its own repeats these."""

    def evaluate_by_choices(wrap: Any) -> Any:
        choices.repeated = 0
        with judged_by(choices):
            return evaluate(wrap)

    return evaluate_by_choices


def _answered_indices(call: AnsweredCall) -> np.ndarray | None:
    """Return the indices among the backend's results, or the probabilities of what it kept. None if there are none."""
    spec = call.operation.spec
    if call.observed is not None and (spec.declaration.keeps or (spec.is_whole and call.parts is None)):
        return np.asarray(call.observed, dtype=np.float64)
    if call.observed is None or call.parts is None or call.operation.spec.is_gradient:
        return None
    names = [name for name, rule in call.operation.spec.results.items() if rule == INTEGER]
    return call.parts.split(call.observed)[names[0]].astype(int) if names else None


def _may_seek(call: AnsweredCall, choices: Choices, rows: np.ndarray) -> bool:
    """Whether each row of the answer belongs to one row of the only choice."""
    return (
        call.observed is not None
        and not call.operation.spec.declaration.passes_choices_on
        and not call.operation.spec.is_gradient
        and len(choices.made) == 1
        and call.observed.shape[:-1] == rows.shape
    )


def _expect_nearest(
    alternatives: list[np.ndarray],
    observed: np.ndarray,
    evaluate: Evaluate,
    arithmetic: Arithmetic,
    derive: Derive,
    storage: Format | JoinedFormat,
) -> StagedExpectation:
    """Return the expectation of the choice of each row that is nearest to its answer.

    The values by each choice say which is nearest. If the expectation rejects a row of the answer by it, the others are tried
    that are possible in the worst case.
    """
    values = [_derive_forced(made, evaluate, arithmetic, derive).value for made in alternatives]
    distances = np.stack([_distance(observed, value) for value in values])
    order = np.argsort(distances, axis=0, kind="stable")[..., None]
    ranked = np.take_along_axis(np.stack(alternatives), order, axis=0)
    exact = np.take_along_axis(np.stack(values), order[:1], axis=0)[0]
    nearest = _derive_forced(ranked[0], evaluate, arithmetic, derive, exact)
    forced, rejected = ranked[0], ~np.all(nearest.accepts(observed), axis=-1)
    for made in ranked[1:]:
        if not np.any(rejected):
            break
        tried = rejected & (_share_of_worst_case(evaluate, arithmetic, storage, made, observed) <= 1)
        if np.any(tried):
            expectation = _derive_forced(np.where(tried[..., None], made, forced), evaluate, arithmetic, derive)
            accepted = tried & np.all(expectation.accepts(observed), axis=-1)
            forced, rejected = np.where(accepted[..., None], made, forced), rejected & ~accepted
    return nearest if forced is ranked[0] else _derive_forced(forced, evaluate, arithmetic, derive)


def _distance(observed: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Return how far each row of the answer is from its value. What is no number is infinitely far from all but its equal."""
    with ignored_float_errors():
        distance = np.abs(observed - value)
    distance = np.where((observed == value) | np.isnan(observed) & np.isnan(value), 0.0, np.nan_to_num(distance, nan=np.inf))
    return np.asarray(np.max(distance, axis=-1, initial=0.0))


def _derive_forced(
    made: np.ndarray, evaluate: Evaluate, arithmetic: Arithmetic, derive: Derive, exact: np.ndarray | None = None
) -> StagedExpectation:
    return derive(_judge(evaluate, Choices(forced=made)), arithmetic, exact=exact)


def _share_of_worst_case(
    evaluate: Evaluate, arithmetic: Arithmetic, storage: Format | JoinedFormat, made: np.ndarray, observed: np.ndarray
) -> np.ndarray:
    """Return the largest share of the allowed error, in the worst case, of each row of the answer by this choice."""
    worst_case = expect(_judge(evaluate, Choices(forced=made)), arithmetic, storage, sampled=False)
    return np.asarray(np.max(worst_case.share(observed), axis=-1, initial=0.0))


def _spread(call: AnsweredCall, rows: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return which elements of the result belong to these rows: all, if results do not belong to single rows."""
    shapes = [part.shape for part in call.parts] if call.parts else [shape]
    if not call.parts and rows.shape == shape:  # one element for each row
        return rows
    by_row = not call.operation.spec.is_gradient and all(s[:-1] == rows.shape for s in shapes)
    arrays = [np.broadcast_to(rows[..., None] if by_row else np.any(rows), s) for s in shapes]
    return np.concatenate([x.ravel() for x in arrays]) if call.parts else arrays[0]
