"""Find what several ranks compute in place of the equation. It is tested on the answer of every rank before it is said."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ...calls.asked_rank import RANK
from ...calls.call import Call
from ...calls.ranks import list_ranks
from ...specification.registry import Specification
from ...specification.work import Budget
from ..equations.check import EquationCheck
from ..equations.neighbours.screen import Screen, may_explain
from ..evidence import Evidence, has_wrong_elements, is_comparable
from ..explanation import Explanation
from ..fit import try_fit
from ..further_calls import Ask, FurtherCalls
from ..operator.alternative import Alternative, Named, call_right, take
from ..operator.search import describe_alternative
from .equations import EquationOverRanks, list_equations
from .gradients import list_gradients
from .layout import Layout
from .steps import Slip, Steps

SCREENING_CALLS = 4  # wrong ones, on each of whose ranks an alternative is screened
MAX_TESTED = 16


def find_fault_of_ranks(evidence: Evidence, ask: Ask, budget: Budget) -> Explanation | None:
    """Return what the ranks compute in place of the equation, None if nothing that is known explains the answers of all."""
    layout = Layout.of(evidence.wrong[0]) if evidence.wrong else None
    if layout is None or layout.spec.list_like:
        return None
    calls = [rank for call in (*evidence.wrong, *evidence.right) for rank in list_ranks(call) if is_comparable(rank)]
    wrong, right = (list(filter(judge, calls)) for judge in (has_wrong_elements, lambda call: not has_wrong_elements(call)))
    screens = [Screen(call) for call in _choose(wrong)]
    found = {
        alternative.sentence: alternative
        for alternative in _list_alternatives(layout, [screen.call for screen in screens])
        if not budget.is_spent() and _may_explain(alternative, screens, budget)
    }
    test = EquationCheck(FurtherCalls(ask, layout.spec.name), budget)
    for alternative in sorted(found.values(), key=lambda alternative: alternative.price)[:MAX_TESTED]:
        if try_fit(alternative, wrong, right, budget.is_spent) is None:
            continue
        if not test.is_refuted(alternative, wrong, lambda call: (wrong if has_wrong_elements(call) else right).append(call)):
            return describe_alternative(alternative)
    return None


def _choose(wrong: list[Call]) -> list[Call]:
    """Return the calls on which alternatives are screened: small and large ones."""
    half = SCREENING_CALLS // 2
    return wrong if len(wrong) <= SCREENING_CALLS else [*wrong[:half], *wrong[-half:]]


def _list_alternatives(layout: Layout, calls: list[Call]) -> Iterator[Alternative]:
    seen = set[tuple[int, str]]()
    for equation in list_equations(layout):
        for call in calls:
            for slip in _list_slips(equation, layout, call):
                if (slip.place, slip.pattern) not in seen:
                    seen.add((slip.place, slip.pattern))
                    compute = partial(_evaluate, equation=equation, layout=layout, slip=slip)
                    yield Alternative(layout.spec.name, slip.said, compute, slip.cost, evaluations=layout.count)
    for call in calls:
        yield from list_gradients(layout, call)
    yield from _list_orders(layout, calls[0])


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


def _list_orders(layout: Layout, call: Call) -> Iterator[Alternative]:
    """Yield the orders in which the parts of one argument may be joined or dealt out by mistake."""
    if layout.spec.is_gradient:
        return
    for name, x in call.named.items():
        if isinstance(x, np.ndarray) and name in layout.spec.positional and layout.of_argument(name) is not None:
            for said, order in (
                ("in the reverse order of the ranks", lambda count, rank: range(count)[::-1]),
                ("moved on by one rank", lambda count, rank: [(i + 1) % count for i in range(count)]),
                ("moved back by one rank", lambda count, rank: [(i - 1) % count for i in range(count)]),
                ("those of the rank itself, for all", lambda count, rank: [rank] * count),
            ):
                compute = partial(_reorder, layout=layout, name=name, order=order)
                yield Alternative(layout.spec.name, f"the parts of {name} are {said}", compute, 0.5)


def _reorder(spec: Specification, named: Named, *, layout: Layout, name: str, order: Any) -> Any:
    x, axis = named[name], layout.axis_of(name)
    if x is None or axis is None:
        return call_right(spec, named)
    places = layout.places(name, x)
    joined = np.concatenate([places[i] for i in order(layout.count, RANK.get())])
    return call_right(spec, {**named, name: take(x, joined, axis)})


def _may_explain(alternative: Alternative, screens: list[Screen], budget: Budget) -> bool:
    def evaluate(screen: Screen) -> np.ndarray | None:
        budget.meter.add_evaluation(screen.call.operation.spec.steps, screen.call.size, alternative.evaluations)
        return screen.evaluate(alternative.function)

    return may_explain(screens, evaluate)
