"""The equations as ranks compute them: right without a slip, and each slip shows in the answer of some rank."""

from __future__ import annotations

import random
import re
from functools import partial
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.asked_rank import RANK
from spec_tests.calls.call import Call
from spec_tests.calls.operation import Operation
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.diagnosis.operator.alternative import Named, call_right
from spec_tests.diagnosis.ranks.equations import EquationOverRanks, list_equations
from spec_tests.diagnosis.ranks.gradients import list_gradients
from spec_tests.diagnosis.ranks.layout import Layout
from spec_tests.diagnosis.ranks.steps import Slip, Steps
from spec_tests.inputs.chosen_draw import draw_small_call
from spec_tests.sharding.statements import Shards
from spec_tests.specification.registry import specification

from ..support.in_process import backend
from ..support.machine_made_faults import make_operation

LAYOUTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("linear", {"x": -1, "weight": 1}),
    ("swiglu", {"w1": 0, "b1": 0, "w3": 0, "b3": 0, "w2": 1}),
    ("feed_forward", {"w1": 0, "b1": 0, "w2": 1}),
    ("rms_norm", {"x": -1, "weight": 0, "result": -1}),
    ("layer_norm", {"x": -1, "weight": 0, "bias": 0, "result": -1}),
    ("embedding", {"weight": 0}),
    ("logsumexp", {"x": -1}),
    ("softmax", {"x": -1, "result": -1}),
    ("log_softmax", {"x": -1, "result": -1}),
    ("cross_entropy", {"logits": -1}),
    ("linear_cross_entropy", {"weight": 0}),
    ("mixture_of_experts", {"w1": 0, "w2": 0, "w3": 0, "b1": 0, "b2": 0, "b3": 0}),
    ("mixture_of_experts", {"x": -2, "w1": 0, "w2": 0, "w3": 0, "b1": 0, "b2": 0, "b3": 0, "result": -2}),
    ("rope", {"x": -2, "positions": -1, "result": -2}),
    ("scaled_dot_product_attention", {"q": -2, "k": -2, "v": -2, "result": -2}),
    ("attention_with_lse", {**dict.fromkeys(("q", "k", "v", "out"), (-2, "zigzag")), "lse": (-1, "zigzag")}),
    ("grouped_query_attention", {"q": -2, "k": -2, "v": -2, "result": -2}),
    ("grouped_query_attention", {"q": -3, "result": -3}),
    ("multihead_self_attention", {"w_q": 0, "w_k": 0, "w_v": 0, "w_o": 1, "b_q": 0, "b_k": 0, "b_v": 0}),
)  # fmt: skip
GRADIENTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("swiglu", {"w1": 0, "w3": 0, "w2": 1}),
    ("rms_norm", {"x": -2, "result": -2}),
    ("grouped_query_attention", {"q": -3, "result": -3}),
    ("attention_with_lse", {"q": -2, "k": -2, "v": -2, "out": -2, "lse": -1}),
)
BACKWARD: tuple[tuple[str, dict[str, Any]], ...] = (
    ("rms_norm", {"x": -1, "weight": 0, "result": -1}),
    ("layer_norm", {"x": -1, "weight": 0, "bias": 0, "result": -1}),
    ("log_softmax", {"x": -1, "result": -1}),
    ("softmax", {"x": -1, "result": -1}),
    ("linear_cross_entropy", {"weight": 0}),
    ("cross_entropy", {"logits": -1}),
    ("mixture_of_experts", {"w1": 0, "w2": 0, "w3": 0, "b1": 0, "b2": 0, "b3": 0}),
)
SEED = 5
IDS = [f"{name} {' '.join(cuts)}" for name, cuts in LAYOUTS]


@pytest.fixture(scope="module")
def operation_of() -> Any:
    numpy = backend("numpy-cpu")
    return lambda name: make_operation(numpy, name)


def make_layout(name: str, cuts: dict[str, Any], count: int) -> Layout:
    return Layout(specification(name), count, Shards({name.removesuffix("_vjp"): cuts}), "bottom-right")


