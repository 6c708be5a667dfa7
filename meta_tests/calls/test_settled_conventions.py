"""Conventions are settled: what is stated decides, what answers show is inferred, and no answer fits what it does not follow."""

from __future__ import annotations

import dataclasses
from collections import Counter
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.call import Call
from spec_tests.calls.conventions import fits, judge_conventions
from spec_tests.calls.operation import Operation
from spec_tests.calls.recorder import UNKNOWN
from spec_tests.calls.violation import Violation
from spec_tests.implementation.backend import Backend
from spec_tests.implementation.framework import Framework
from spec_tests.inputs.draw import Draw
from spec_tests.specification.conventions import CONVENTIONS, UPDATE, Convention, apply_conventions
from spec_tests.specification.formats import FORMATS
from spec_tests.specification.registry import specification
from spec_tests.trials.conventions import infer_values

# Of a convention that allows every value, the equation in float64 has no rounding that it could decide about: see below.
CASES = [(c.name, name) for c in CONVENTIONS.values() if c.name != UPDATE and not c.is_allowed for name in c.operations]


def make(name: str, dtype: str = "float64", conventions: Any = None, **functions: Any) -> Operation:
    """Return the operation of a backend that is the equation, or has these functions, and states these conventions."""
    spec = specification(name)
    source = SimpleNamespace(**{name: spec.reference, **functions}, dtypes=(dtype,), conventions=conventions or {})
    return Operation(spec, Backend("mine", source, Framework("numpy")), dtype, spec.precision, infer=infer_values)


def pick_dtype(convention: Convention, name: str) -> str:
    possible = convention.dtypes or specification(name).declaration.dtypes
    return next((dtype for dtype in possible if dtype == "float16"), "float64")


def ask(tested: Operation, convention: Convention, number: int = 0) -> Call:
    """Return a call that asks the question of a convention."""
    draw = Draw(Random(f"{tested.name} {number}").randint, tested)
    arguments, keywords = tested.spec.declaration.open_questions[convention.name](draw)
    return tested.call(*arguments, **keywords)


def follow(call: Call, values: dict[str, str]) -> np.ndarray:
    """Return the answer of the equation under these values, as stored."""
    judged = dataclasses.replace(call)
    judged.__dict__.pop("_settled", None)
    judged.settle(values)
    return np.asarray(call.storage.round(judged.value)) if judged.value.dtype.kind == "f" else judged.value


def list_assignments(call: Call, convention: Convention) -> dict[str, np.ndarray]:
    """Return the answer under each value of a convention."""
    return {value: follow(call, {convention.name: value}) for value in convention.values}


@pytest.mark.parametrize(("convention_name", "name"), CASES)
def test_a_stated_value_decides_the_value_of_the_equation(convention_name: str, name: str) -> None:
    convention = CONVENTIONS[convention_name]
    values, distinct = list(convention.values), set()
    for number in range(2):
        answers = list_assignments(ask(make(name, pick_dtype(convention, name)), convention, number), convention)
        for value in values:
            call = ask(make(name, pick_dtype(convention, name), {convention.name: value}), convention, number)
            assert call.conventions.get(convention.name) == value
            expected = answers[value]
            assert call.expectation(call.operation.classes()[-1]).accepts_all(expected)
            distinct.add((value, expected.tobytes()))
    assert len({value for value, _ in distinct}) == len(values)


SAME_VALUE = (  # the equation has one value in float64 under all values of a convention, which differ in their roundings
    "merge_attention_states",
    "muon_step",
    "newton_schulz",
)


@pytest.mark.parametrize(("convention_name", "name"), CASES)
def test_an_answer_fits_its_own_value_and_not_the_others(convention_name: str, name: str) -> None:
    convention = CONVENTIONS[convention_name]
    told_apart = 0
    for number in range(3):
        call = ask(make(name, pick_dtype(convention, name)), convention, number)
        answers = list_assignments(call, convention)
        for value, answer in answers.items():
            call.observed, known = answer.astype(float), convention.values[value]
            call.formats = {"": FORMATS[known.computes_in]} if name in known.returned_by else {}
            assert fits(call, convention, value), (value, number)
            for other, expected in answers.items():
                if not np.array_equal(answer, expected, equal_nan=True):
                    is_alike = call.expectation(call.operation.classes()[-1]).accepts_all(expected)
                    told_apart += not fits(call, convention, other) or is_alike
    assert told_apart or name in SAME_VALUE, "no question tells the values apart"


