"""Wrong answers in float32 or wider that are those of the right equation with sums held in 16 bits.

Another equation may err as little. So the calls are made again with small integers, whose sums are numbers of the narrow format:
narrow sums are then exact, and the answers right, while another equation is as wrong as before.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from ...bounds.derivation import expect
from ...calls.call import Call
from ...deviations._low_precision import LowPrecision, RoundingManner
from ...specification.formats import FORMATS, Arithmetic, Format
from ..evidence import Evidence, answer_of, is_wrong, wrong_in
from ..explanation import Explanation
from .operands import AnswerInstead

NARROW = ("float16", "bfloat16")
FULL_BITS = 24  # of float32
BLOCKS = (1, 4, 16, 0)  # of terms, after which sums are rounded; 0: all terms
LIKENESS = 4  # times the error of such sums, either way: less than lies between the two formats
MIN_WRONG_ELEMENTS = 8
MIN_EXACT = 3  # calls with integers, all of which must be answered rightly
ASKED_CALLS = 6
RANGES = ((-2, 2), (-1, 1), (0, 1))  # of integers


def find_narrow_sums(evidence: Evidence, answer: AnswerInstead, is_late: Callable[[], bool]) -> Explanation | None:
    """Return the explanation of wrong answers by sums in 16 bits, None if it does not hold, or if no sum is known to be exact."""
    wrong = evidence.wrong
    if not wrong or sum(int(np.sum(wrong_in(call))) for call in wrong) < MIN_WRONG_ELEMENTS:
        return None
    operation = wrong[0].operation
    if operation.precision == "exact" or operation.storage.precision < FULL_BITS or operation.spec.is_gradient:
        return None
    for name in NARROW:
        narrow = FORMATS[name]
        if all(not is_late() and _may_be(call, narrow) for call in wrong) and _is_exact_on_integers(
            wrong, narrow, answer, is_late
        ):
            what = f"the right equation, with sums held in {name}: sums of integers that {name} holds are right"
            return Explanation("near miss", f"sums in {name}", what, operation.name, partial(_predicts, operation.name, narrow))
    return None


def _predicts(operation: str, narrow: Format, call: Call) -> bool | None:
    if call.operation.name != operation or call.operation.storage.precision < FULL_BITS:
        return None
    return _allows(call, narrow)


def _may_be(call: Call, narrow: Format) -> bool:
    return _allows(call, narrow) and _errs_alike(call, narrow)


def _allows(call: Call, narrow: Format) -> bool:
    """Whether steps and partial sums in the format may give every element of an answer."""
    with suppress(Exception), np.errstate(all="ignore"):  # some equations are not sampled
        return expect(call.evaluate, Arithmetic(narrow, narrow, "eager"), call.operation.storage, sampled=True).accepts_all(
            answer_of(call)
        )
    return False


def _errs_alike(call: Call, narrow: Format) -> bool:
    """Whether an answer errs about as much as sums do that are rounded to the format after some number of terms."""
    with suppress(Exception), np.errstate(all="ignore"):
        error = _size(answer_of(call) - call.value)
        return any(error <= LIKENESS * e and e <= LIKENESS * error for e in _list_errors(call, narrow))
    return False


def _list_errors(call: Call, narrow: Format) -> Iterator[float]:
    for block in BLOCKS:
        yield _size(call.evaluate(partial(_as_narrow, RoundingManner(sums=narrow, block=block))).value - call.value)


def _size(error: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(error[np.isfinite(error)])))) if np.isfinite(error).any() else 0.0


def _as_narrow(manner: RoundingManner, x: Any) -> LowPrecision:
    return LowPrecision(np.asarray(x, dtype=np.float64), manner)


def _is_exact_on_integers(wrong: list[Call], narrow: Format, answer: AnswerInstead, is_late: Callable[[], bool]) -> bool:
    """Whether all of a few answers to integers with exact sums are right."""
    exact = 0
    for call in wrong[:ASKED_CALLS]:
        for arguments in _list_integers(call):
            if is_late():
                return False
            told = answer(call, arguments)
            if told is None or not _has_exact_sums(told, narrow):
                continue
            if is_wrong(told):
                return False
            exact += 1
    return exact >= MIN_EXACT


def _list_integers(call: Call) -> Iterator[dict[str, Any]]:
    """Yield integers in the place of all real arrays of a call, in a few ranges."""
    draw = random.Random(0)
    for least, largest in RANGES:
        yield {
            name: np.array([draw.randint(least, largest) for _ in range(x.size)], dtype=x.dtype).reshape(x.shape)
            for name, x in call.named.items()
            if isinstance(x, np.ndarray) and x.dtype.kind == "f"
        }


def _has_exact_sums(call: Call, narrow: Format) -> bool:
    """Whether sums that are rounded after each term change nothing, and the result is more than zeros."""
    with suppress(Exception), np.errstate(all="ignore"):
        found = call.evaluate(partial(_as_narrow, RoundingManner(sums=narrow, block=1))).value
        return bool(np.isfinite(found).all() and np.any(found != 0) and np.array_equal(found, call.value))
    return False
