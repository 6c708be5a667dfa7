"""Wrong answers in 16 bits that are those of the right equation, if its sums too are rounded to 16 bits.

Every precision class demands that sums are accumulated in float32 or wider. Code that accumulates in 16 bits, stores the sums of
blocks in 16 bits, or rounds each product before it is added, errs by an amount that depends on the size of the blocks.
That size is unknown, so the explanation is a bound. The same calls in float32 must be right: a wrong equation is wrong there too.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from ...bounds.derivation import expect
from ...bounds.expectation import Expectation
from ...calls.call import Call
from ...deviations._low_precision import LowPrecision, RoundingManner
from ...specification.formats import FORMATS, Arithmetic
from ..evidence import Evidence, answer_of, is_wrong, wrong_in
from ..explanation import Explanation
from ..further_calls import AskInFloat32

MIN_WRONG_CALLS = 2
MIN_WRONG_ELEMENTS = 4  # in all wrong calls together: one may be anywhere by chance
MIN_HALF_ULPS = 4  # of an error: less may be the fault of the last rounding alone, as where digits are cut off
ASKED_CALLS = 4  # in float32
BLOCKS = (1, 4, 16)  # of terms, after which sums are rounded
LIKENESS = 4  # times the error of such sums: the wrong elements are those with the largest errors
FULL_BITS = 24  # of float32: dtypes with fewer are accumulated in it


def find_narrow_arithmetic(evidence: Evidence, ask: AskInFloat32, is_late: Callable[[], bool]) -> Explanation | None:
    """Return the explanation of wrong answers in 16 bits by sums that are rounded to 16 bits, None if it does not hold.

    ask: returns a call with the same arguments in float32, answered, or None if the backend takes no float32.
    """
    wrong = evidence.wrong
    if len(wrong) < MIN_WRONG_CALLS or sum(int(np.sum(wrong_in(call))) for call in wrong) < MIN_WRONG_ELEMENTS:
        return None
    operation = wrong[0].operation
    if operation.precision == "exact" or operation.storage.precision >= FULL_BITS:
        return None
    if not any(map(_is_beyond_one_rounding, wrong)):
        return None
    if not all(not is_late() and _rounds_its_sums(call) and _allows(call) for call in wrong):
        return None
    if any(FORMATS[dtype].precision >= FULL_BITS for dtype in operation.backend.dtypes):
        asked = list(islice((answered for call in wrong if (answered := ask(call)) is not None), ASKED_CALLS))
        if not asked or any(map(is_wrong, asked)):
            return None
        compared = "the same calls in float32 are right"
    elif all(map(_errs_like_rounding, wrong)):
        compared = "it takes no wider dtype, in which another equation would show"
    else:
        return None
    return Explanation(
        "near miss",
        "sums in 16 bits",
        f"the right equation, sums or products in it rounded to {operation.dtype}; {compared}",
        operation.name,
        partial(_predicts, operation.name),
    )


def _predicts(operation: str, call: Call) -> bool | None:
    """Whether the answer of a call in 16 bits is right if sums are rounded to 16 bits, in the worst case.

    The roundings of a long sum of numbers with few bits depend on one another, which draws do not show. Of a sum so long that
    the worst case overflows, nothing is claimed: its error is compared with that of sums that are rounded.
    """
    if call.operation.name != operation or call.operation.storage.precision >= FULL_BITS:
        return None
    return _allows(call) or _allows(call, sampled=False) or (_claims_nothing(call) and _errs_like_rounding(call))


def _is_beyond_one_rounding(call: Call) -> bool:
    """Whether an answer errs by more than its last rounding can, in whichever direction that rounds."""
    answer, value = answer_of(call), call.value
    with np.errstate(all="ignore"):
        return bool(np.any(np.abs(answer - value) > MIN_HALF_ULPS * call.operation.storage.half_gap(answer, value)))


def _rounds_its_sums(call: Call) -> bool:
    """Whether the result of the equation changes if its sums are rounded to 16 bits after every term."""
    manner = RoundingManner(sums=call.operation.storage, block=1)
    with suppress(Exception), np.errstate(all="ignore"):  # some equations do not take this number type
        return bool(np.any(call.evaluate(partial(_as_narrow, manner)).value != call.value))
    return False


def _errs_like_rounding(call: Call) -> bool:
    """Whether sums that are rounded after each term, or each block of terms, err as much as the answer, within a factor.

    Another equation errs more where sums have few terms, and as much in sums of any length.
    """
    answer, value, wrong = answer_of(call), call.value, wrong_in(call)
    with suppress(Exception), np.errstate(all="ignore"):
        narrow = []
        for block in BLOCKS:
            manner = RoundingManner(steps=call.operation.storage, sums=call.operation.storage, block=block)
            narrow.append(call.evaluate(partial(_as_narrow, manner)).value)
        typical = max(np.sqrt(np.mean((rounded - value)[np.isfinite(value)] ** 2)) for rounded in narrow)
        return bool(np.sqrt(np.mean((answer - value)[wrong] ** 2)) <= LIKENESS * typical)
    return False


def _as_narrow(manner: RoundingManner, x: Any) -> LowPrecision:
    return LowPrecision(np.asarray(x, dtype=np.float64), manner)


def _allows(call: Call, *, sampled: bool = True) -> bool:
    """Whether roundings of all steps and sums to 16 bits may give every element, and something is claimed of the wrong ones."""
    answer = answer_of(call)
    with suppress(Exception), np.errstate(all="ignore"):  # some equations are not sampled
        expected = _expect_in_16_bits(call, sampled=sampled)
        return (
            expected.value.shape == answer.shape
            and bool(np.all(expected.accepts(answer)))
            and bool(np.all(expected.claimed[wrong_in(call)]))
        )
    return False


def _claims_nothing(call: Call) -> bool:
    """Whether no wrong element of the answer has a bound if its sums are rounded to 16 bits."""
    with suppress(Exception), np.errstate(all="ignore"):
        return not np.any(_expect_in_16_bits(call, sampled=False).claimed[wrong_in(call)])
    return False


def _expect_in_16_bits(call: Call, *, sampled: bool) -> Expectation:
    """Return what the equation allows if every step, and every partial sum, is rounded to the dtype."""
    storage = call.operation.storage
    return expect(call.evaluate, Arithmetic(storage, storage, "eager"), storage, sampled=sampled)
