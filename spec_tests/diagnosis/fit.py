"""How well an equation explains what a backend answered: a known deviation, or a neighbour of the reference equation.

The equation of a deviation runs on the same arguments and number types as the reference equation, so it too has an error bound.
It explains answers if each lies within its bound, and if the wrong ones lie where the two bounds do not overlap.
Where an equation is NaN, its bound claims nothing, and anything may make an answer NaN: finite answers must speak for it too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..bounds.expectation import Expectation
from ..calls.call import Call
from ..deviations import Deviation
from ..deviations._low_precision import LowPrecision, RoundingManner
from ..deviations._oracle_backend import prepare
from ..specification.formats import Arithmetic
from ..specification.work import IsOver, never
from .evidence import answer_of, truth_of, wrong_in

MAX_SILENT_CALLS = 8  # the smallest wrong ones, in none of which a deviation is wrong in float64


class Candidate(Protocol):
    """What a fit asks of an equation: of a deviation of the catalogue, or of a neighbour of the reference equation."""

    @property
    def id(self) -> str: ...

    @property
    def operation(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def function(self) -> Callable[..., Any]: ...

    def shows_in(self, dtype: str) -> bool: ...


@dataclass
class Fit:
    """How well a deviation explains the calls."""

    deviation: Any
    told_apart: int = 0  # wrong elements that the deviation explains and the right equation cannot
    speaking: int = 0  # calls with such elements
    finite: int = 0  # calls in which a finite answer speaks for it: a wrong or right one, unless it holds in a mode that is NaN
    silent: int = 0  # other calls with wrong elements for which it has no value, such as those of a query that then sees no key
    filled: int = 0  # other calls in which all such elements are 0, as code gives a query that sees no key
    distance: float = 0.0  # the largest distance of the deviation from a wrong element, relative to that of the truth

    @property
    def order(self) -> tuple[Any, ...]:
        """Return the key by which fits are sorted, the best first: a small distance, then many elements told apart."""
        return (round(np.log2(self.distance + 2.0**-20)), -self.told_apart)

    @property
    def speaks(self) -> bool:
        """Whether values speak for it in more calls than those in which it has none, and in two if some are filled with 0."""
        return self.finite > 0 and self.speaking > max(self.silent, self.filled > 0)

    def count(self, explained: ExplainedElements) -> None:
        """Count what it explains of a wrong call."""
        self.told_apart += explained.told_apart
        self.speaking += explained.told_apart > 0
        self.finite += explained.finite > 0
        if explained.told_apart == 0:
            self.silent += explained.undefined > explained.filled
            self.filled += explained.undefined == explained.filled > 0
        self.distance = max(self.distance, explained.distance)


class ExplainedElements(NamedTuple):
    """What the equation of a deviation explains of one wrong answer. All but the last count elements."""

    told_apart: int = 0  # wrong ones that only the deviation explains
    finite: int = 0  # finite ones that speak for it
    undefined: int = 0  # wrong ones for which it has no value
    filled: int = 0  # those of the latter that are 0
    distance: float = 0.0  # the largest distance from its value, as a share of that from the truth


def predicts(deviation: Deviation, call: Call) -> bool | None:
    """Whether the answer of a call is that of the deviation; None if the deviation and the right equation agree there."""
    if any(_explain(deviation, call, precision) for precision in call.operation.classes()):
        return True
    if not shows(deviation, call):
        return None
    return deviation.kind == "arithmetic" and allows(deviation, call)


def try_fit(deviation: Candidate, wrong: Sequence[Call], right: Sequence[Call], is_late: IsOver = never) -> Fit | None:
    """Return how well the deviation explains the calls, None if it contradicts one or explains no wrong element alone.

    It is None too if `is_late` returns True before all calls are judged.
    """
    fit = Fit(deviation)
    if is_late():
        return None
    speaks = False
    for number, call in enumerate(wrong, start=1):
        if is_nearer(deviation, call):
            speaks = True
        elif shows(deviation, call):
            return None  # where a deviation is right in float64, its arithmetic may still be wrong
        if not speaks and number >= MAX_SILENT_CALLS:
            return None
    if not speaks:
        return None
    for call in right:
        if is_late() or not explains(deviation, call):
            return None
        fit.finite += getattr(deviation, "mode", None) is None and bool(np.isfinite(answer_of(call)).any())
    for call in wrong:
        if is_late():
            return None
        for precision in call.operation.classes():
            if explained := _explain(deviation, call, precision):
                break
        else:
            return None
        fit.count(explained)
    return fit if fit.speaks else None


def explains(deviation: Candidate, call: Call) -> bool:
    """Whether the answer of a call is the one that the deviation's equation gives, in some precision class that passes."""
    if not shows(deviation, call):
        return not np.any(wrong_in(call)) or allows(deviation, call)
    if not np.any(wrong_in(call)):
        return allows(deviation, call) and not _overflows(deviation, call)
    return any(_explain(deviation, call, precision) is not None for precision in call.operation.classes())


