"""Wrong answers that are those of the right equation, if the operands of its matrix products are in a narrower format.

Tensor cores take TF32, bfloat16 and float16. Hardware and kernels round to these in three ways: to even in the case of a tie,
away from zero in that case, or by cutting digits off. Values that lie halfway between two numbers of the format tell these apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from ...calls.call import Call
from ...deviations._faults import Truncating, change_rounding
from ...deviations._low_precision import LowPrecision, RoundingManner
from ...specification.formats import FORMATS, Format, is_floating
from ..evidence import Evidence, answer_of, truth_of, wrong_in
from ..explanation import Explanation

TF32 = Format("TF32", 11, -126, 127)
FULL_BITS = 24  # of float32: narrower dtypes are multiplied as they are
MAX_CALLS = 12  # wrong ones, and right ones, on which a format is tested
MIN_WRONG_ELEMENTS = 4
STRICT_SHARE = 0.9  # of the elements: an operand that is a result itself may round to either of two neighbours
CALL_SHARE = 2 / 3  # of the wrong calls: in others all operands may be such a result, as where each weight of a row is the same
SMALL = 2.0**-20  # times ordinary numbers: float16 then holds few bits, formats with the exponents of float32 all
LIKENESS = 4  # times the error that the format makes in any rounding

AnswerInstead = Callable[[Call, dict[str, Any]], Call | None]


class AwayFromZero(Format):
    def round(self, x: Any) -> np.ndarray:
        """Round to the nearest number of the format, and away from zero in the case of a tie."""
        x = np.asarray(x, dtype=np.float64)
        with np.errstate(all="ignore"):
            cut = change_rounding(Truncating, self).round(x)
            gap = 2 * self.half_gap(cut, np.copysign(np.inf, x))
            up = np.isfinite(cut) & (np.abs(x) - np.abs(cut) >= gap / 2)
            y = np.where(up, cut + np.copysign(gap, x), cut)
            return np.where(np.abs(y) > self.max, np.copysign(np.inf, x), y)


ROUNDINGS: Mapping[type[Format], str] = MappingProxyType(
    {
        Format: "rounded to the {} significant bits of {}, ties to even",
        AwayFromZero: "rounded to the {} significant bits of {}, ties away from zero",
        Truncating: "cut off after the {} significant bits of {}",
    }
)


EVEN = "ties to even"
SHORT = MappingProxyType({Format: EVEN, AwayFromZero: "ties away from zero", Truncating: "cut off"})


@dataclass(frozen=True)
class NarrowOperands:
    """Operands in a narrow format: those of every matrix product, or else all arguments."""

    format: Format
    of_products: bool

    def evaluate(self, call: Call) -> np.ndarray | None:
        """Return the value of the equation with such operands, None if it does not take them."""
        with suppress(Exception), np.errstate(all="ignore"):
            if not self.of_products:
                rounded = call.evaluate(lambda x: self.format.round(x) if np.ndim(x) else np.asarray(x))
                return np.asarray(rounded, dtype=np.float64)
            manner = RoundingManner(operands=self.format)
            value = call.evaluate(lambda x: LowPrecision(np.asarray(x, dtype=np.float64), manner)).value
            return np.asarray(value, dtype=np.float64)
        return None

    def is_near(self, call: Call) -> bool | None:
        """Whether the answer lies within the bound of the right equation around this value; None if it says nothing here."""
        value, truth, answer = self.evaluate(call), truth_of(call), answer_of(call)
        if value is None or value.shape != answer.shape:
            return False
        with np.errstate(all="ignore"):
            same = (value == truth.value) | (np.isnan(value) & np.isnan(truth.value))
            apart = truth.claimed & ~same & ~(np.abs(value - truth.value) <= truth.radius)
            near = (np.abs(answer - value) <= truth.radius) | (answer == value) | (np.isnan(answer) & np.isnan(value))
        wrong = wrong_in(call)
        if not apart.any():
            return False if wrong.any() else None
        return bool(np.mean(near[apart | wrong]) >= STRICT_SHARE)

    def is_like(self, call: Call) -> bool:
        """Whether the answer errs at most as the format lets it err, in whichever rounding."""
        truth, answer, errors = truth_of(call), answer_of(call), [0.0]
        with np.errstate(all="ignore"):
            for kind in ROUNDINGS:
                value = NarrowOperands(change_rounding(kind, self.format), self.of_products).evaluate(call)
                if value is not None and value.shape == answer.shape:
                    errors.append(float(np.nanmax(np.abs(value - truth.value)[truth.claimed], initial=0.0)))
            return bool(np.all(np.abs(answer - truth.value)[truth.claimed] <= LIKENESS * max(errors)))

    @property
    def id(self) -> str:
        """A short text that names it."""
        return f"{'products' if self.of_products else 'arguments'} in {self.format.name}, {SHORT[type(self.format)]}"

    @property
    def words(self) -> str:
        subject = "the operands of every matrix product are" if self.of_products else "the arguments are"
        return f"{subject} {ROUNDINGS[type(self.format)].format(self.format.precision, self.format.name)}"


@cache
def list_candidates() -> tuple[NarrowOperands, ...]:
    """Return every format in every rounding, of products and of arguments."""
    formats = [change_rounding(kind, f) for f in (TF32, FORMATS["bfloat16"], FORMATS["float16"]) for kind in ROUNDINGS]
    return tuple(NarrowOperands(f, of_products) for of_products in (True, False) for f in formats)


def find_narrow_operands(evidence: Evidence, answer: AnswerInstead, is_late: Callable[[], bool]) -> Explanation | None:
    """Return the format of the operands that explains every wrong answer, None if none does, or several do."""
    wrong, right = evidence.wrong[:MAX_CALLS], evidence.right[:MAX_CALLS]
    if not wrong or wrong[0].operation.storage.precision < FULL_BITS or sum(map(_count_wrong, wrong)) < MIN_WRONG_ELEMENTS:
        return None
    multiplies = any(map(_multiplies, wrong))
    own = {call for call in right if call.operation.dtype == wrong[0].operation.dtype}
    first = max(wrong, key=_count_wrong)
    candidates = [c for c in list_candidates() if c.of_products == multiplies]
    near = {c: [call for call in wrong if not is_late() and c.is_near(call)] for c in candidates}
    most = max(map(len, near.values()))
    fitting = [c for c, calls in near.items() if len(calls) == most >= CALL_SHARE * len(wrong)]
    fitting = [c for c in fitting if all(call in near[c] or c.is_like(call) for call in wrong)]
    fitting = [c for c in fitting if all(c.is_near(call) is not False for call in own if not is_late())]
    if not fitting or is_late():
        return None
    for call in _ask_ties(first, fitting[0].format, answer):
        fitting = [c for c in fitting if c.is_near(call)] or fitting
    if len(fitting) != 1:
        return None
    found, name = fitting[0], wrong[0].operation.name

    def predicts(call: Call) -> bool | None:
        if call.operation.name != name or call.operation.storage.precision < FULL_BITS:
            return None
        is_near = found.is_near(call)
        return found.is_like(call) if is_near is False and bool(wrong_in(call).any()) else is_near

    return Explanation("near miss", found.id, found.words, name, predicts)


def says_rounding_to_even(found: Explanation) -> bool:
    """Whether the operands are rounded as every format of the catalogue is."""
    return found.id.endswith(EVEN)


def _count_wrong(call: Call) -> int:
    return int(np.sum(wrong_in(call)))


def _multiplies(call: Call) -> bool:
    """Whether the equation has a matrix product of numbers that a narrow format changes."""
    coarse, right = NarrowOperands(FORMATS["bfloat16"], of_products=True).evaluate(call), truth_of(call).value
    if coarse is None or coarse.shape != right.shape:
        return False
    with np.errstate(all="ignore"):  # a difference of equal infinities is NaN, which is no change
        return bool(np.any(np.abs(coarse - right) > truth_of(call).radius))


def _ask_ties(call: Call, f: Format, answer: AnswerInstead) -> Iterator[Call]:
    """Yield answers to calls whose numbers lie halfway between two of the format: ordinary ones, and small ones."""
    names = [name for name, x in call.named.items() if is_floating(x) and x.size]
    tied = {name: _make_ties(call.named[name], change_rounding(Format, f)) for name in names}
    for chosen in ({name: scale * tied[name]} for scale in (1.0, SMALL) for name in names):
        if (asked := answer(call, chosen)) is not None and asked.observed is not None:
            yield asked


def _make_ties(x: np.ndarray, f: Format) -> np.ndarray:
    """Return ordinary numbers halfway between two neighbours of the format, with the signs of an array."""
    numbers = f.round(1 + np.arange(x.size).reshape(x.shape) * 37 % 101 / 128)
    return np.where(np.signbit(x), -1.0, 1.0) * (numbers + f.half_gap(numbers, np.full(x.shape, np.inf)))
