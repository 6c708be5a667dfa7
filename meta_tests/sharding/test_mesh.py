"""Ranks in a mesh: what each computes from its own parts gives the right results, and mistakes are told apart by the answers."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.asked_rank import RANK
from spec_tests.calls.call import Call
from spec_tests.calls.operation import Operation
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.diagnosis.operator.alternative import Named, call_right
from spec_tests.diagnosis.ranks import search
from spec_tests.diagnosis.ranks.along_axis import list_along_axes
from spec_tests.diagnosis.ranks.mesh import Mesh
from spec_tests.diagnosis.ranks.mesh_layout import MeshLayout, settle
from spec_tests.diagnosis.ranks.on_mesh import MAX_SHAPES, _choose_shapes, list_on_mesh
from spec_tests.diagnosis.ranks.shares import Shares, find_shares
from spec_tests.inputs.chosen_draw import draw_small_call
from spec_tests.processes.message import ProcessArray
from spec_tests.sharding.placements import as_placement, divide, unite
from spec_tests.sharding.statements import Shards
from spec_tests.specification.registry import specification
from spec_tests.specification.work import Budget, Meter

from ..support.answers_of_ranks import answer, find
from ..support.in_process import backend
from ..support.machine_made_faults import make_operation

MESH = {"dp": 2, "tp": 3}
SEED = 7
PLACED: tuple[Any, ...] = (
    None,
    -1,
    (0, "chunk"),
    (-1, "striped"),
    "partial",
    {"axis": 0, "heads": 6},
    {"axis": -1, "fused": (1, 2)},
    {"tp": -1},
    {"dp": 0, "tp": 0},
    {"dp": (0, "zigzag"), "tp": "partial"},
)
FEATURES = {"x": {"tp": -1}, "weight": {"dp": 0, "tp": 1}, "bias": {"dp": 0}}
HEADS = {name: {"tp": {"axis": 0, "heads": "num_heads"}} for name in ("w_q", "w_k", "w_v")}
LAYOUTS: dict[str, tuple[str, dict[str, Any]]] = {
    "sums along one axis, parts along the other": ("linear", {**FEATURES, "result": {"dp": -1}}),
    "summands": ("linear", {**FEATURES, "result": {"dp": -1, "tp": "partial"}}),
    "a sum beside copies": ("linear", {"x": {"tp": -1}, "weight": {"tp": 1}}),
    "summands of all ranks": ("swiglu", {"w1": (0, "striped"), "w2": (1, "striped"), "w3": (0, "striped"), "result": "partial"}),
    "tokens that are gathered, and a sum that is scattered": (
        "swiglu",
        {
            "x": {"tp": -2},
            "w1": {"tp": 0},
            "w2": {"tp": 1},
            "w3": {"tp": 0},
            "b1": {"tp": 0},
            "b3": {"tp": 0},
            "result": {"tp": -2},
        },
    ),
    "weights that are gathered": ("feed_forward", {"x": {"dp": -2}, "w1": {"dp": 0}, "w2": {"dp": 1}, "result": {"dp": -2}}),
    "heads": (
        "multihead_self_attention",
        {**HEADS, "w_o": {"tp": {"axis": 1, "heads": "num_heads"}}, "result": {"tp": "partial"}},
    ),
    "arrays in one": ("gated_activation", {"x": {"tp": {"axis": -1, "fused": (1, 1)}}, "result": {"tp": -1}}),
    "a copy of summands": ("add_rms_norm", {"x": {"tp": "partial"}, "result.residual": {"tp": "partial"}}),
}


def test_parts_are_those_that_the_ranks_are_given() -> None:
    x = np.random.default_rng(SEED).normal(size=(12, 9))
    for stated in PLACED:
        placement, shards = as_placement(stated, MESH), Shards({"linear": {"x": stated}}, MESH)
        axes = shards.find_axes("linear")
        assert axes
        mesh = Mesh(tuple(axes), tuple(size or 6 for size in axes.values()))
        placed = shards.list_placed("linear", "argument", "x")
        is_sum = "partial" in placed
        pieces = mesh.divide(placed, x)
        given = [part.values for part in divide(placement, ProcessArray("float64", x), 6)]
        if not is_sum:
            assert all(np.array_equal(own, part) for own, part in zip(pieces, given, strict=True)), stated
        united = unite(placement, [ProcessArray("float64", part) for part in given])
        for whole, expected in zip(mesh.unite(placed, given), united, strict=True):
            np.testing.assert_array_equal(whole, expected.values, err_msg=str(stated))


def test_an_operation_in_two_meshes_has_no_axes() -> None:
    shards = Shards({"linear": {"x": -1, "weight": {"tp": 1}}, "swiglu": {"w1": 0}}, MESH)
    assert (shards.find_axes("linear"), shards.find_axes("swiglu")) == (None, {"": 0})


def make_layout(name: str, stated: dict[str, Any]) -> MeshLayout:
    forward = name.removesuffix("_vjp")
    shards = Shards({forward: stated}, {"dp": 2, "tp": 2})
    axes = shards.find_axes(forward)
    assert axes
    return MeshLayout(specification(name), Mesh(tuple(axes), tuple(size or 4 for size in axes.values())), shards, "float32")


@pytest.fixture
def operation_of() -> Callable[[str], Operation]:
    numpy = backend("numpy-cpu")
    return lambda name: make_operation(numpy, name, "float32")


def draw(layout: MeshLayout, operation: Operation, count: int) -> list[Call]:
    """Return small calls that fit the layout."""
    source, found = random.Random(SEED), list[Call]()
    for number in range(40 * count):
        with suppress(NotImplementedVariant):
            call = draw_small_call(operation, source, all_arguments=number % 2 == 1)
            if len(found) < count and call.value.size and fits(layout, call):
                found.append(call)
    return found


def fits(layout: MeshLayout, call: Call) -> bool:
    named = {**layout.forward.defaults, **call.named}
    if any(named.get(name) is not None for name in ("num_kv_heads", "sinks", "b_q", "b_k", "b_v")):
        return False
    if named.get("layout", "concatenated") == "interleaved" and layout.spec.name == "gated_activation":
        return False
    return bool(named["x"].ndim > 1)


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_shares_of_ranks_become_the_right_results(name: str, operation_of: Callable[[str], Operation]) -> None:
    """Also that of their gradients, of random cotangents."""
    operation, stated = LAYOUTS[name]
    layout, gradient = make_layout(operation, stated), make_layout(f"{operation}_vjp", stated)
    calls = draw(layout, operation_of(operation), 6)
    assert len(calls) == 6
    shares = find_shares(layout, calls)
    assert shares is not None
    of_gradient, rng = Shares(gradient, shares.gathered, shares.summed), np.random.default_rng(SEED)
    for call in calls:
        results = call.oracle_results if layout.forward.has_several_results else (call.oracle_results,)
        cotangents = tuple(rng.standard_normal(np.shape(y)) for y in results)
        named: Named = {**layout.forward.defaults, **call.named}
        named = {"cotangent": cotangents if layout.forward.has_several_results else cotangents[0], **named}
        with np.errstate(all="ignore"):
            right = call_right(gradient.spec, named)
            if not all(np.isfinite(y).all() for y in right if y is not None):
                continue
            for y, expected in zip(of_gradient.evaluate(gradient.spec, named), right, strict=True):
                if expected is not None:
                    np.testing.assert_allclose(y, expected, rtol=1e-9, atol=1e-9)


SAID: tuple[tuple[str, str], ...] = (
    ("sums along one axis, parts along the other", "along tp, bias is added once for each rank"),
    ("sums along one axis, parts along the other", "no rank adds bias"),
    ("sums along one axis, parts along the other", "along tp, the first rank alone adds bias to its result"),
    ("sums along one axis, parts along the other", "rank 0 of all alone adds bias"),
    ("sums along one axis, parts along the other", "the parts of weight are taken for zigzag parts along dp"),
    (
        "sums along one axis, parts along the other",
        "the sum to which bias is added is divided by the number of ranks along dp or the number of ranks along tp",
    ),
    (
        "sums along one axis, parts along the other",
        "along tp, each rank has the result of its own part alone: it is not summed over the ranks",
    ),
    ("a sum beside copies", "the result is summed along dp, not along tp"),
    ("summands", "along tp, bias is added once for each rank"),
    ("summands", "bias is added by the ranks that are the first along dp"),
    ("summands", "the result is multiplied by the number of ranks along dp or the number of ranks along tp"),
    ("summands", "along tp, the first rank alone adds to the result"),
    ("summands", "along tp, the summands of the result are stored in bfloat16"),
    ("summands of all ranks", "the result is divided by the number of ranks"),
    ("summands of all ranks", "the parts of w2 are taken for contiguous parts"),
    (
        "tokens that are gathered, and a sum that is scattered",
        "the parts of the result that ranks answer are those of the other rank along tp",
    ),
    (
        "tokens that are gathered, and a sum that is scattered",
        "along tp, the parts of the result are stored in bfloat16 before they are summed",
    ),
    ("heads", "the parts of w_k are taken for those of the other rank along tp"),
    ("arrays in one", "the parts of x are taken for contiguous parts along tp"),
    ("a copy of summands", "along tp, each rank has x of its own part alone: it is not summed over the ranks"),
    ("a copy of summands", "the returned residual is multiplied by the number of ranks along dp or the number of ranks along tp"),
)


def double_last(layout: MeshLayout, /, *arguments: Any, **keywords: Any) -> Any:
    """Return the right results, of which the last, or the only one, is doubled."""
    right = layout.spec.reference(*arguments, **keywords)
    return (*right[:-1], 2 * right[-1]) if layout.spec.has_several_results else 2 * right


@pytest.mark.rotating(one_in=4)
@pytest.mark.parametrize(("name", "said"), SAID)
def test_what_ranks_compute_is_said(
    name: str, said: str, operation_of: Callable[[str], Operation], monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = make_layout(*LAYOUTS[name])
    calls = draw(layout, operation_of(layout.spec.name), 24)
    every = answer(calls, partial(double_last, layout), 4)
    listed = {each.what: each for each in list_on_mesh(layout, calls[:4], every)}
    found = find(layout, answer(calls, listed[said].function, layout.mesh.count), monkeypatch)
    assert found is not None
    assert found.what == said


def test_nothing_is_said_of_answers_that_no_known_mistake_gives(
    operation_of: Callable[[str], Operation], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("summands", "tokens that are gathered, and a sum that is scattered"):
        layout = make_layout(*LAYOUTS[name])
        calls = draw(layout, operation_of(layout.spec.name), 24)
        spoiled = answer(calls, lambda *a, reference=layout.spec.reference, **k: reference(*a, **k) * (1.25 + RANK.get() % 2), 4)
        assert find(layout, spoiled, monkeypatch) is None


def test_an_equation_over_ranks_is_known_along_one_axis(
    operation_of: Callable[[str], Operation], monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = make_layout("embedding", {"weight": {"tp": 0, "dp": -1}, "result": {"dp": -1}})
    source, calls = random.Random(SEED), list[Call]()
    while len(calls) < 12:
        with suppress(NotImplementedVariant):
            calls.append(draw_small_call(operation_of("embedding"), source, all_arguments=False))
    listed = {each.what: each for each in list_along_axes(layout, calls[:4])}
    said = "along tp, token ids are not counted from the rank's first"
    assert "along dp, token ids are not counted from the rank's first" not in listed
    found = find(layout, answer(calls, listed[said].function, layout.mesh.count), monkeypatch)
    assert found is not None
    assert found.what == said


def test_heads_are_numbers_of_the_call() -> None:
    layout = make_layout(*LAYOUTS["heads"])
    (_, cut) = settle(layout.of_argument("w_q"), {"num_heads": 3})
    assert cut is not None
    assert not isinstance(cut, str)
    assert [len(own) for own in cut.places(6, 2)] == [4, 2]


def test_ways_are_tried_in_calls_of_different_shapes(operation_of: Callable[[str], Operation]) -> None:
    """With one token for two ranks, what is summed and what is joined may be the same."""
    layout = make_layout(*LAYOUTS["summands"])
    calls = draw(layout, operation_of("linear"), 24)
    chosen = _choose_shapes([*calls, *calls])
    shapes = [tuple(getattr(x, "shape", ()) for x in call.named.values()) for call in chosen]
    assert 1 < len(shapes) <= MAX_SHAPES
    assert len({*shapes}) == len(shapes)


def test_answers_are_screened_as_far_as_the_budget_goes() -> None:
    """A quarter of the budget is for their bounds, but for four; the first of them have shown what one costs."""
    budget = Budget(Meter(), 4000)
    found = [search._count_affordable(96, cost, budget) for cost in (0.0, 1.0, 100.0, 10_000.0, float("nan"))]
    assert found == [96, 96, 10, 4, 96]