def draw(operation: Operation, count: int, *, fits: Any = lambda call: True) -> list[Call]:
    """Return so many small calls that a layout takes."""
    found, source = [], random.Random(f"{SEED} {operation.name}")
    for number in range(40 * count):
        try:
            call = draw_small_call(operation, source, all_arguments=number % 2 == 1)
        except NotImplementedVariant:
            continue
        if fits(call) and call.value.size and call.value.size < 600:
            found.append(call)
        if len(found) == count:
            return found
    return found


def takes(layout: Layout, call: Call) -> bool:
    """Whether the layout is one of this call: by whole heads, along the last axis, and without the weights of classes."""
    named = call.named
    if named.get("axis", -1) != -1 or (layout.spec.name == "cross_entropy" and named.get("weight") is not None):
        return False
    if layout.spec.name == "multihead_self_attention":
        heads = named["num_heads"], named.get("num_kv_heads") or named["num_heads"]
        return all(h % layout.count == 0 for h in heads) and named.get("sinks") is None
    if layout.of_argument("x") is not None and layout.axis_of("x") == -2:
        return bool(named["x"].ndim > 1)
    return not (layout.spec.name == "rope" and np.ndim(named["positions"]) == 0)


def answers(layout: Layout, equation: EquationOverRanks, call: Call, steps: Steps) -> list[np.ndarray]:
    """Return the answer of every rank."""

    def evaluate(*arguments: Any, **keywords: Any) -> Any:
        named: Named = {**dict(zip(layout.spec.positional, arguments, strict=False)), **keywords}
        return layout.answer(equation.evaluate(steps, layout, named, layout.split_all(named)))

    found = []
    for rank in range(layout.count):
        steps.met = 0
        with np.errstate(all="ignore"):
            found.append(np.asarray(call.at_rank(rank).evaluate(np.asarray, evaluate)))
    return found


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize(("name", "cuts"), LAYOUTS, ids=IDS)
def test_without_a_slip_every_rank_has_the_right_result(name: str, cuts: dict[str, Any], count: int, operation_of: Any) -> None:
    layout = make_layout(name, cuts, count)
    calls = draw(operation_of(name), 6, fits=partial(takes, layout))
    equations = list(list_equations(layout))
    assert len(equations) == 1
    assert len(calls) >= 3
    for call in calls:
        for answer in answers(layout, equations[0], call, Steps(count)):
            allowed = call.expectation(call.operation.precision)
            assert allowed.accepts_all(allowed.storage.round(answer)), (call.named, answer, call.value)


@pytest.mark.parametrize(("name", "cuts"), LAYOUTS, ids=IDS)
def test_each_slip_shows_in_the_answer_of_some_rank(name: str, cuts: dict[str, Any], operation_of: Any) -> None:
    layout = make_layout(name, cuts, 3)
    (equation,) = list_equations(layout)
    calls, seen = draw(operation_of(name), 40, fits=partial(takes, layout)), dict[Slip, bool]()
    for call in calls:
        steps = Steps(3)
        answers(layout, equation, call, steps)
        for slip in dict.fromkeys(steps.possible):
            if not seen.get(slip):
                wrong = answers(layout, equation, call, Steps(3, slip))
                seen[slip] = any(not np.array_equal(y, call.value, equal_nan=True) for y in wrong)
    silent = {slip.said for slip, shows in seen.items() if not shows}
    assert len(seen) >= 3
    # The maximum is only a shift. Causality hides all keys of later ranks where there are as many keys as queries.
    assert all(re.search("the maximum|later ranks|by the order of the ranks", said) for said in silent), silent


@pytest.mark.parametrize(("name", "cuts"), GRADIENTS, ids=[name for name, _ in GRADIENTS])
def test_what_reaches_an_argument_through_all_ranks_is_its_gradient(name: str, cuts: dict[str, Any], operation_of: Any) -> None:
    from spec_tests.diagnosis.ranks.gradients import _restrict

    spec = specification(f"{name}_vjp")
    layout = Layout(spec, 2, Shards({name: cuts}))
    forward = [call for call in draw(operation_of(name), 12) if call.named[next(iter(call.named))].ndim > 1]
    rng = np.random.default_rng(SEED)
    for call in forward[:4]:
        results = call.oracle_results if isinstance(call.oracle_results, tuple) else (call.oracle_results,)
        if not all(np.isfinite(y).all() for y in results):
            continue
        cotangent = tuple(rng.standard_normal(y.shape) for y in results)
        named = {"cotangent": cotangent if len(cotangent) > 1 else cotangent[0], **call.named}
        whole = call_right(spec, named)
        shares = [call_right(spec, _restrict(layout, named, rank)) for rank in range(2)]
        for place, argument in enumerate(spec.positional[1:]):
            if whole[place] is not None and layout.of_argument(argument) is None and argument != "b2":  # which is added once
                np.testing.assert_allclose(sum(share[place] for share in shares), whole[place], atol=1e-9, rtol=1e-9)


