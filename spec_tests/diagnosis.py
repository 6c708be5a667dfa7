"""Which known deviation explains what a backend answered.

A deviation's equation runs on the same arguments and on the same number types as the oracle's, so it too says how far a
correct implementation *of it* may be. It is named if the answers lie within its bounds wherever it claims any, and if, where
they are wrong, it lies beyond the bounds of the right equation: what one example leaves open, the others settle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np

from .bounded import Bounded
from .call import Call
from .deviation import Deviation, of_parts, own
from .expectation import Expectation
from .faithful import prepared
from .formats import FORMATS, PRECISIONS, Arithmetic, Format
from .narrow import Manner, Narrow
from .operation import Operation

NAMED = 3  # more candidates than that are no diagnosis
ROUNDED = 1 / 64  # of what roundings may add up to at worst, they leave as much in one answer of many


@dataclass
class Fit:
    """How well a deviation explains some calls."""

    deviation: Deviation
    told_apart: int = 0  # wrong elements that it explains and the right equation cannot
    distance: float = 0.0  # of the answers from it, relative to their distance from the truth

    @property
    def order(self) -> tuple[Any, ...]:
        return (round(np.log2(self.distance + 2.0**-20)), -self.told_apart)


def diagnose(failing: Sequence[Call], others: Sequence[Call] = ()) -> list[Deviation]:
    """The deviations that explain the calls of the failing example and some of others, the most specific first; none, if too
    many do or none does."""
    wrong, right = _sorted(failing, others)
    if not wrong:
        return []
    candidates = list(_candidates(wrong[0].operation))
    fits = [fit for one in candidates if (fit := _fit(one, wrong, right)) is not None]
    fits = fits or [Fit(one) for one in candidates if _coincides(one, wrong, right)]
    fits.sort(key=lambda fit: (*fit.order, fit.deviation.part is not None))
    best = [fit.deviation for fit in fits if fit.order == fits[0].order]
    return best if len(best) <= NAMED else []


def looser_class(failing: Sequence[Call], others: Sequence[Call] = ()) -> str:
    """The strictest precision class in which the right equation explains every call, where the one required does not."""
    wrong, _ = _sorted(failing, others)
    if not wrong or wrong[0].operation.precision == "exact" or wrong[0].operation.storage.precision >= 24:
        return ""
    stricter = PRECISIONS.index(wrong[0].operation.precision) + 1
    for precision in PRECISIONS[stricter:]:
        known = wrong[0].expectation(precision).claimed[_wrong(wrong[0])]
        if np.all(known) and all(np.all(call.expectation(precision).accepts(_observed(call))) for call in wrong):
            return precision
    return ""


def in_float32(failing: Sequence[Call], others: Sequence[Call] = ()) -> bool:
    """Whether float64 answers are the right equation's as float32 gives it, which may be all of it or one step: every wrong
    one is within the bounds of float32, and one at least so far off as only roundings to float32 put it."""
    wrong, _ = _sorted(failing, others)
    if not wrong or wrong[0].operation.dtype != "float64":
        return False
    every = [(_observed(call)[_wrong(call)], _single(call), _wrong(call)) for call in wrong]
    if not all(np.all(single.accepts(_observed(call))) for call, (_, single, _) in zip(wrong, every, strict=True)):
        return False
    with np.errstate(all="ignore"):
        shares = [np.abs(answer - one.value[where]) / one.error[where] for answer, one, where in every]
    return bool(max(np.max(np.nan_to_num(share, nan=0.0)) for share in shares) >= ROUNDED)


def _single(call: Call) -> Expectation:
    """What the right equation allows where each argument may be rounded to float32, and every step is."""
    single = FORMATS["float32"]
    arithmetic = Arithmetic(single, single)

    def rounded(x: Any) -> Bounded:
        read = Bounded.input(x, arithmetic)
        nearest = single.round(x)
        return read.at(x, np.maximum(read.error, np.where(nearest == x, 0.0, np.abs(nearest - x))))

    with np.errstate(all="ignore"):
        ball = call.evaluate(rounded)
    return Expectation(ball.value, ball.error, single)


def _sorted(failing: Sequence[Call], others: Sequence[Call]) -> tuple[list[Call], list[Call]]:
    """The calls whose answers are wrong, and those whose are right, of one operation, the smallest first. In other dtypes there
    may be other bugs, but this one would show there too: their right answers count, and their wrong ones do not."""
    about = {call.operation.name for call in failing}
    others = [call for call in others if call not in failing and call.operation.name in about]
    known = [call for call in sorted([*failing, *others], key=lambda call: call.size) if _known(call)]
    dtypes = {call.operation.dtype for call in failing}
    wrong = [call for call in known if call.operation.dtype in dtypes and np.any(_wrong(call))]
    same = [call for call in known if wrong and call.operation.name == wrong[0].operation.name]
    return [call for call in same if call in wrong], [call for call in same if not np.any(_wrong(call))]


def _known(call: Call) -> bool:
    """Both have an answer; where the oracle leaves one to the conventions, as to causality of a rectangle, it raises."""
    if call.observed is None or call.inexact:
        return False
    try:
        _truth(call)
    except ValueError:
        return False
    return True


def _candidates(operation: Operation) -> Iterable[Deviation]:
    """Those that have an equation, and can be seen in the dtype."""
    every = (*own(operation.name), *of_parts(operation.name))
    return (one for one in every if one.kind != "fault" and operation.dtype in (*one.dtypes, "bool", "int64"))


def _observed(call: Call) -> np.ndarray:
    return np.asarray(call.observed, dtype=np.float64)  # masks too


def _truth(call: Call) -> Expectation:
    return call.expectation(call.operation.precision)


def _fit(deviation: Deviation, wrong: Sequence[Call], right: Sequence[Call]) -> Fit | None:
    fit = Fit(deviation)
    nearer = [_nearer(deviation, call) for call in wrong]
    if not any(nearer) or any(_shows(deviation, call) for call, near in zip(wrong, nearer, strict=True) if not near):
        return None  # where it is right in float64, its own arithmetic may yet be wrong
    for call in (*wrong, *(call for call in right if _shows(deviation, call))):
        for precision in call.operation.classes():
            if explained := _explained(deviation, call, precision):
                break
        else:
            return None
        fit.told_apart += explained[0]
        fit.distance = max(fit.distance, explained[1])
    return fit if fit.told_apart else None


def _once(judge: Callable[..., Any]) -> Callable[..., Any]:
    """What a deviation makes of a call is worked out once: many failures share their evidence."""

    @wraps(judge)
    def known(deviation: Deviation, call: Call, *others: Any) -> Any:
        key = judge.__name__, deviation.id, *others
        if key not in call.judged:
            call.judged[key] = judge(deviation, call, *others)
        return call.judged[key]

    return known


def _coincides(deviation: Deviation, wrong: Sequence[Call], right: Sequence[Call]) -> bool:
    """An arithmetic that loses digits leaves its own result so uncertain that the truth is among what it may give. It explains
    the answers if it allows each of them, and is itself wrong in the very calls in which they are."""
    if deviation.kind != "arithmetic" or len(wrong) < 2 or not right:
        return False
    return all(_shows(deviation, call) == (call in wrong) and _allows(deviation, call) for call in (*wrong, *right))


@_once
def _allows(deviation: Deviation, call: Call) -> bool:
    """In some class that passes."""
    try:
        every = [call.expect(precision, _equation(deviation, call)) for precision in call.operation.classes()]
    except Exception:
        return False
    observed = _observed(call)
    return any(one.value.shape == observed.shape and bool(np.all(one.accepts(observed))) for one in every)


def _values(deviation: Deviation, call: Call) -> np.ndarray | None:
    """What the deviation gives in float64, if it can be evaluated there."""
    try:
        with np.errstate(all="ignore"):
            values = np.asarray(call.evaluate(np.asarray, _equation(deviation, call)), dtype=np.float64)
    except Exception:
        return None
    return values if values.shape == call.value.shape else None


def _undefined(deviation: Deviation, call: Call) -> Any:
    """Where it is NaN if every step is rounded to the dtype, or to what that is computed in: of rows that vanish there, say."""
    storage, compute = call.operation.storage, Arithmetic.of(call.operation.dtype).compute
    stored = _nan(deviation, call, storage)
    return stored if compute == storage else stored | _nan(deviation, call, compute)


def _nan(deviation: Deviation, call: Call, steps: Format) -> Any:
    manner = Manner(steps=steps)
    try:
        with np.errstate(all="ignore"):
            own = call.evaluate(lambda x: Narrow(np.asarray(x, dtype=np.float64), manner), _equation(deviation, call))
        return np.isnan(own.value)
    except Exception:
        return False  # it is narrow already


def _equation(deviation: Deviation, call: Call) -> Any:
    return prepared(deviation.operation, deviation.function, call.operation.storage)


@_once
def _nearer(deviation: Deviation, call: Call) -> bool:
    """Cheaply: where the answer is wrong it is mostly nearer to the deviation than to the truth."""
    values, observed = _values(deviation, call), _observed(call)
    if values is None:
        return False
    with np.errstate(all="ignore"):
        near = np.abs(observed - call.operation.storage.round(values)) < np.abs(observed - _truth(call).value)
    wrong = _wrong(call)
    return bool(2 * np.sum((near | ~np.isfinite(values) | ~np.isfinite(observed)) & wrong) >= np.sum(wrong))


def _wrong(call: Call) -> np.ndarray:
    return np.asarray(~_truth(call).accepts(_observed(call)))


@_once
def _shows(deviation: Deviation, call: Call) -> bool:
    """Elsewhere the right equation's answer is one of the deviation's as well."""
    if call.operation.dtype not in (*deviation.dtypes, "bool", "int64"):
        return False
    values = _values(deviation, call)
    return values is None or not np.all(_truth(call).accepts(call.operation.storage.round(values)))


@_once
def _explained(deviation: Deviation, call: Call, precision: str) -> tuple[int, float] | None:
    """How many wrong elements the deviation alone explains, and how closely; None where it contradicts the answer."""
    observed, truth = _observed(call), _truth(call)
    try:
        expected = call.expect(precision, _equation(deviation, call))
    except Exception:
        return None  # not on these arguments, or not on this number type
    if expected.value.shape != observed.shape:
        return None
    nan, values = np.isnan(expected.value), _values(deviation, call)
    if values is None or np.any(~np.isfinite(values) & np.isfinite(observed)):  # no format has a wider range than float64
        return None
    as_near = nan
    if np.any(np.isnan(observed) & ~nan):
        as_near = nan | (np.isnan(observed) & _undefined(deviation, call))
    for deviating in (expected.value, values):  # in the dtype's own arithmetic, and in float64
        with np.errstate(all="ignore"):
            as_near = as_near | (np.abs(observed - deviating) <= np.abs(observed - truth.value))
            as_near |= observed == expected.storage.round(deviating)  # infinities too
    if not np.all(expected.accepts(observed) & (expected.claimed | as_near | ~_wrong(call))):
        return None
    (low, high), (least, most) = expected.ends, truth.ends
    disjoint = expected.claimed & truth.claimed & ((high < least) | (most < low))
    overflowing = np.isinf(expected.value) & (observed == expected.value)
    alone = _wrong(call) & (disjoint | (nan & np.isnan(observed)) | overflowing)
    if not np.any(alone):
        return 0, 0.0
    with np.errstate(all="ignore"):
        hidden = expected.storage.half_gap(observed, expected.value)  # by the rounding of the answer
        distance = np.maximum(np.abs(observed - expected.value) - hidden, 0)[alone] / np.abs(observed - truth.value)[alone]
    return int(np.sum(alone)), float(np.max(np.nan_to_num(distance, nan=0.0, posinf=0.0)))
