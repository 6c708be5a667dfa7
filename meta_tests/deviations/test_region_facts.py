"""Tests of the facts of calls and of elements that the search for a region knows, and of calls that are asked for by them."""

import numpy as np
import pytest

from spec_tests.calls.call import Call
from spec_tests.calls.operation import Operation
from spec_tests.diagnosis.regions.condition import Condition
from spec_tests.diagnosis.regions.facts.fact import Fact
from spec_tests.diagnosis.regions.facts.of_calls.arguments import Size
from spec_tests.diagnosis.regions.facts.of_calls.axis import AXIS_FACTS, RANK, describe_axis, find_axis
from spec_tests.diagnosis.regions.facts.of_calls.calls_before import CallsBefore
from spec_tests.diagnosis.regions.facts.of_calls.values import largest_magnitude
from spec_tests.diagnosis.regions.facts.of_elements.argument_values import ValueAt
from spec_tests.diagnosis.regions.facts.of_elements.counts import OCCURRENCES
from spec_tests.diagnosis.regions.like_calls import wish_like
from spec_tests.diagnosis.regions.met_conditions import list_conditions, list_element_conditions
from spec_tests.diagnosis.wish import Wish
from spec_tests.specification.registry import specification
from spec_tests.trials.asker import ask_about

from ..support.in_process import backend
from ..support.machine_made_faults import make_operation
from ..support.named_facts import find_fact, name_element_facts, name_facts


def test_the_axis_of_a_gradient_is_one_of_its_argument() -> None:
    """The cotangent of logsumexp has an axis less than its argument, and may have none."""
    made = Operation(specification("logsumexp_vjp"), backend("numpy-cpu"), "float32", "fused")
    call = Call(made, (np.array(1.0), np.array([3.0, -1.0, 2.0])), {"axis": -1, "wrt": "x"})
    facts = name_facts(call)
    assert facts["axes of the argument"] == 1
    assert facts["the last axis"]


def test_an_element_of_a_gradient_has_the_values_at_its_place() -> None:
    """So that a region can say "where x is 0", which is where derivatives by cases go wrong."""
    made = Operation(specification("sigmoid_vjp"), backend("numpy-cpu"), "float32", "fused")
    call = Call(made, (np.array([0.5, 2.0, 1.0]), np.array([3.0, 0.0, 2.0])), {"wrt": "x"})
    elements = name_element_facts(call)
    assert elements["x"].tolist() == [3.0, 0.0, 2.0]
    wrong = np.array([False, True, False])
    assert Condition(ValueAt.of("x"), "is", (0.0,)) in list(list_element_conditions(ValueAt.of("x"), elements["x"], wrong))
    signed = list_element_conditions(ValueAt.of("x"), np.array([3.0, -0.0, 2.0]), wrong)
    assert Condition(ValueAt.of("x"), "is", (0.0,)).text in [condition.text for condition in signed]
    assert not [c for c in list_element_conditions(ValueAt.of("x"), elements["x"] + 0.1, wrong) if c.kind == "is"]


@pytest.mark.parametrize(
    ("fact", "right"),
    [
        (Size.of("n"), [0]),
        (CallsBefore.of("calls before with these shapes"), [0, 16]),
        (CallsBefore.of("calls before"), [0, 2]),
    ],
)
def test_right_answers_to_a_multiple_are_needed(fact: Fact, right: list[int]) -> None:
    """That of size 0, and one that may be right by chance, are no reason to say "no multiple of 2" in place of a limit."""
    kinds = {condition.kind for condition in list_conditions(fact, [1, 3, 7, 11], right)}
    assert "no multiple" not in kinds
    assert "no multiple" in {condition.kind for condition in list_conditions(fact, [1, 3, 7, 11], [0, 2, 4, 16])}


@pytest.mark.parametrize("axis", [-1, 0, -2, 1])
def test_another_axis_has_the_fact_that_is_asked_for(axis: int) -> None:
    batch = (2, 3)
    for fact in AXIS_FACTS:
        for value in (True, False) if isinstance(describe_axis((2, 4, 3), 1)[fact], bool) else (1, 2, 4):
            found = find_axis(batch, axis, fact, value)
            assert found is not None, (fact, value)
            shape = list(found[0])
            shape.insert(found[1] % (len(shape) + 1), 7)
            assert describe_axis(shape, found[1])[fact] == value
    assert find_axis(batch, axis, RANK, 9) is None


