"""The nearest equation: the smallest change of the reference equation that explains all answers of a backend.

The reference is a few lines of NumPy. The rules in `neighbours/rules/` change them, one place at a time. Each changed equation
is first compared with the smallest failing calls, in float64; those that are nearer to the answers than the right equation is are
then judged as the catalogue's deviations are, on every call and with their own error bounds (see `fit.py`).
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...calls.call import Call
from ...specification import tuned
from ...specification.work import Budget
from ..evidence import Evidence, answer_of, wrong_in
from ..explanation import Explanation
from ..fit import Fit, try_fit
from ..further_calls import Ask, FurtherCalls
from .check import EquationCheck
from .neighbours.candidate import Candidate
from .neighbours.edit import UNKNOWN, Edit, compile_edits
from .neighbours.hole import Holes
from .neighbours.listing import list_edits, list_edits_everywhere
from .neighbours.screen import FAR, Scores, Screen, Screened, find_only_part
from .neighbours.solve import solve
from .neighbours.source import Site, Source, source_of
from .neighbours.trace import trace
from .suspects import find_suspects
from .words import describe_equation

TRACED_CALLS = 12
SCREENING_CALLS = 3
PLAIN, LESS_PLAIN, ODD = (0.0, 1.0), (1.0, 1.25), (1.25, float("inf"))  # the costs of rules: plain slips, and rarer ones
BLOCKWISE = (1.19, 1.2)  # of the LESS_PLAIN: a sum over blocks without its correction
JUDGING_SHARE = 0.2  # of the budget, kept for error bounds
MAX_LIKELY_SCORE = 6.0  # candidates that are farther off than 2^6 bounds are judged after all others
MAX_UNLIKELY = 200  # of these, the nearest
MAX_HALVES = 4
FEW_EVERYWHERE, EVERYWHERE = ("another_rounding",), ("factors_in_another_format",)  # rules that are tried at all places together
SCALED = "parameter_scaled"  # the rule that is solved for early: few parameters are numbers, and their factors cost little
PAIRED_EDITS = 120  # the nearest single edits, of which pairs are made


def search_equation(
    evidence: Evidence,
    *,
    budget: Budget,
    last: Budget | None = None,
    ask: Ask | None = None,
    withheld: frozenset[str] = frozenset(),
    halves: list[Explanation] | None = None,
) -> Explanation | None:
    """Return the nearest equation that explains the evidence and, if `ask` is given, the answers to the calls that it makes.

    budget: once it is spent, no other equation is tried.
    last: until it is spent, an equation that was found by then is tested on further calls; the budget, if not given.
    withheld: names of rules that are not used, as measurements need it.
    halves: equations that explain all wrong answers, but contradict some right ones, are added to it.
    """
    if not evidence.wrong or budget.is_spent():
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # changed lines may be odd Python, and compute means of nothing
        search = Search(evidence, budget, withheld, ask, last)
        fits = search.run()
    if halves is not None and not fits:
        halves += map(describe_equation, search.halves)
    return describe_equation(fits[0].deviation) if fits else None


class Search:
    """The search for one failure. It stops at the first stage that finds an equation."""

    def __init__(
        self,
        evidence: Evidence,
        budget: Budget,
        withheld: frozenset[str] = frozenset(),
        ask: Ask | None = None,
        last: Budget | None = None,
    ):
        self.wrong, self.right = list(evidence.wrong), list(evidence.right)
        self.budget, self.screening = budget, budget.part(1 - JUDGING_SHARE)  # the rest is needed for judging
        self.test = EquationCheck(FurtherCalls(ask, evidence.wrong[0].operation.name), last or budget)
        self.source: Source = source_of(evidence.wrong[0].operation.name)
        self.part = find_only_part(evidence.wrong)
        self.screens = [Screen(call, self.part) for call in evidence.wrong[:SCREENING_CALLS]]
        self.seen = trace(self.source, [partial(_evaluate_on, call) for call in evidence.wrong[:TRACED_CALLS]])
        evaluations = ([partial(_evaluate_on, call) for call in calls] for calls in (self.wrong, self.right))
        self.suspects = find_suspects(self.source, *evaluations)
        self.holes = Holes()
        self.withheld = withheld
        self.unknown: list[Edit] = []  # edits with a constant to be solved for
        self.solved: list[Edit] = []  # those of the operation's own lines, which were tried alone
        self.ranked: list[tuple[float, Edit]] = []  # edits of the operation's own lines, by how near they come alone
        self.halves: list[Candidate] = []  # that explain all wrong answers, and that some right ones contradict
        self.unlikely: list[tuple[float, Candidate]] = []  # possible, but far off; judged if nothing else explains everything

    def run(self) -> list[Fit]:
        """Return the equations that explain everything and cost least, the best first."""
        fits = next((fits for stage in self._stages() if (fits := self._judge(self._likely(stage)))), [])
        fits = fits or self._judge(sorted(self.unlikely, key=lambda item: item[0])[:MAX_UNLIKELY])
        return [] if self._is_one_nan() else fits

    def _stages(self) -> Iterator[Iterator[tuple[float, Candidate]]]:
        """Yield the stages of the search: plain changes before odd ones, the operation's own lines before those of its parts."""
        depths = range(max(site.depth for site in self.source.sites) + 1)
        yield self._single_edits(0, PLAIN)
        if self.suspects:
            yield self._single_edits(1, PLAIN, self.suspects.__contains__)
        yield self._scaled_parameters()
        yield from (self._single_edits(depth, BLOCKWISE) for depth in depths)
        yield self._single_edits(0, LESS_PLAIN)
        yield from (self._single_edits(depth, PLAIN, lambda site: site not in self.suspects) for depth in depths[1:2])
        yield self._edits_everywhere(FEW_EVERYWHERE)
        yield from (self._single_edits(depth, LESS_PLAIN) for depth in depths[1:2])
        yield self._edits_everywhere(EVERYWHERE)
        yield self._single_edits(0, ODD)
        yield self._solved_constants()
        yield from (self._single_edits(depth, PLAIN) for depth in depths[2:])
        yield from (self._single_edits(depth, LESS_PLAIN) for depth in depths[2:])
        yield from (self._single_edits(depth, ODD) for depth in depths[1:])
        yield self._pairs()
        yield self._solved_constants_in_one_mode()
        yield self._solved_constants()

    def _likely(self, screened: Iterable[tuple[float, Candidate]]) -> Iterator[tuple[float, Candidate]]:
        """Yield the candidates that are near, and keep those that are far off for later."""
        for score, candidate in screened:
            if score > MAX_LIKELY_SCORE:
                self.unlikely.append((score, candidate))
            else:
                yield score, candidate

    def _judge(self, screened: Iterable[tuple[float, Candidate]]) -> list[Fit]:
        """Judge candidates with their error bounds, and return the fits of those that explain everything, the best first."""
        fits: list[Fit] = []
        known: set[bytes] = set()  # the values of the equations that fit
        for _, candidate in sorted(screened, key=lambda item: (item[1].cost, item[0])):
            if self.budget.is_spent() or (fits and candidate.cost > fits[0].deviation.cost + 1):
                break
            fit = self._confirm(candidate, known)
            if fit is None and not fits:
                fit = self._confirm_in_a_mode(candidate, known)
            if fit is not None:
                fits.append(fit)
        return sorted(fits, key=lambda fit: (fit.order[0], fit.deviation.cost))

    def _confirm(self, candidate: Candidate, known: set[bytes]) -> Fit | None:
        """Return the fit of an equation that explains everything, also further answers, and whose values are not known yet."""
        is_late = self.budget.is_spent if candidate.mode is None else self.test.last.is_spent
        fit = try_fit(candidate, self.wrong, self.right, is_late)
        if fit is None or (values := self._values(candidate)) in known or self._is_refuted(candidate):
            return None
        known.add(values)
        return fit

    def _confirm_in_a_mode(self, candidate: Candidate, known: set[bytes]) -> Fit | None:
        """Return the fit of an equation that explains all wrong answers, and in one mode the right ones too.

        Such an equation is likely: its mode is looked for as long as equations are tested.
        """
        if try_fit(candidate, self.wrong, [], self.test.last.is_spent) is None:
            return None
        mode = self.test.find_mode(candidate, self.wrong, self.right, self._add)
        fit = self._confirm(replace(candidate, mode=mode), known) if mode and mode.settings else None
        if fit is None and len(self.halves) < MAX_HALVES:
            self.halves.append(candidate)
        return fit

    def _values(self, candidate: Candidate) -> bytes:
        """Return the values of an equation on the screened calls. Equations with the same values need not be told apart."""
        values = [screen.evaluate(candidate.function) for screen in self.screens]
        return b"".join(x.tobytes() for x in values if x is not None)

    def _is_refuted(self, candidate: Candidate) -> bool:
        """Whether the answer to a further call contradicts an equation. The call is added to the evidence if it does."""
        return self.test.is_refuted(candidate, self.wrong, self._add)

    def _is_one_nan(self) -> bool:
        """Whether all that is known of wrong answers are the NaNs of one call. Very different slips give these."""
        wrong = [call for call in (*self.wrong, *self.test.further.made) if np.any(wrong_in(call))]
        return len(wrong) == 1 and bool(np.all(np.isnan(answer_of(wrong[0])[wrong_in(wrong[0])])))

    def _add(self, call: Call) -> None:
        (self.wrong if np.any(wrong_in(call)) else self.right).append(call)
        if np.any(wrong_in(call)):
            self.screens.append(Screen(call, self.part))

    def _screen(self, edits: tuple[Edit, ...]) -> Screened:
        """Return how an equation does on the first failing calls: everywhere, or in the only result that is wrong."""
        self.budget.meter.add(tuned.WORK_OF_CANDIDATE)
        if (functions := self.holes.compile(edits)) is None:
            return Screened()
        equation = self.source.with_functions(functions)
        whole, within = Scores(), Scores()
        for screen in self.screens:
            values = None if whole.is_out and within.is_out else screen.evaluate(equation)
            if values is None:
                return Screened(mean=whole.mean)
            whole.add(*screen.score(values))
            if self.part:
                within.add(*screen.score(screen.within_part(values)))
            else:
                within.is_out = True
        if self.part and within.is_possible and within.worst <= MAX_LIKELY_SCORE < whole.worst:
            return Screened(True, within.worst, whole.mean, self.part)
        return Screened(whole.is_possible, whole.worst, whole.mean)

    def _single_edits(
        self, depth: int, costs: tuple[float, float], within: Callable[[Site], bool] = lambda site: True
    ) -> Iterator[tuple[float, Candidate]]:
        for edit in list_edits(self.source, self.seen, depth, costs, self.withheld, within):
            if self.screening.is_spent():
                return
            if edit.has_unknown:
                if not self._is_solved_early(edit):
                    self.unknown.append(edit)
                continue
            found = self._screen((edit,))
            if edit.site.depth == 0 and found.mean < FAR:
                self.ranked.append((found.mean, edit))
            if found.is_possible:
                yield found.score, Candidate(self.source, (edit,), only_in=found.only_in)

    def _edits_everywhere(self, names: tuple[str, ...]) -> Iterator[tuple[float, Candidate]]:
        """The same slip at all places where it can be made, in the parts as well: each product of matrices in another format."""
        seen = trace(self.source, [partial(_evaluate_on, call) for call in self.wrong])  # others were found meanwhile
        for name in (name for name in names if name not in self.withheld):
            for edits in list_edits_everywhere(self.source, seen, name):
                found = self._screen(edits)
                if found.is_possible:
                    yield found.score, Candidate(self.source, edits, only_in=found.only_in)

    def _scaled_parameters(self) -> Iterator[tuple[float, Candidate]]:
        for edit in list_edits(self.source, self.seen, 0, ODD, self.withheld):
            if self.screening.is_spent():
                return
            if self._is_solved_early(edit):
                yield from self._solve(edit)

    def _is_solved_early(self, edit: Edit) -> bool:
        """Whether one of the operation's own numbers is multiplied with a constant, and wrong answers are known for two values.

        Where one value alone is known, another value that is fixed is as likely as a factor.
        """
        if edit.rule != SCALED or edit.site.depth:
            return False
        values = [call.named.get(edit.changes[0].new[0].targets[0].id) for call in self.wrong]
        return len({value for value in values if isinstance(value, float | int)}) > 1

    def _solved_constants(self) -> Iterator[tuple[float, Candidate]]:
        edits, self.unknown, self.solved = self.unknown, [], self.unknown
        for edit in edits:
            if self.screening.is_spent():
                return
            yield from self._solve(edit)

    def _solved_constants_in_one_mode(self) -> Iterator[tuple[float, Candidate]]:
        """An option is ignored, and where it leads there is an unknown constant."""
        for mode in [edit for _, edit in self.ranked if edit.rule == "parameter_changed" and _fixes_an_option(edit)]:
            for edit in self.solved:
                if self.screening.is_spent():
                    return
                if edit.site is mode.site and not _meet(mode, edit):
                    yield from self._solve(edit, mode)

    def _solve(self, edit: Edit, *others: Edit) -> Iterator[tuple[float, Candidate]]:
        self.budget.meter.add(tuned.WORK_OF_CANDIDATE)
        functions = compile_edits((*others, edit))
        if functions is None:
            return
        equation, namespace, screen = self.source.with_functions(functions), edit.site.namespace, self.screens[0]

        def evaluate(constant: float) -> np.ndarray | None:
            namespace[UNKNOWN] = constant
            return screen.evaluate(equation)

        for text, _ in solve(evaluate, screen.answer, screen.reach, screen.wrong):
            solved = (*others, edit.with_constant(text))
            found = self._screen(solved)
            if found.is_possible:
                yield found.score, Candidate(self.source, solved, only_in=found.only_in)

    def _pairs(self) -> Iterator[tuple[float, Candidate]]:
        distinct = {round(mean, 6): edit for mean, edit in reversed(self.ranked)}  # equal distances are mostly equal equations
        nearest = [edit for _, edit in sorted(distinct.items())][:PAIRED_EDITS]
        for total in range(1, 2 * len(nearest)):
            for i in range(max(0, total - len(nearest) + 1), (total + 1) // 2):
                if self.screening.is_spent():
                    return
                pair = nearest[i], nearest[total - i]
                if _meet(*pair):
                    continue
                found = self._screen(pair)
                if found.is_possible and found.score < MAX_LIKELY_SCORE:  # there are too many for those that are far off
                    yield found.score, Candidate(self.source, pair, only_in=found.only_in)


def _evaluate_on(call: Call, equation: Callable[..., Any]) -> Any:
    with np.errstate(all="ignore"):
        return call.evaluate(np.asarray, equation)


def _fixes_an_option(edit: Edit) -> bool:
    """Whether the function begins with an option set to a constant."""
    first = edit.changes[0].new[0] if isinstance(edit.changes[0].new, list) else None
    return isinstance(first, ast.Assign) and isinstance(first.value, ast.Constant) and not isinstance(first.value.value, float)


def _meet(a: Edit, b: Edit) -> bool:
    """Whether two edits change the same place."""
    return any((x.parent, x.field, x.index) == (y.parent, y.field, y.index) for x in a.changes for y in b.changes)
