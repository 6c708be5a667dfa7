"""Find what several ranks compute in place of the equation. It is tested on the answer of every rank before it is said."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ...calls.call import Call
from ...calls.ranks import list_distinct, list_ranks
from ...specification import tuned
from ...specification.registry import Specification
from ...specification.work import Budget
from ..equations.check import EquationCheck
from ..equations.neighbours.screen import MAX_DISTANCE, Screen, may_explain
from ..evidence import Evidence, has_wrong_elements, is_comparable
from ..explanation import Explanation
from ..fit import is_nearer, try_fit
from ..further_calls import Ask, FurtherCalls
from ..operator.alternative import Alternative, Named
from ..operator.search import describe_alternative
from .equations import EquationOverRanks, list_equations
from .gradients import list_gradients
from .guess import list_layouts
from .layout import Layout
from .mesh_layout import MeshLayout
from .on_mesh import list_on_mesh
from .parts import list_mistaken_parts
from .steps import NARROW, Slip, Steps

SCREENING_CALLS = 4  # answers of ranks, on which each alternative is screened; those that pass are screened on all
FITTED_CALLS = 6  # wrong answers of ranks of which the bound around an alternative is derived, which costs most
SHARE_OF_SCREENS = 0.25  # of the budget, for the bounds of wrong answers on which alternatives are screened
MIN_FURTHER_CALLS = 4  # on which an alternative is tested: there are few of them, so that few fit by chance
MANY_WRONG = 8  # answers that it explains, after which further calls are made only as far as the budget goes
SHARE_OF_ROUNDINGS = 1 / 64  # of the elements of an answer, that a rounding to another format may move by a whole step
EVALUATIONS_OF_BOUND = 64  # in float64 that the derivation of a bound is worth


def find_fault_of_ranks(evidence: Evidence, ask: Ask, budget: Budget) -> Explanation | None:
    """Return what the ranks compute in place of the equation, None if nothing that is known explains the answers of all."""
    layouts = list_layouts([*evidence.wrong, *evidence.right]) if evidence.wrong else ()
    found = (_find_in_layout(layout, evidence, ask, budget) for layout in layouts if not layout.spec.list_like)
    return next(filter(None, found), None)


def _find_in_layout(layout: Layout | MeshLayout, evidence: Evidence, ask: Ask, budget: Budget) -> Explanation | None:
    calls = [rank for call in (*evidence.wrong, *evidence.right) for rank in list_ranks(call) if is_comparable(rank)]
    wrong, right = (list(filter(judge, calls)) for judge in (has_wrong_elements, lambda call: not has_wrong_elements(call)))
    distinct = [rank for call in evidence.wrong for rank in list_distinct(call) if rank in wrong]
    before = budget.left
    screens = [Screen(call) for call in _choose(distinct, SCREENING_CALLS)]
    count = _count_affordable(len(wrong), (before - budget.left) / max(1, len(screens)), budget)
    listed = _list_alternatives(layout, [screen.call for screen in screens], distinct)
    whole = [Screen(call) for call in _choose(wrong, count)]

    def add(call: Call) -> None:
        (distinct if has_wrong_elements(call) else right).append(call)

    least = 0 if len(distinct) >= MANY_WRONG else MIN_FURTHER_CALLS
    test = EquationCheck(FurtherCalls(ask, layout.spec.name), budget, least=least)
    for alternative in sorted(listed, key=lambda alternative: alternative.price):
        if budget.is_spent():
            break
        if not (_may_explain(alternative, screens, budget) and _may_explain(alternative, whole, budget)):
            continue
        if count < len(wrong) and not all(is_nearer(alternative, call) for call in wrong):
            continue
        if try_fit(alternative, _choose(distinct, _count_fitted(layout, budget)), right) is None:
            continue
        if not test.is_refuted(alternative, distinct, add):
            return describe_alternative(alternative)
    return None


def _count_affordable(count: int, cost: float, budget: Budget) -> int:
    """Return how many wrong answers are screened with their bounds, each at this cost. All others are compared without them."""
    is_free = not cost > 0  # also if the budget has no end, of which the cost is NaN
    return count if is_free else max(SCREENING_CALLS, min(count, int(SHARE_OF_SCREENS * budget.left / cost)))


def _count_fitted(layout: Layout | MeshLayout, budget: Budget) -> int:
    """Return of how many wrong answers the bound is derived, with no more than half of the budget."""
    cost = EVALUATIONS_OF_BOUND * (tuned.WORK_OF_EVALUATION + tuned.WORK_OF_STEP * layout.spec.steps)
    return max(2, int(min(FITTED_CALLS, budget.left / 2 / cost)))


def _choose(wrong: list[Call], count: int) -> list[Call]:
    """Return so many calls, the smallest and the largest."""
    half = count // 2
    return wrong if len(wrong) <= count else [*wrong[:half], *wrong[-half:]]


def _list_alternatives(layout: Layout | MeshLayout, calls: list[Call], wrong: list[Call]) -> Iterator[Alternative]:
    if isinstance(layout, MeshLayout):
        yield from list_on_mesh(layout, calls, wrong)
        return
    seen = set[tuple[int, str]]()
    is_narrow = calls[0].operation.storage.precision < 24  # where everything may be rounded to 16 bits
    for equation in list_equations(layout):
        for call in calls:
            for slip in _list_slips(equation, layout, call):
                if (slip.place, slip.pattern) not in seen and not (is_narrow and slip.pattern in NARROW):
                    seen.add((slip.place, slip.pattern))
                    compute = partial(_evaluate, equation=equation, layout=layout, slip=slip)
                    yield Alternative(layout.spec.name, slip.said, compute, slip.cost, evaluations=layout.count)
    yield from list_gradients(layout, wrong)
    yield from list_mistaken_parts(layout, calls)
    if not layout.spec.is_gradient and not [*list_equations(layout)] and (in_row := MeshLayout.of(wrong)) is not None:
        yield from list_on_mesh(in_row, calls, wrong)


def _list_slips(equation: EquationOverRanks, layout: Layout, call: Call) -> list[Slip]:
    """Return the slips at the steps of an equation. None are known of a call that it does not take."""
    steps = Steps(layout.count)
    try:
        with np.errstate(all="ignore"):
            call.evaluate(np.asarray, lambda *a, **k: _run(equation, layout, steps, _name(layout.spec, a, k)))
    except Exception:
        return steps.possible
    return steps.possible


def _name(spec: Specification, arguments: tuple[Any, ...], keywords: Named) -> Named:
    return {**dict(zip(spec.positional, arguments, strict=False)), **keywords}


def _evaluate(spec: Specification, named: Named, *, equation: EquationOverRanks, layout: Layout, slip: Slip) -> Any:
    return _run(equation, layout, Steps(layout.count, slip), named)


def _run(equation: EquationOverRanks, layout: Layout, steps: Steps, named: Named) -> Any:
    return layout.answer(equation.evaluate(steps, layout, named, layout.split_all(named)))


def _may_explain(alternative: Alternative, screens: list[Screen], budget: Budget) -> bool:
    def evaluate(screen: Screen) -> np.ndarray | None:
        budget.meter.add_evaluation(screen.call.operation.spec.steps, screen.call.size, alternative.evaluations)
        values = screen.evaluate(alternative.function)
        return None if values is None else _excuse(screen, values)

    return may_explain(screens, evaluate)


def _excuse(screen: Screen, values: np.ndarray) -> np.ndarray:
    """Return the values with the answer in place of those of wrong elements that only a bound around the values can judge.

    A sum of one rank's exponentials may be 0 in the dtype, and its logarithm -inf. The bound of the right value may be tiny where
    that of a wrong one is not. A rounding to 16 bits may go to the next number.
    """
    with np.errstate(all="ignore"):
        distance, far = np.abs(screen.answer - values), 2.0**MAX_DISTANCE
        is_near = distance * far <= screen.gap
        is_far = distance > far * (screen.radius + screen.storage.u * np.abs(values))
    overflows = np.isinf(screen.answer) & np.isfinite(values)
    excused = screen.wrong & (overflows | is_near)
    if np.sum(is_far & ~excused) <= SHARE_OF_ROUNDINGS * is_far.size:
        excused = excused | is_far
    return values if np.all(overflows[screen.wrong]) else np.where(excused, screen.answer, values)