@pytest.mark.parametrize("are_equal", [True, False])
def test_a_size_that_is_a_product_of_sizes_can_be_asked_for(are_equal: bool) -> None:
    """Where heads side by side are as wide as the input, their projection is square."""
    operation = make_operation(backend("numpy-cpu"), "multihead_self_attention")
    ask = ask_about(operation, seed=1)
    answer = ask(Wish(sizes={"n": 3}))
    assert answer is not None
    fact = find_fact(answer.facts, "d = h d_v")
    wish = fact.change(wish_like(ask, answer), are_equal, answer.call, ask.largest)
    assert wish is not None
    changed = ask(wish)
    assert changed is not None
    assert changed.facts[fact] == are_equal


@pytest.mark.parametrize(
    ("name", "fact", "value"),
    [
        ("embedding", "vocab · d", 60),
        ("rms_norm", "batch entries · d", 63),
        ("rms_norm", "elements of the result", 24),
        ("scaled_dot_product_attention", "elements of the result", 70),
    ],
)
def test_a_product_of_sizes_can_be_asked_for(name: str, fact: str, value: int) -> None:
    ask = ask_about(make_operation(backend("numpy-cpu"), name), seed=1)
    answer = ask(Wish(sizes={"d": 3, "vocab": 7, "n": 5}, batch=(2,)))
    assert answer is not None
    named = find_fact(answer.facts, fact)
    wish = named.change(wish_like(ask, answer), value, answer.call, ask.largest)
    assert wish is not None
    changed = ask(wish)
    assert changed is not None
    assert changed.facts[named] == value


def test_what_blocks_over_another_size_do_not_reach() -> None:
    """Two blocks of 8 cover 9 columns, so that 16 of 18 rows are computed by a grid that was made from the columns."""
    made = make_operation(backend("numpy-cpu"), "linear")
    call = Call(made, (np.ones((18, 2)), np.ones((9, 2))), {})
    elements = name_element_facts(call)
    beyond = elements["row of all from ⌈d_out / 8⌉ · 8 on"].reshape(18, 9)
    assert beyond[:, 0].tolist() == [False] * 16 + [True] * 2
    assert "row of all from ⌈d_out / 32⌉ · 32 on" not in elements
    assert elements["flat index from the end"].tolist() == list(range(18 * 9))[::-1]
    assert elements["flat index beyond the whole blocks of 64"].sum() == 18 * 9 - 128


def test_what_an_element_counts() -> None:
    """How many keys its query sees, and how often the id of its row occurs."""
    attention = make_operation(backend("numpy-cpu"), "scaled_dot_product_attention")
    mask = np.array([[True, False, True], [False, True, False]])
    call = Call(attention, (np.ones((2, 1)), np.ones((3, 1)), np.ones((3, 1)), mask), {})
    assert name_element_facts(call)["keys that the query sees"].tolist() == [2, 1]
    table = make_operation(backend("numpy-cpu"), "embedding_vjp")
    call = Call(table, (np.ones((3, 1)), np.array([2, 0, 2]), np.ones((4, 1))), {"wrt": "weight"})
    assert name_element_facts(call)["tokens with the id"].tolist() == [1, 0, 2, 0]
    wrong = np.array([False, False, True, False])
    kinds = {c.kind for c in list_element_conditions(OCCURRENCES, np.array([1, 0, 2, 0]), wrong)}
    assert "multiple" in kinds  # an id that does not occur is no even one


def test_the_largest_magnitude_counts_infinities() -> None:
    """Otherwise −∞ alone would lie outside of "where the largest |x| exceeds 0"."""
    made = make_operation(backend("numpy-cpu"), "softmax")
    rows = {np.inf: [0, -np.inf], 2: [-2, np.nan], 0: [np.nan]}
    for largest, row in rows.items():
        call = Call(made, (np.array(row, dtype=np.float32),), {"axis": -1})
        assert name_facts(call)["the largest |x|"] == largest


def test_an_infinite_value_is_no_limit() -> None:
    conditions = list(list_conditions(largest_magnitude("x"), [1.0, 2.0], [np.inf, 0.5]))
    assert [(one.kind, one.values) for one in conditions] == [("above", (0.5,))]
