"""What several ranks compute in place of the equation is found from the answers of all of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.call import Call
from spec_tests.calls.operation import Operation
from spec_tests.calls.ranks import has_same_answer, list_distinct
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.diagnosis.further_calls import FurtherCalls
from spec_tests.diagnosis.ranks import search
from spec_tests.diagnosis.ranks.equations import list_cuts
from spec_tests.diagnosis.ranks.guess import Chunks, GuessedStatement
from spec_tests.diagnosis.ranks.layout import Layout
from spec_tests.inputs.chosen_draw import draw_small_call
from spec_tests.sharding.statements import Shards
from spec_tests.specification.registry import specification

from ..support.answers_of_ranks import answer, find
from ..support.in_process import backend
from ..support.machine_made_faults import make_operation

RANKS = 3
SEED = 11
SAID: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("linear", {"x": -1, "weight": 1}, "the parts of the result are stored in bfloat16 before they are summed"),
    ("linear", {"x": -1, "weight": 1}, "the result, summed over the ranks, is multiplied by the number of ranks"),
    ("feed_forward", {"w1": 0, "b1": 0, "w2": 1}, "the parts of b1 of every rank but the first are left out, as if they were 0"),
    ("swiglu", {"w1": 0, "w3": 0, "w2": 1}, "the parts of w1 and w3 are exchanged on every rank but the first"),
    (
        "layer_norm",
        {"x": -1, "weight": 0, "bias": 0, "result": -1},
        "the squares in the variance are of distances from the mean of the rank's own features",
    ),
    ("log_softmax", {"x": -1, "result": -1}, "each rank has the maximum of its own part alone, even where that is -inf"),
    ("embedding", {"weight": 0}, "token ids of other ranks are not masked: they wrap around within the rank's own"),
    ("cross_entropy", {"logits": -1}, "each rank counts the rows alone whose targets are among its own tokens"),
    (
        "mixture_of_experts",
        {"x": -2, "w1": 0, "w2": 0, "w3": 0, "b1": 0, "b2": 0, "b3": 0, "result": -2},
        "what experts return to a rank stays in the order of the experts",
    ),
    (
        "scaled_dot_product_attention",
        {"q": -2, "k": -2, "v": -2, "result": -2},
        "the causal mask is aligned by the rank's own number of queries",
    ),
    (
        "scaled_dot_product_attention",
        {"q": -2, "k": -2, "v": -2, "result": -2},
        "what fills up shorter parts is seen, as keys and values of 0",
    ),
    (
        "scaled_dot_product_attention",
        {"q": -2, "k": -2, "v": -2, "result": -2},
        "a query sees the keys of its own rank alone",
    ),
    ("rope", {"x": -2, "positions": -1, "result": -2}, "positions begin anew on each rank"),
)


@pytest.fixture
def operation_of() -> Callable[[str], Operation]:
    numpy = backend("numpy-cpu")
    return lambda name: make_operation(numpy, name, "float32")


def draw(operation: Operation, count: int) -> list[Call]:
    source, found = random.Random(SEED), []
    for number in range(8 * count):
        with suppress(NotImplementedVariant):
            call = draw_small_call(operation, source, all_arguments=number % 2 == 1)
            if call.named.get("axis", -1) == -1 and call.value.size and has_tokens(call):
                found.append(call)
    return found[:count]


def has_tokens(call: Call) -> bool:
    named = call.named
    return named["x"].ndim > 1 if call.operation.name in ("mixture_of_experts", "rope") else True


@pytest.mark.parametrize(("name", "cuts", "said"), SAID, ids=[f"{name}: {said}" for name, _, said in SAID])
def test_what_ranks_compute_is_said(
    name: str, cuts: dict[str, Any], said: str, operation_of: Callable[[str], Operation], monkeypatch: pytest.MonkeyPatch
) -> None:
    layout, calls = Layout(specification(name), RANKS, Shards({name: cuts}), "bottom-right", "zero"), draw(operation_of(name), 24)
    listed = {each.what: each for each in search._list_alternatives(layout, calls, calls)}
    found = find(layout, answer(calls, listed[said].function, RANKS), monkeypatch)
    assert found is not None
    assert found.what == said


def test_nothing_is_said_of_answers_that_no_known_fault_of_ranks_gives(
    operation_of: Callable[[str], Operation], monkeypatch: pytest.MonkeyPatch
) -> None:
    layout, calls = (
        Layout(specification("linear"), RANKS, Shards({"linear": {"x": -1, "weight": 1}})),
        draw(operation_of("linear"), 24),
    )
    spoiled = answer(calls, lambda x, weight, bias=None: np.matmul(x, weight.T) * 1.25, RANKS)
    assert find(layout, spoiled, monkeypatch) is None


def test_ranks_with_one_answer_are_judged_once(operation_of: Callable[[str], Operation]) -> None:
    call = draw(operation_of("linear"), 1)[0]
    (same,) = answer([call], lambda x, weight, bias=None: np.matmul(x, weight.T) * 2 + 1, RANKS)
    assert list_distinct(same) == [same.by_rank[0] if same.by_rank else None]
    assert has_same_answer(same.by_rank[0], same.by_rank[2]) if same.by_rank else False
    assert list(FurtherCalls(lambda: [same], "linear")) == [same]
    assert same.by_rank
    same.by_rank[1].observed = np.asarray(same.by_rank[1].observed) + 1
    assert list_distinct(same) == same.by_rank[:2]


def test_layouts_of_devices_are_those_in_which_ranks_are_known_to_compute() -> None:
    (cuts,) = list_cuts("attention_with_lse")
    stated = GuessedStatement(specification("attention_with_lse"), cuts)
    found = [stated.of_result("attention_with_lse", name) for name in ("out", "lse")]
    assert [cut.axis for cut in found if cut] == [-2, -1]
    assert stated.of_argument("attention_with_lse", "mask") is None
    assert [list(places) for places in Chunks(-1).places(3, 4)] == [[0], [1], [2], []]