def _cache(judge: Callable[..., Any]) -> Callable[..., Any]:
    """Keep what a deviation makes of a call, since many failures share their evidence."""

    @wraps(judge)
    def look_up(deviation: Candidate, call: Call, *others: Any) -> Any:
        key = judge.__name__, deviation.id, *others
        if key not in call.deviation_results:
            call.deviation_results[key] = judge(deviation, call, *others)
        return call.deviation_results[key]

    return look_up


@_cache
def allows(deviation: Candidate, call: Call) -> bool:
    """Whether the deviation allows the answer in some precision class that passes."""
    values, equation, observed = evaluate(deviation, call), _prepare_equation(deviation, call), answer_of(call)
    if values is None or values.shape != observed.shape:
        return False
    try:
        return any(call.expect(precision, equation, values).accepts_all(observed) for precision in call.operation.classes())
    except Exception:
        return False  # the deviation does not take this number type


def _overflows(deviation: Candidate, call: Call) -> bool:
    """Whether the deviation has no finite value in float64 where the answer has one: no format has a wider range."""
    values, observed = evaluate(deviation, call), answer_of(call)
    return values is None or bool(np.any(~np.isfinite(values) & np.isfinite(observed) & ~_says_nothing(values, observed)))


def _says_nothing(values: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Return where the deviation has no value and the answer is 0, as for a query that sees no key. It may be right by chance."""
    return np.isnan(values) & (observed == 0)


def evaluate(deviation: Candidate, call: Call) -> np.ndarray | None:
    """Return the values of the deviation in float64, None if it cannot be evaluated. Those of the last one are kept."""
    last, values = call.deviation_results.get("last values", ("", None))
    if last != deviation.id:
        values = _evaluate_in_float64(deviation, call)
        call.deviation_results["last values"] = deviation.id, values
    return values


def _evaluate_in_float64(deviation: Candidate, call: Call) -> np.ndarray | None:
    """Return the values in float64. An answer that says what it keeps decides that here, too, where it is open."""
    equation = _prepare_equation(deviation, call)
    try:
        with np.errstate(all="ignore"):
            if call.kept_by_answer is None:
                values = np.asarray(call.evaluate(np.asarray, equation), dtype=np.float64)
            else:
                values = call.expect(call.operation.precision, equation).value
    except Exception:
        return None
    return values if values.shape == call.value.shape else None


def _evaluate_in_steps(deviation: Candidate, call: Call) -> list[np.ndarray]:
    """Return the values of the deviation if every step is rounded to the dtype, and to the format that it is computed in.

    They differ most where a step overflows or underflows. Return [] for a deviation that rounds its steps itself.
    """
    found = []
    for steps in dict.fromkeys([call.operation.storage, Arithmetic.of(call.operation.dtype).compute]):
        manner, equation = RoundingManner(steps=steps), _prepare_equation(deviation, call)
        with suppress(Exception), np.errstate(all="ignore"):
            found.append(call.evaluate(partial(_as_low_precision, manner), equation).value)
    return [values for values in found if values.shape == call.value.shape]


def _as_low_precision(manner: RoundingManner, x: Any) -> LowPrecision:
    return LowPrecision(np.asarray(x, dtype=np.float64), manner)


def _prepare_equation(deviation: Candidate, call: Call) -> Any:
    """Return the equation of the deviation, as `Call.evaluate` takes it."""
    return prepare(deviation.operation, deviation.function, call.operation.storage)


@_cache
def is_nearer(deviation: Candidate, call: Call) -> bool:
    """Whether most wrong elements are nearer to the deviation than to the truth. A cheap test before `_explain`."""
    values, observed = evaluate(deviation, call), answer_of(call)
    if values is None:
        return False
    with np.errstate(all="ignore"):
        near = np.abs(observed - call.storage.round(values)) < np.abs(observed - truth_of(call).value)
    wrong = wrong_in(call)
    return bool(2 * np.sum((near | ~np.isfinite(values) | ~np.isfinite(observed)) & wrong) >= np.sum(wrong))


def how_far(deviation: Candidate, call: Call) -> float:
    """Return how far a deviation is from the wrong elements, as a share of how far the truth is: at most 1."""
    values, observed = evaluate(deviation, call), answer_of(call)
    if values is None:
        return 1.0
    wrong = wrong_in(call)
    with np.errstate(all="ignore"):
        shares = np.abs(observed - call.storage.round(values)) / np.abs(observed - truth_of(call).value)
        return float(np.mean(np.fmin(shares[wrong], 1.0)))  # 1 where neither is finite


@_cache
def shows(deviation: Candidate, call: Call) -> bool:
    """Whether the deviation and the right equation differ on this call."""
    if not deviation.shows_in(call.operation.dtype):
        return False
    values = evaluate(deviation, call)
    return values is None or not truth_of(call).accepts_all(call.storage.round(values))


@_cache
def _explain(deviation: Candidate, call: Call, precision: str) -> ExplainedElements | None:
    """Compare one answer with the equation of a deviation. Return what it explains, None if the answer contradicts it."""
    observed, truth = answer_of(call), truth_of(call)
    try:
        expected = call.expect(precision, _prepare_equation(deviation, call))
    except Exception:
        return None  # the deviation does not take these arguments, or this number type
    if expected.value.shape != observed.shape:
        return None
    nan, values = np.isnan(expected.value), evaluate(deviation, call)
    wrong = wrong_in(call)
    if values is None:
        return None
    undefined = np.isnan(values) & np.isfinite(observed) & (wrong | _says_nothing(values, observed)) & ~expected.claimed
    if np.any(~np.isfinite(values) & np.isfinite(observed) & ~undefined):  # no format has a wider range than float64
        return None
    accepted = expected.accepts(observed)
    as_near = nan | (np.isnan(values) & np.isnan(observed))  # where the bound overflows, no value of it is NaN
    for deviating in (expected.value, values):  # in the arithmetic of the dtype, and in float64
        as_near = as_near | _is_as_near(observed, deviating, truth, expected)
    if np.all(accepted) and np.any(wrong & ~expected.claimed & ~as_near):
        for deviating in _evaluate_in_steps(deviation, call):
            as_near = as_near | _is_as_near(observed, deviating, truth, expected) | (np.isnan(deviating) & np.isnan(observed))
        # Where it agrees with the right equation and its arithmetic claims nothing, an answer says nothing about it.
        as_near = as_near | truth.accepts(expected.storage.round(values))
    if not np.all(accepted & (expected.claimed | as_near | ~wrong)):
        return None
    (low, high), (least, most) = expected.ends, truth.ends
    disjoint = expected.claimed & truth.claimed & ((high < least) | (most < low))
    overflowing = np.isinf(expected.value) & (observed == expected.value)
    alone = wrong & (disjoint | (nan & np.isnan(observed)) | overflowing)
    silent = undefined & wrong
    unexplained = ExplainedElements(undefined=int(np.sum(silent)), filled=int(np.sum(silent & (observed == 0))))
    if not np.any(alone):
        return unexplained
    with np.errstate(all="ignore"):
        hidden = expected.storage.half_gap(observed, expected.value)  # the rounding of the answer may hide as much
        distance = np.maximum(np.abs(observed - expected.value) - hidden, 0)[alone] / np.abs(observed - truth.value)[alone]
    finite = (alone & ~np.isnan(observed)) if np.any(alone & ~np.isnan(observed)) else expected.claimed & np.isfinite(observed)
    farthest = float(np.max(np.nan_to_num(distance, nan=0.0, posinf=0.0)))
    return unexplained._replace(told_apart=int(np.sum(alone)), finite=int(np.sum(finite)), distance=farthest)


def _is_as_near(observed: np.ndarray, deviating: np.ndarray, truth: Expectation, expected: Expectation) -> np.ndarray:
    """Return where the answer is at least as near to a value of the deviation as to the truth."""
    with np.errstate(all="ignore"):
        near = np.abs(observed - deviating) <= np.abs(observed - truth.value)
    return np.asarray(near | (observed == expected.storage.round(deviating)))  # equal infinities