def draw_gradients(name: str, cuts: dict[str, Any], count: int, operation_of: Any) -> tuple[Layout, list[Named]]:
    """Return the layout of a gradient, and the arguments of small calls of it whose results are finite."""
    layout, rng = make_layout(f"{name}_vjp", cuts, count), np.random.default_rng(SEED)
    found = []
    for call in draw(operation_of(name), 24, fits=partial(takes, make_layout(name, cuts, count))):
        if np.isfinite(call.value).all():
            cotangent = rng.standard_normal(np.shape(call.value))
            found.append({**layout.forward.defaults, "cotangent": cotangent, **call.named})
    assert len(found) >= 6
    return layout, found


def list_gradients_of_ranks(layout: Layout, named: Named, steps: Steps) -> list[list[np.ndarray]]:
    """Return what the equation of a gradient gives each rank, an array for each argument that has one."""
    (equation,) = list_equations(layout)
    with np.errstate(all="ignore"):
        results = equation.evaluate(steps, layout, named, layout.split_all(named))
    return [[np.asarray(y) for y in of_rank if y is not None] for of_rank in results]


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize(("name", "cuts"), BACKWARD, ids=[name for name, _ in BACKWARD])
def test_without_a_slip_every_rank_has_the_right_gradients(
    name: str, cuts: dict[str, Any], count: int, operation_of: Any
) -> None:
    layout, calls = draw_gradients(name, cuts, count, operation_of)
    for named in calls:
        with np.errstate(all="ignore"):
            right = dict(zip(layout.spec.positional[1:], call_right(layout.spec, named), strict=False))
        expected = [layout.split(argument, y) for argument, y in right.items() if y is not None]
        for rank, found in enumerate(list_gradients_of_ranks(layout, named, Steps(count))):
            for y, parts in zip(found, expected, strict=True):
                np.testing.assert_allclose(y, parts[rank], atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize(("name", "cuts"), BACKWARD, ids=[name for name, _ in BACKWARD])
def test_each_slip_shows_in_the_gradients_of_some_rank(name: str, cuts: dict[str, Any], operation_of: Any) -> None:
    layout, calls = draw_gradients(name, cuts, 3, operation_of)
    shows = dict[Slip, bool]()
    for named in calls:
        steps = Steps(3)
        right = list_gradients_of_ranks(layout, named, steps)
        for slip in dict.fromkeys(steps.possible):
            wrong = list_gradients_of_ranks(layout, named, Steps(3, slip))
            pairs = [
                pair for of_right, of_wrong in zip(right, wrong, strict=True) for pair in zip(of_right, of_wrong, strict=True)
            ]
            shows[slip] = shows.get(slip, False) or any(not np.array_equal(a, b, equal_nan=True) for a, b in pairs)
    assert len(shows) >= 3
    assert [slip.said for slip, is_seen in shows.items() if not is_seen] == []


def test_a_gradient_is_listed_for_each_argument_that_is_whole(operation_of: Any) -> None:
    layout = Layout(specification("swiglu_vjp"), 2, Shards({"swiglu": {"w1": 0, "w3": 0, "w2": 1}}))
    call = draw(operation_of("swiglu"), 1)[0]
    call.keywords["wrt"] = ("x", "w1")
    said = [alternative.what for alternative in list_gradients(layout, [call])]
    assert "each rank has the gradient of x of its own part alone: it is not summed over the ranks" in said
    assert "the gradient of w1 is multiplied by the number of ranks" in said
    assert RANK.get() == 0
