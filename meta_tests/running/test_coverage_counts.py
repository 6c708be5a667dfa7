"""What a report counts of the examples of a law: drawn, answered, refused, and the variants and classes that were tried."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spec_tests.calls.call import Call
from spec_tests.calls.call_facts import UNEQUAL_BATCHES, describe_call
from spec_tests.calls.operation import Operation
from spec_tests.specification.registry import specification
from spec_tests.trials.coverage import MAX_TEXTS, PLAIN, Coverage, Example

from ..support.in_process import backend

BACKEND = ("backend", "not today")
X = np.ones((2, 3, 4))


def make_call(name: str = "scaled_dot_product_attention", *arguments: Any, is_answered: bool = True, **keywords: Any) -> Call:
    spec = specification(name)
    tested = Operation(spec, backend("numpy-cpu"), "float32", spec.precision)
    call = tested.call(*(arguments or (X, X, X)), **keywords)
    if is_answered:
        call.result = 1
    return call


def test_an_example_is_answered_if_a_call_was_and_nothing_was_refused() -> None:
    coverage = Coverage()
    coverage.add([make_call()])
    coverage.add([make_call(is_answered=False)])
    coverage.add([make_call(is_answered=False), make_call()])
    coverage.add([make_call(), make_call(is_answered=False)], refusal=BACKEND)
    coverage.add([], refusal=BACKEND)
    coverage.add([], failed=True)
    assert (coverage.drawn, coverage.answered, coverage.failed) == (6, 2, 1)
    assert [example.refusal for example in coverage.examples] == ["", "", "", "backend", "backend", ""]
    assert coverage.list_refusals() == [("backend", "not today", 2)]


def test_the_facts_of_an_example_are_those_of_the_call_that_counts() -> None:
    coverage = Coverage()
    coverage.add([make_call(is_answered=False, scale=0.5), make_call(is_causal=True)])
    coverage.add([make_call(is_causal=True), make_call(scale=0.5, is_answered=False)], refusal=BACKEND)
    coverage.add([make_call(is_answered=False, scale=0.5)])
    options = [set(example.options) for example in coverage.examples]
    assert options == [{"is_causal = True"}, {"scale"}, {"scale"}]


def test_the_most_frequent_refusals_are_kept() -> None:
    coverage = Coverage()
    for number in range(MAX_TEXTS + 3):
        for _ in range(number + 1):
            coverage.add([], refusal=("domain", f"text {number}"))
    assert [count for _, _, count in coverage.list_refusals()] == list(range(MAX_TEXTS + 3, 3, -1))


def cover(*examples: tuple[str, str]) -> Coverage:
    """Return the coverage of examples: "a" for answered or "r" for refused, and the letters of their options."""
    made = [
        Example("backend" if outcome == "r" else "", outcome == "a", {"n": 3}, frozenset(options))
        for outcome, options in examples
    ]
    return Coverage(made)


@pytest.mark.parametrize(
    ("examples", "variants", "unexplained"),
    [
        ([("a", ""), ("r", "m")], [{"m"}], 0),
        ([("a", ""), ("a", "m"), ("r", "m")], [], 1),
        ([("a", ""), ("r", "m"), ("r", "mb"), ("a", "b")], [{"m"}], 0),
        ([("a", ""), ("a", "m"), ("a", "b"), ("r", "mb")], [{"m", "b"}], 0),
        ([("a", "m"), ("r", ""), ("r", "b")], [], 2),
        ([("r", "m"), ("r", "b")], [], 2),
        ([("a", ""), ("r", "m"), ("r", "b"), ("r", "mb")], [{"m"}, {"b"}], 0),
        ([("a", ""), ("a", "b"), ("r", "bm"), ("r", "bm"), ("r", "c")], [{"m"}, {"c"}], 0),
        ([("a", "")], [], 0),
    ],
)
def test_the_smallest_variants_that_explain_refusals(
    examples: list[tuple[str, str]], variants: list[set[str]], unexplained: int
) -> None:
    coverage = cover(*examples)
    assert sorted(map(sorted, coverage.refused_variants())) == sorted(map(sorted, variants))
    assert coverage.unexplained() == unexplained


def test_variants_have_names() -> None:
    coverage = cover(("a", ""), ("a", "b"), ("r", "m"), ("r", "bc"))
    coverage.refusals.update({("signature", "mine's rope takes no layout"): 1, ("domain", "its domain has no d = 3"): 4})
    described = coverage.describe_variants()
    assert described["answered"] == [PLAIN, "b"]
    assert sorted(described["refused"]) == ["c", "layout", "m"]
    assert PLAIN in cover(("r", ""), ("a", "b")).describe_variants()["refused"]


def test_classes_of_facts_are_powers_of_two_signs_and_values() -> None:
    facts = {"n": 5, "m": 1, "d": 8, "zero": 0, "axis": -1, "batch_dims": 2, "scale": 0.5, "low": -0.5, "flag": True,
             "off": False, "layout": "halves", "none": None, "array": object()}  # fmt: skip
    coverage = Coverage([Example("", True, facts, frozenset()), Example("backend", False, {"n": 16, "m": 1}, frozenset())])
    described = coverage.describe_variants()
    assert described["classes_answered"] == sorted(
        ["n 4 to 7", "m 1", "d 8 to 15", "zero = 0", "axis = -1", "batch_dims = 2", "scale > 0", "low < 0", "flag",
         "layout = halves", "array given"]
    )  # fmt: skip
    assert described["classes_refused"] == ["n 16 to 31"]


# --- the facts of a call ---------------------------------------------------------------------------------------------


def test_options_are_the_arguments_that_differ_from_their_defaults() -> None:
    def options(**keywords: Any) -> set[str]:
        return set(describe_call(make_call(**keywords))[1])

    assert options() == set()
    assert options(scale=None, is_causal=False) == set()
    assert options(mask=np.ones((3, 3), bool)) == {"mask"}
    assert options(is_causal=True, scale=0.25) == {"is_causal = True", "scale"}
    assert options(scale=-0.25) == {"scale", "scale < 0"}
    assert options(scale=0.0) == {"scale", "scale = 0"}


def test_facts_are_sizes_ranks_and_what_is_given() -> None:
    facts, _ = describe_call(make_call(bias=np.zeros((3, 3))))
    assert {"n": 3, "m": 3, "d_k": 4, "batch_dims": 1}.items() <= facts.items()
    assert facts["with bias"] is True
    assert facts["with mask"] is False
    assert facts["empty"] is False
    assert facts[UNEQUAL_BATCHES] is False
    empty, _ = describe_call(make_call("relu", np.ones((0, 3))))
    assert empty["empty"] is True
    unequal, options = describe_call(make_call("scaled_dot_product_attention", X, X[:1], X))
    assert unequal[UNEQUAL_BATCHES] is True
    assert UNEQUAL_BATCHES in options


@pytest.mark.parametrize(
    ("positions", "kind"),
    [([0, 1, 2], "consecutive"), ([5, 6, 7], "offset"), ([0, 2, 1], "arbitrary"), ([0, 0, 0], "arbitrary"), ([0], "consecutive")],
)
def test_positions_are_of_three_kinds(positions: list[int], kind: str) -> None:
    call = make_call("rope", np.ones((len(positions), 4)), np.array(positions), theta=10_000.0)
    assert describe_call(call)[0]["positions"] == kind
