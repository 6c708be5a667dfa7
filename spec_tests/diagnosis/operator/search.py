"""Find what explains wrong answers among the alternatives to an equation, each tested on every answer before it is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ...calls.call import Call
from ...calls.in_domain import sizes_of
from ...specification import tuned
from ...specification.work import Budget
from ..equations.check import EquationCheck
from ..equations.neighbours.screen import Screen, may_explain
from ..evidence import Evidence, answer_of, wrong_in
from ..explanation import Explanation
from ..fit import allows, evaluate, explains, try_fit
from ..further_calls import Ask, FurtherCalls
from ..result_parts import say_part, split_parts
from .acceptances import list_acceptances
from .acting_arguments import list_acting_arguments
from .alternative import Alternative, Where
from .axes import name_axes, plural
from .coefficients import list_coefficients
from .counts import list_counts
from .early_bias import list_early_biases
from .experts import list_mixtures
from .extra_keys import list_extra_keys
from .extra_rows import list_extra_rows
from .factors_ahead import list_factors_ahead
from .handovers import list_handovers
from .hidden_keys import list_hidden_keys
from .indices import list_sets
from .interleaved_blocks import list_interleaved_blocks
from .joint_parts import join_parts
from .known import list_known
from .neighbouring_calls import list_neighbouring_calls
from .nested import list_nested
from .one_for_two import list_one_for_two
from .other_axis import list_other_axis
from .other_results import list_other_results
from .packed import list_packed
from .padded_windows import list_padded_windows
from .reading import AnswerInstead, Matrix, count_questions, read_matrices
from .saturated_inputs import list_saturated_inputs
from .splits import list_splits
from .supported import list_supported
from .tokens import list_chunks
from .unscaled_pages import list_unscaled_pages
from .whole_blocks import list_whole_blocks

SEEN_CALLS = 3  # wrong ones, the smallest and the largest of which suggest alternatives
SCREENING_CALLS = 4
READ_CALLS = 2  # whose matrices are read
ENOUGH_QUESTIONS = 12  # entries of the arguments whose matrices are read
MAX_PLAIN_PRICE = 1.5  # of an alternative that says the bug better than a changed line of the equation
MAX_HALVES = 3
MAX_TESTED = 24  # alternatives that the screened calls do not rule out
CHANGES_SHARE = 0.6  # of the budget, for changes of the call and of the result; the rest is for what is read
READING_SHARE = 0.5  # of the budget
MAX_BOUNDS = 64.0  # between an answer and the value of an alternative that may explain it
ListChanges = Callable[[Call], Iterator[Alternative]]
CHANGES: tuple[ListChanges, ...] = (
    list_acceptances,
    list_acting_arguments,
    list_counts,
    list_early_biases,
    list_extra_keys,
    list_extra_rows,
    list_factors_ahead,
    list_handovers,
    list_hidden_keys,
    list_interleaved_blocks,
    list_mixtures,
    list_neighbouring_calls,
    list_nested,
    list_one_for_two,
    list_other_axis,
    list_other_results,
    list_packed,
    list_padded_windows,
    list_saturated_inputs,
    list_chunks,
    list_unscaled_pages,
    list_whole_blocks,
)
MAX_ELEMENTS_READ = 4096  # of the arguments of a call whose matrix is read


def read_operator(
    evidence: Evidence,
    *,
    answer: AnswerInstead,
    budget: Budget,
    last: Budget | None = None,
    ask: Ask | None = None,
    halves: list[Explanation] | None = None,
    catalogue: bool = True,
) -> Explanation | None:
    """Return what is computed in place of the equation, None if no alternative explains every answer.

    answer: answers a call again with other values of its arguments. budget: once it is spent, no other alternative is tried.
    last, ask: as in `search_equation`. Alternatives that explain all wrong answers, but some right ones as well, are added to
    `halves`. catalogue: whether known deviations are tried, too.
    """
    if not evidence.wrong or budget.is_spent() or evidence.wrong[0].operation.spec.list_like:
        return None
    changes = (*CHANGES, list_known) if catalogue else CHANGES
    search = _Search(evidence, answer, budget, last or budget, ask, changes)
    found = search.run()
    if halves is not None:
        halves += map(describe_alternative, search.halves)
    return found


class _Search:
    def __init__(
        self,
        evidence: Evidence,
        answer: AnswerInstead,
        budget: Budget,
        last: Budget,
        ask: Ask | None,
        changes: Sequence[ListChanges],
    ):
        self.wrong, self.right = list(evidence.wrong), list(evidence.right)
        self.answer, self.budget, self.changes = answer, budget, changes
        self.operation = self.wrong[0].operation.name
        self.test = EquationCheck(FurtherCalls(ask, self.operation), last)
        chosen = [*self.wrong[: SCREENING_CALLS - 1], *self.wrong[SCREENING_CALLS - 1 :][-1:]]
        self.halves: list[Alternative] = []  # that explain all wrong answers, and that some right ones contradict
        self.screens = [Screen(call) for call in chosen]

    def run(self) -> Explanation | None:
        changes = self.budget.part(CHANGES_SHARE)
        for stage, budget in ((self._list_changes, changes), (self._list_readings, self.budget)):
            if found := self._test(self._screen_all(stage(), budget)):
                return describe_alternative(found)
        return None

    def _list_changes(self) -> Iterator[Alternative]:
        """Return the changes of the result, which need no equation, then those of the call; the plainest first.

        The budget may end before the last.
        """
        listed = [x for call in self._suggesting() for f in self.changes for x in f(call)]
        return iter(sorted(listed, key=lambda alternative: (alternative.compute is not None, alternative.cost)))

    def _suggesting(self) -> list[Call]:
        return [*self.wrong[: SEEN_CALLS - 1], *self.wrong[SEEN_CALLS - 1 :][-1:]]

    def _list_readings(self) -> Iterator[Alternative]:
        reading, read = self.budget.part(READING_SHARE), 0
        for call in sorted(self.wrong, key=_rank_to_read):
            if read == READ_CALLS or reading.is_spent():
                return
            if call.size > MAX_ELEMENTS_READ or 2 * tuned.WORK_OF_CALL * count_questions(call) > reading.left:
                continue
            told = [each for matrix in read_matrices(call, self.answer, reading) for each in _list_read(matrix, call)]
            yield from (*told, *join_parts(told))
            read += bool(told)

    def _screen_all(self, alternatives: Iterator[Alternative], budget: Budget) -> list[Alternative]:
        """Return the alternatives that may explain the screened calls, perhaps in some elements alone; the likeliest first."""
        found: dict[str, Alternative] = {}
        seen: set[str] = set()
        for alternative in alternatives:
            if budget.is_spent():
                break
            if alternative.id in seen:
                continue
            seen.add(alternative.id)
            if self._may_explain(alternative):
                found.setdefault(alternative.id, alternative)
                continue
            for within in self._list_within(alternative):
                if within.id not in found and self._may_explain(within):
                    found[within.id] = within
        return sorted(found.values(), key=lambda alternative: alternative.price)

    def _may_explain(self, alternative: Alternative) -> bool:
        return may_explain(self.screens, lambda screen: self._evaluate(alternative, screen))

    def _evaluate(self, alternative: Alternative, screen: Screen) -> np.ndarray | None:
        """Return the values of an alternative for a screened call. A change of the right results costs no equation."""
        spec, size, known = screen.call.operation.spec, screen.call.size, screen.right_results
        steps, times = (0, 1) if alternative.compute is None and known else (spec.steps, alternative.evaluations)
        self.budget.meter.add_evaluation(steps, size, times)
        return screen.evaluate(alternative.function_with(known))

    def _list_within(self, alternative: Alternative) -> Iterator[Alternative]:
        """Yield the alternative in some elements of the result alone, along one axis, as the screened calls suggest."""
        for screen in self.screens[:2]:
            call, values = screen.call, self._evaluate(alternative, screen)
            if values is None:
                return
            with np.errstate(all="ignore"):
                far = np.abs(screen.answer - values) > MAX_BOUNDS * (screen.radius + screen.storage.u * np.abs(values))
                differs = np.abs(values - screen.truth) > 2 * MAX_BOUNDS * screen.reach
            inside, outside = screen.wrong & ~far & differs, ~screen.wrong & differs
            if not inside.any() or not outside.any() or (screen.wrong & far).any():
                continue
            yield from self._list_places(alternative, call, inside, outside)

    def _list_places(
        self, alternative: Alternative, call: Call, inside: np.ndarray, outside: np.ndarray
    ) -> Iterator[Alternative]:
        spec = call.operation.spec
        held, free = split_parts(call, inside), split_parts(call, outside)
        places = [part for part in held if held[part].any()]
        if len(places) != 1:
            return
        (part,), sizes = places, sizes_of(spec, call.named)
        path = part if spec.is_gradient or spec.has_several_results else ""
        names = name_axes(spec, part, held[part].ndim)
        if len(held) > 1 and not free[part].any():
            yield alternative.within(path, Where(), f"in {say_part(spec, part)} alone")
            return
        for axis in range(-held[part].ndim, 0):
            others = tuple(a for a in range(held[part].ndim) if a != axis + held[part].ndim)
            inside_of, free_of = (np.asarray(x.any(axis=others)) for x in (held[part], free[part]))
            for indices in list_sets(inside_of, free_of, sizes):
                where, one = Where(axis, indices), names[axis]
                said = f"in {indices.say(one, plural(one))}"
                if spec.is_gradient or path:
                    said += f" of {say_part(spec, part)}"
                yield alternative.within(path, where, said)
        if held[part].ndim > 2:
            inside_of, free_of = (np.asarray(x.reshape(-1, x.shape[-1]).any(axis=1)) for x in (held[part], free[part]))
            for indices in list_sets(inside_of, free_of, sizes):
                said = f"in {indices.say('row', 'rows')}" + (f" of {say_part(spec, part)}" if spec.is_gradient or path else "")
                yield alternative.within(path, Where(0, indices), said)

    def _test(self, alternatives: list[Alternative]) -> Alternative | None:
        """Return the simplest alternative that every answer is one of, also the answers to further calls."""
        for alternative in alternatives[:MAX_TESTED]:
            if self.test.last.is_spent():
                return None
            if (found := self._confirm(alternative)) is not None:
                return found
        return None

    def _confirm(self, alternative: Alternative) -> Alternative | None:
        if is_zero_beside(alternative, self.wrong):
            return None
        fits = try_fit(alternative, self.wrong, self.right, self.test.last.is_spent) is not None
        if fits and not self._is_refuted(alternative):
            return alternative
        if self.test.last.is_spent():
            return None
        if len(self.halves) < MAX_HALVES and try_fit(alternative, self.wrong, [], self.test.last.is_spent) is not None:
            mode = self.test.find_mode(alternative, self.wrong, self.right, self._add)
            narrowed = alternative.in_mode(mode) if mode and mode.settings else None
            holds = narrowed and try_fit(narrowed, self.wrong, self.right, self.test.last.is_spent)
            if narrowed and holds and not self._is_refuted(narrowed):
                return narrowed
            self.halves.append(alternative)
        return None

    def _is_refuted(self, alternative: Alternative) -> bool:
        return self.test.is_refuted(alternative, self.wrong, self._add)

    def _add(self, call: Call) -> None:
        (self.wrong if np.any(wrong_in(call)) else self.right).append(call)


def _list_read(matrix: Matrix, call: Call) -> Iterator[Alternative]:
    for read in (list_splits, list_coefficients, list_supported):
        yield from read(matrix, call)


def is_zero_beside(alternative: Alternative, wrong: list[Call]) -> bool:
    """Whether an alternative gives 0 wherever answers are wrong, most of which are not 0.

    An error bound may admit such answers, but many alternatives give 0: none of them is known to be the reason.
    """
    others = 0
    for call in wrong:
        values, is_wrong = evaluate(alternative, call), wrong_in(call)
        if values is None or np.any(values[is_wrong] != 0):
            return False
        others += 2 * int(np.count_nonzero(answer_of(call)[is_wrong])) > np.sum(is_wrong)
    return 2 * others > len(wrong)


def _rank_to_read(call: Call) -> tuple[bool, int]:
    """Return the place of a call among those that are read: matrices of few entries come last, since much fits them."""
    count = count_questions(call)
    return count < ENOUGH_QUESTIONS, abs(count - ENOUGH_QUESTIONS)


def _has_values(alternative: Alternative, call: Call) -> bool:
    """Whether the alternative can be evaluated on a call: some read the right equation, which takes too long for a large one."""
    with suppress(Exception), np.errstate(all="ignore"):
        call.evaluate(np.asarray, alternative.function)
        return True
    return False


def describe_alternative(alternative: Alternative) -> Explanation:
    """Return an alternative as an explanation, which predicts every answer of its operation."""

    def predict(call: Call) -> bool | None:
        if call.operation.name != alternative.operation:
            return None
        if explains(alternative, call):
            return True
        return None if allows(alternative, call) or not _has_values(alternative, call) else False

    def find_equation(operation: str) -> Callable[..., Any] | None:
        return alternative.function if operation == alternative.operation else None

    what = ("equation", alternative.id, alternative.sentence, alternative.operation)
    return Explanation(*what, predict, is_far=alternative.price > MAX_PLAIN_PRICE, equation_of=find_equation)