def build_following(convention: Convention, name: str, value: str) -> dict[str, Any]:
    """Return the function of an operation that follows this value of a convention."""
    return {name: apply_conventions(specification(name).reference, name, {convention.name: value})}


INFERRED = [
    ("all_ignored", "cross_entropy"),
    ("fully_masked_rows", "scaled_dot_product_attention"),
    ("causal_alignment", "scaled_dot_product_attention"),
    ("lse_base", "attention_with_lse"),
    ("adamw_decay", "adamw_step"),
    ("adamw_epsilon", "adamw_step"),
    ("advantage_std", "group_advantages"),
    ("empty_sequences", "policy_loss"),
    ("all_ignored", "policy_loss"),
    ("temperature_order", "sampling_probabilities"),
    ("top_k_ties", "sampling_probabilities"),
    ("top_p_mass", "sampling_probabilities"),
    ("top_p_ties", "sampling_probabilities"),
]
VALUES = [(convention, name, value) for convention, name in INFERRED for value in CONVENTIONS[convention].values]


@pytest.mark.parametrize(("convention_name", "name", "value"), VALUES)
def test_the_value_that_answers_follow_is_inferred(convention_name: str, name: str, value: str) -> None:
    convention = CONVENTIONS[convention_name]
    tested = make(name, **build_following(convention, name, value))
    inferred = infer_values(tested, convention)
    assert value in inferred
    assert len(inferred) < len(convention.values), "some value is excluded"
    assert infer_values(tested, convention) is inferred, "the questions are asked once"
    assert value in tested.possible_values(convention)


@pytest.mark.parametrize("value", CONVENTIONS["all_ignored"].values)
def test_what_is_found_is_recorded(value: str) -> None:
    convention, told = CONVENTIONS["all_ignored"], Counter[tuple[str, str]]()
    for stated in (None, {"all_ignored": value}):
        tested = make("cross_entropy", conventions=stated, **build_following(convention, "cross_entropy", value))
        call = ask(tested, convention)
        tested.values(call, tested.run(call))
        judge_conventions(call, lambda name, found: told.update([(name, found)]))
    assert told == {("all_ignored", value): 1}, "what is stated is not recorded"


def judge(answer: float, conventions: Any = None, inferred: tuple[str, ...] = (), name: str = "cross_entropy") -> list[str]:
    """Judge the answer to a mean of no row. Return the values that are recorded."""
    tested = make(name, conventions=conventions)
    tested.backend.inferred_conventions[name, "all_ignored"] = inferred
    call = tested.call(np.array([[1.0, 2.0]]), np.array([-100]))
    call.observed = np.asarray(answer)
    told: list[str] = []
    judge_conventions(call, lambda name, found: told.append(found))
    return told


@pytest.mark.parametrize(
    ("answer", "stated", "inferred", "what"),
    [
        (np.nan, None, (), ""),
        (0.0, None, (), ""),
        (np.nan, "nan", (), ""),
        (0.0, "zero", (), ""),
        (0.0, "nan", (), "all_ignored is zero here, where the backend states nan"),
        (np.nan, "zero", (), "all_ignored is nan here, where the backend states zero"),
        (0.0, None, ("nan",), "all_ignored is zero here, and nan in its other answers"),
        (np.nan, None, ("zero",), "all_ignored is nan here, and zero in its other answers"),
        (3.0, None, (), "the answer fits no known all_ignored: neither nan nor zero"),
        (3.0, "nan", (), "the answer is not that of all_ignored = nan, which the backend states"),
        (3.0, None, ("zero",), "the answer is not that of all_ignored = zero, as its other answers are"),
    ],
)
def test_what_contradicts_a_closed_convention(answer: float, stated: str | None, inferred: tuple[str, ...], what: str) -> None:
    conventions = {"all_ignored": stated} if stated else None
    if not what:
        assert judge(answer, conventions, inferred) == ([] if stated else ["nan" if np.isnan(answer) else "zero"])
        return
    with pytest.raises(Violation, match=what):
        judge(answer, conventions, inferred)


