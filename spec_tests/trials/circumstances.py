"""What the failure of a call depends on beside its arguments: chance, work under way, addresses, and what free memory holds.

The call is made again with the same values. What is found in this way needs no other explanation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..calls.call import Call
from ..diagnosis.evidence import is_comparable
from ..implementation.device_work import find_wait, write_later
from ..implementation.framework import Framework
from ..implementation.free_memory import find_address, place_at
from ..specification.formats import DTYPES
from ..specification.work import Budget
from .free_memory import MAX_ELEMENTS, find_memory_fault
from .repeated_call import Native, RepeatedCall

FEW, MANY = 4, 16  # repeats; those of a call that has only one answer tell no more after a few
MIN_CHANGES = 2  # from right to wrong answers or back, of repeats: a single one may be that of a first call
OTHERS = 2  # calls of a failing example that are tried, where none is wrong by itself
SURE = 3  # answers that must agree
OFFSETS = range(9)  # at which an array is placed in its memory, in elements
VECTORS = (8, 16, 32, 64, 128)  # the sizes of vectors and of lines of memory, in bytes


@dataclass(frozen=True)
class Circumstance:
    """What a failure depends on. `id` is the same in every run."""

    id: str
    what: str


def find_circumstance(
    wrong: Sequence[Call], right: Sequence[Call], others: Sequence[Call], budget: Budget
) -> Circumstance | None:
    """Return what the failure depends on beside the arguments, None if nothing is found.

    wrong, right: calls of one operation that were answered so, those of the failing example first. others: all calls of this
    example, where none of them is wrong by itself.
    """
    for call in wrong[:1] or others[-OTHERS:]:
        if is_comparable(call) and 0 < call.value.size <= MAX_ELEMENTS and (found := _Search(call, wrong, right, budget).run()):
            return found
    return None


class _Search:
    def __init__(self, call: Call, wrong: Sequence[Call], right: Sequence[Call], budget: Budget):
        self.call, self.known_wrong, self.known_right, self.budget = RepeatedCall(call), wrong, right, budget
        framework = call.operation.backend.framework
        self.framework = framework if isinstance(framework, Framework) else None  # of another process little can be asked
        self.failing: list[bool] = []  # whether each repeat is wrong

    def run(self) -> Circumstance | None:
        repeats = [self.call.answer(keeps=True) for _ in range(FEW)]
        answers = [answer for answer in repeats if answer is not None]
        if len(answers) < FEW:
            return None
        self.failing = [self.call.is_wrong(answer) for answer in answers]
        if any(self.failing) or self.known_wrong:
            is_single = all(self.failing) and all(np.array_equal(x, answers[0], equal_nan=True) for x in answers)
            more = [] if is_single else [self.call.answer() for _ in range(MANY - FEW)]
            self.failing += [self.call.is_wrong(answer) for answer in more if answer is not None]
        for step in (self.find_late_result, self.find_early_input, self.find_kept, self.find_memory, self.find_vector):
            if self.budget.is_spent() or self.call.is_lost:
                return None
            if self.framework and (found := step(self.framework)):
                return found
        return self.find_change() or self.find_chance()

    # --- work under way ---------------------------------------------------------------------------------------------------

    def find_late_result(self, framework: Framework) -> Circumstance | None:
        """Wait for all streams before the result is read: where that helps, the result was returned too early."""
        wait = find_wait(framework)
        if wait is None or 4 * sum(self.failing) < len(self.failing):  # of fewer, the right ones below may be by chance
            return None
        answers = [self.call.answer(between=wait) for _ in self.failing]
        if any(answer is None or self.call.is_wrong(answer) for answer in answers):
            return None
        waits = "it is right when all work on the device is waited for before it is read"
        return Circumstance("a result that is not joined", f"the result is returned before the work that makes it ends: {waits}")

    def find_early_input(self, framework: Framework) -> Circumstance | None:
        """Let work under way write the arguments: an answer that is then wrong was computed before they were there."""
        if any(self.failing) or find_wait(framework) is None:
            return None
        late = [name for name in self.call.arrays if all(self._fails_while_written(framework, name) for _ in range(SURE))]
        if not late:
            return None
        what = f"it reads an input before the work that makes it has ended: {_join(late)}"
        return Circumstance("an input that is read too early", what)

    def _fails_while_written(self, framework: Framework, late: str) -> bool:
        native = self.call.make_arguments()
        if native is None:
            return False
        made = self.call.with_argument(native, lambda name, x: write_later(framework, x) if name == late else x)
        answer = self.call.answer(made)
        return answer is not None and self.call.is_wrong(answer)

    # --- addresses --------------------------------------------------------------------------------------------------------

    def find_kept(self, framework: Framework) -> Circumstance | None:
        """Write other values to the same arrays: an answer that stays was kept by the address of one of them."""
        kept = [name for name in self.call.arrays if self._stays(framework, name)]
        if not kept:
            return None
        other = "other values in the same memory get the answer of the earlier"
        return Circumstance("kept by address", f"it keeps something by the address of {_join(kept)}: {other}")

    def _stays(self, framework: Framework, name: str) -> bool:
        """Whether an answer stays, right for the values before, when other values are written to the same argument."""
        values = _change(self.call.arrays[name], self.call.operation.storage.round)
        other, alive = self.call.with_values(name, values), list[Native]()
        native, first = self._answer_rightly(self.call, alive)
        fresh = other.make_arguments()
        if native is None or first is None or fresh is None:
            return False
        alive.append(fresh)
        if not framework.overwrite(_pick(other, native, name), _pick(other, fresh, name)):
            return False
        other.call.observed = second = other.answer(native)
        if second is None or not np.array_equal(first, second, equal_nan=True) or not other.is_wrong(second):
            return False
        return self._answer_rightly(other, alive)[1] is not None

    def _answer_rightly(self, call: RepeatedCall, alive: list[Native]) -> tuple[Native | None, np.ndarray | None]:
        """Return arrays in memory of their own, and a right answer on them. Those that were made before stay alive."""
        for _ in range(MANY):
            if (native := call.make_arguments()) is None:
                break
            alive.append(native)
            answer = call.answer(native)
            if answer is not None and not call.is_wrong(answer):
                return native, answer
        return None, None

    def find_vector(self, framework: Framework) -> Circumstance | None:
        """Place each argument at other addresses: where only some are answered wrongly, vectors are read."""
        if any(self.failing):
            return None
        found: dict[int, list[str]] = {}
        for name in self.call.arrays:
            seen = [place for place in (self._place(framework, name, offset) for offset in OFFSETS) if place]
            wrong, right = ({address for address, fails in seen if fails is value} for value in (True, False))
            sizes = (n for n in VECTORS if all(a % n for a in wrong) and not any(a % n for a in right))
            if len(wrong) >= SURE - 1 and len(right) >= SURE - 1 and (size := next(sizes, 0)):
                found.setdefault(size, []).append(name)
        if not found:
            return None
        size, names = max(found.items())
        begin = "does" if len(names) == 1 else "do"
        what = f"answers are wrong where {_join(names)} {begin} not begin at a multiple of {size} bytes: it reads vectors there"
        return Circumstance(f"alignment of {size} bytes", what)

    def _place(self, framework: Framework, moved: str, offset: int) -> tuple[int, bool] | None:
        """Return the address of an argument that is placed at an offset, and whether the answer is wrong."""
        native, array = self.call.make_arguments(), self.call.arrays[moved]
        if native is None:
            return None
        dtype = framework.dtype_of(_pick(self.call, native, moved))
        made = self.call.with_argument(native, lambda n, x: place_at(framework, array, dtype, offset) if n == moved else x)
        address, answer = find_address(_pick(self.call, made, moved)), self.call.answer(made)
        return None if address is None or answer is None else (address, self.call.is_wrong(answer))

    # --- memory and chance ------------------------------------------------------------------------------------------------

    def find_memory(self, framework: Framework) -> Circumstance | None:
        """Fill free memory: an answer that changes with what it holds was computed of memory that nothing was written to."""
        is_floating = self.call.operation.dtype in DTYPES  # others hold no mark
        if not (is_floating and (any(self.failing) or self.known_wrong)):
            return None
        what = find_memory_fault(self.known_wrong or [self.call.call], self.known_right, framework)
        return Circumstance("unwritten memory", what) if what else None

    def find_change(self) -> Circumstance | None:
        """Read the first results again: where all of them have become right, somebody still wrote to them."""
        if not all(self.failing[:FEW]) or self.call.is_lost:
            return None
        later = self.call.read_again()
        if not later or any(self.call.is_wrong(values) for values in later):
            return None
        return Circumstance(
            "still written to", "the result changes after it is returned: it was wrong, and is right when read again"
        )

    def find_chance(self) -> Circumstance | None:
        """Count the wrong answers of one call: a mixture depends on chance, or on what was called before."""
        changes = sum(before != after for before, after in pairwise(self.failing))
        if changes < MIN_CHANGES:
            return None
        count = f"{sum(self.failing)} of {len(self.failing)} repeats are wrong"
        return Circumstance("several answers", f"the same call has several answers: {count}, on the same values")


def _pick(call: RepeatedCall, native: Native, name: str) -> object:
    named = dict(zip(call.operation.spec.positional, native[0], strict=False)) | native[1]
    return named[name]


def _change(x: np.ndarray, hold: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return other finite values of the same size."""
    with np.errstate(all="ignore"):
        changed = np.where(np.isfinite(x), -0.5 * np.roll(x, 1), x)
        return hold(np.where(changed == x, changed + 1.0, changed))


def _join(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
