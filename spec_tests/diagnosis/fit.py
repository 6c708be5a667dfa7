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

from ..calls.call import Call
from ..calls.operation import Operation
from ..deviations import Deviation, of_parts, own
from ..deviations._low_precision import Manner, Narrow
from ..deviations._oracle_backend import prepared
from ..specification.formats import Arithmetic, Format
from .evidence import answer_of, truth_of, wrong_and_right, wrong_in

NAMED = 3  # more candidates than that are no diagnosis


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
    wrong, right = wrong_and_right(failing, others)
    if not wrong:
        return []
    candidates = list(_candidates(wrong[0].operation))
    fits = [fit for one in candidates if (fit := _fit(one, wrong, right)) is not None]
    fits = fits or [Fit(one) for one in candidates if _coincides(one, wrong, right)]
    fits.sort(key=lambda fit: (*fit.order, fit.deviation.part is not None))
    best = [fit.deviation for fit in fits if fit.order == fits[0].order]
    return best if len(best) <= NAMED else []


def _candidates(operation: Operation) -> Iterable[Deviation]:
    """Those that have an equation, and can be seen in the dtype."""
    every = (*own(operation.name), *of_parts(operation.name))
    return (one for one in every if one.kind != "fault" and operation.dtype in (*one.dtypes, "bool", "int64"))


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
    observed = answer_of(call)
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
    values, observed = _values(deviation, call), answer_of(call)
    if values is None:
        return False
    with np.errstate(all="ignore"):
        near = np.abs(observed - call.operation.storage.round(values)) < np.abs(observed - truth_of(call).value)
    wrong = wrong_in(call)
    return bool(2 * np.sum((near | ~np.isfinite(values) | ~np.isfinite(observed)) & wrong) >= np.sum(wrong))


@_once
def _shows(deviation: Deviation, call: Call) -> bool:
    """Elsewhere the right equation's answer is one of the deviation's as well."""
    if call.operation.dtype not in (*deviation.dtypes, "bool", "int64"):
        return False
    values = _values(deviation, call)
    return values is None or not np.all(truth_of(call).accepts(call.operation.storage.round(values)))


@_once
def _explained(deviation: Deviation, call: Call, precision: str) -> tuple[int, float] | None:
    """How many wrong elements the deviation alone explains, and how closely; None where it contradicts the answer."""
    observed, truth = answer_of(call), truth_of(call)
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
    if not np.all(expected.accepts(observed) & (expected.claimed | as_near | ~wrong_in(call))):
        return None
    (low, high), (least, most) = expected.ends, truth.ends
    disjoint = expected.claimed & truth.claimed & ((high < least) | (most < low))
    overflowing = np.isinf(expected.value) & (observed == expected.value)
    alone = wrong_in(call) & (disjoint | (nan & np.isnan(observed)) | overflowing)
    if not np.any(alone):
        return 0, 0.0
    with np.errstate(all="ignore"):
        hidden = expected.storage.half_gap(observed, expected.value)  # by the rounding of the answer
        distance = np.maximum(np.abs(observed - expected.value) - hidden, 0)[alone] / np.abs(observed - truth.value)[alone]
    return int(np.sum(alone)), float(np.max(np.nan_to_num(distance, nan=0.0, posinf=0.0)))
