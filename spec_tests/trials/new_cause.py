"""The search for a cause that nobody knows: what is computed in place of the equation, a changed line of it, or a region."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Protocol

from ..calls.call import Call
from ..diagnosis.equations.search import search_equation
from ..diagnosis.equations.unstable_forms import find_unstable_form
from ..diagnosis.evidence import Evidence
from ..diagnosis.explanation import Explanation
from ..diagnosis.further_calls import Ask
from ..diagnosis.near_misses import find_fixed_option
from ..diagnosis.operator.search import read_operator
from ..diagnosis.places import find_place
from ..diagnosis.precision.accumulators import find_narrow_sums
from ..diagnosis.precision.exponents import find_overflow
from ..diagnosis.precision.functions import find_approximate_function
from ..diagnosis.precision.results import find_narrow_results
from ..diagnosis.precision.sums import find_narrow_arithmetic
from ..diagnosis.ranks.search import find_fault_of_ranks
from ..diagnosis.regions.region import Region
from ..diagnosis.wish import Wish
from ..specification.work import Budget

RANKS_SHARE = 0.8  # of the budget, for what several ranks compute in place of the equation
OPERATOR_SHARE = 0.2  # of the budget, to list what may be computed in place of the equation; it is tested with what is left
WHERE_SHARE = 0.6  # of what is left, to find where what explains all wrong answers, and some right ones, is computed
EQUATION_SHARE = 0.6  # of what is left, to list changed lines; the rest is to test them, or for a region


class Questions(Protocol):
    """What the search asks of a backend. `name` is that of the operation that failed."""

    def ask(self, name: str, wish: Wish | None = None) -> Iterator[Call]: ...

    def answer_instead(self, call: Call, arguments: dict[str, Any]) -> Call | None: ...

    def ask_in_float32(self, call: Call) -> Call | None: ...

    def find_region(self, name: str, evidence: Evidence, budget: Budget, halves: Sequence[Explanation]) -> Region | None: ...


def search_ranks(evidence: Evidence, ask: Ask, budget: Budget) -> Explanation | None:
    """Return what several ranks compute in place of the equation, None on one rank, or if nothing known explains all answers.

    It is looked for before known bugs: one of these may give the same answers to the few calls that were made.
    """
    return find_fault_of_ranks(evidence, ask, budget.part(RANKS_SHARE)) if evidence.wrong else None


def search(
    evidence: Evidence,
    name: str,
    questions: Questions,
    budget: Budget,
    *,
    withheld: frozenset[str] = frozenset(),
    catalogue: bool = True,
) -> Explanation | None:
    """Return what a search finds where nothing known explains the evidence, None if it finds nothing before the budget is spent.

    What explains all wrong answers, but some right ones as well, is a half: a region says where it holds.
    withheld: names of rules of changed lines that are not used. catalogue: whether known deviations are tried, where an operation
    may have them in a part. Measurements need both.
    """
    if not evidence.wrong:
        return None
    ask, halves, region = partial(questions.ask, name), list[Explanation](), None
    for find in (find_place, find_overflow):
        if found := find(evidence, ask, budget.is_spent):
            return found
    listing, answer = budget.part(OPERATOR_SHARE), questions.answer_instead
    instead = read_operator(evidence, answer=answer, budget=listing, last=budget, ask=ask, halves=halves, catalogue=catalogue)
    if instead and not instead.is_far:
        return instead
    if fixed := find_fixed_option(evidence, budget.is_spent):
        halves.append(fixed)
    if halves and not instead:
        region = questions.find_region(name, evidence, budget.part(WHERE_SHARE), halves)
        if region and region.is_whole:
            return region
    of_equations = list[Explanation]()
    options: dict[str, Any] = {"ask": ask, "withheld": withheld, "halves": of_equations}
    if found := search_equation(evidence, budget=budget.part(EQUATION_SHARE), last=budget, **options):
        return found
    if instead:
        return instead
    if found := next(filter(None, _list_arithmetic(evidence, questions, ask, budget)), None):
        return found
    if region is None:
        region = questions.find_region(name, evidence, budget, of_equations)
    return region if region and (region.is_whole or not fixed) else fixed


def _list_arithmetic(evidence: Evidence, questions: Questions, ask: Any, budget: Budget) -> Iterator[Explanation | None]:
    """Yield what the right equation in another arithmetic explains, one kind of arithmetic after the other."""
    yield find_narrow_arithmetic(evidence, questions.ask_in_float32, budget.is_spent)
    yield find_narrow_sums(evidence, questions.answer_instead, budget.is_spent)
    for find in (find_narrow_results, find_unstable_form, find_approximate_function):
        yield find(evidence, ask, budget.is_spent)