def judge_blind_query(answer: Any, conventions: Any = None, inferred: tuple[str, ...] = ()) -> list[str]:
    tested = make("scaled_dot_product_attention", conventions=conventions)
    tested.backend.inferred_conventions[tested.name, "fully_masked_rows"] = inferred
    q, v = np.array([[1.0, 0.5]]), np.array([[4.0, 8.0], [2.0, 2.0]])
    call = tested.call(q, v / 4, v, mask=np.zeros((1, 2), bool))
    call.observed = np.asarray([answer], dtype=float)
    told: list[str] = []
    judge_conventions(call, lambda name, found: told.append(found))
    return told


def test_an_open_convention_admits_what_is_not_known() -> None:
    assert judge_blind_query([0.0, 0.0]) == ["zero"]
    assert judge_blind_query([np.nan, np.nan]) == ["nan"]
    assert judge_blind_query([3.0, 5.0]) == ["mean"]
    assert judge_blind_query([17.0, 5.0]) == [UNKNOWN]
    assert judge_blind_query([0.0, np.nan]) == [UNKNOWN]


@pytest.mark.parametrize("answer", [[17.0, 5.0], [np.nan, np.nan], [0.0, 1.0], [0.0, np.nan]])
def test_an_open_convention_that_is_stated_admits_nothing_else(answer: list[float]) -> None:
    with pytest.raises(Violation, match="fully_masked_rows"):
        judge_blind_query(answer, {"fully_masked_rows": "zero"})


def test_an_answer_that_follows_another_value_than_others_do_is_wrong() -> None:
    with pytest.raises(Violation, match="and zero in its other answers"):
        judge_blind_query([np.nan, np.nan], inferred=("zero",))
    with pytest.raises(Violation, match="fully_masked_rows"):
        judge_blind_query([17.0, 5.0], inferred=("zero",))


def test_a_value_that_rounding_brings_about_too_is_strict_where_it_is_stated_and_leaves_no_other_known_one() -> None:
    """The mean of all values: code that lowers scores by a large number gives it in some calls, and other numbers in others."""
    assert judge_blind_query([3.0, 5.0], {"fully_masked_rows": "mean"}) == []
    with pytest.raises(Violation, match="the answer is not that of fully_masked_rows = mean, which the backend states"):
        judge_blind_query([17.0, 5.0], {"fully_masked_rows": "mean"})
    with pytest.raises(Violation, match="fully_masked_rows is zero here, and mean in its other answers"):
        judge_blind_query([0.0, 0.0], inferred=("mean",))
    assert judge_blind_query([17.0, 5.0], inferred=("mean",)) == [UNKNOWN]


def test_conventions_decide_in_their_dtypes_only() -> None:
    for convention in CONVENTIONS.values():
        for name in convention.operations:
            for dtype in ("float64", "float32", "float16", "bfloat16"):
                if convention.dtypes and name in ("add_rms_norm",):
                    call = ask(make(name, dtype), convention)
                    assert call.asks(convention, {}) is (dtype in convention.dtypes and convention.is_asked(call.named, {}))
    assert any(convention.dtypes for convention in CONVENTIONS.values())


def test_a_convention_that_allows_every_value_is_strict_only_where_it_is_stated() -> None:
    (convention,) = [c for c in CONVENTIONS.values() if c.is_allowed]
    (name, *_) = convention.operations
    dtype = pick_dtype(convention, name)
    plain = ask(make(name, dtype), convention)
    assert convention.name not in plain.conventions
    for value in convention.values:
        stated = ask(make(name, dtype, {convention.name: value}), convention)
        assert stated.conventions[convention.name] == value


def test_answers_that_contradict_one_another_leave_the_first_value() -> None:
    convention, calls = CONVENTIONS["all_ignored"], []

    def turning(*arguments: Any, **keywords: Any) -> Any:
        calls.append(1)
        value = ("nan", "zero")[len(calls) > 1]
        return apply_conventions(specification("cross_entropy").reference, "cross_entropy", {"all_ignored": value})(
            *arguments, **keywords
        )

    assert infer_values(make("cross_entropy", cross_entropy=turning), convention) == ("nan",)
    assert len(calls) == 2
