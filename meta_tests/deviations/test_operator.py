"""Tests of what is said to be computed in place of the equation: planted faults are named, and nothing else is."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.call import Call
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.explanation import Explanation
from spec_tests.diagnosis.operator.axes import name_axes
from spec_tests.diagnosis.operator.indices import list_maps, list_sets
from spec_tests.diagnosis.operator.numbers import list_numbers
from spec_tests.diagnosis.operator.reading import read_matrices
from spec_tests.diagnosis.operator.search import read_operator
from spec_tests.implementation.backend import Backend
from spec_tests.specification.registry import operations, specification
from spec_tests.specification.work import unlimited
from spec_tests.trials.asker import answer_instead
from spec_tests.trials.trial import Trial

from ..measure.leave_one_out import answered_calls
from ..support.answered import answers
from ..support.budgets import budget_for
from ..support.in_process import attempt, backend, trials_of
from ..support.planted_faults import FAULTS, PlantedFault
from ..support.rotation import rotate

RANDOM = np.random.default_rng(5)


def gather(under_test: Backend, operation: str) -> tuple[Evidence, Trial]:
    """Return the evidence of the first failure of the operation's own laws."""
    for test, trial in trials_of(operation, under_test):
        if test.invariant.subject(trial.operation_name) == operation and not test.invariant.level and attempt(test, trial, 1):
            evidence = Evidence.gather(trial.tally.calls, trial.other_calls)
            if evidence.wrong and evidence.wrong[0].operation.name == operation:
                return evidence, trial
    raise AssertionError(f"{operation} does not fail")


def explain(fault: PlantedFault) -> Explanation | None:
    evidence, trial = gather(fault.backend(), fault.operation)
    ask, budget = partial(trial.ask, fault.operation), budget_for(evidence)
    return read_operator(evidence, answer=trial.answer_instead, budget=budget, ask=ask, catalogue=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", rotate(FAULTS, 4))
def test_a_planted_fault_is_named(name: str) -> None:
    fault = FAULTS[name]
    found = explain(fault)
    assert found is not None
    assert all(words in found.what for words in fault.says), found.what
    fresh = list(answered_calls(fault.backend(), fault.operation, "float64", "fresh", 24))
    assert fresh
    assert not [call for call in fresh if found.predicts(call) is False]


@pytest.mark.parametrize("operation", ["linear", "grouped_query_attention", "embedding", "rms_norm"])
def test_wrong_answers_without_a_rule_are_not_named(operation: str) -> None:
    """Each answer is off by noise of its own, in some elements."""
    right, noise = backend("numpy-cpu").function(operation), np.random.default_rng(3)
    assert right is not None

    def noisy(*arguments: Any, **options: Any) -> Any:
        y = np.asarray(right(*arguments, **options))
        return (y + np.where(noise.random(y.shape) < 0.5, noise.normal(size=y.shape), 0)).astype(y.dtype)

    calls = list(answered_calls(backend("numpy-cpu"), operation, "float64", "noise", 10))
    evidence = Evidence.gather(answers(operation, noisy, [(call.arguments, call.keywords) for call in calls]))
    assert evidence.wrong
    assert read_operator(evidence, answer=answer_instead, budget=budget_for(evidence)) is None


def weigh(q: Any, k: Any, v: Any, **options: Any) -> Any:
    """Attention whose second key counts three times."""
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ (v * np.where(np.arange(v.shape[-2]) == 1, 3, 1)[:, None])


def call_attention(function: Any) -> Call:
    q, k, v = (RANDOM.normal(size=shape) for shape in ((3, 4), (5, 4), (5, 2)))
    (call,) = answers("scaled_dot_product_attention", function, [((q, k, v), {})])
    call.operation.values(call, call.operation.run(call))  # type: ignore[attr-defined]
    return call


def test_a_matrix_is_that_of_the_weights() -> None:
    call = call_attention(weigh)
    (matrix,) = read_matrices(call, answer_instead, unlimited(call.operation.backend.meter))
    ratio = np.einsum("nfmf->nmf", matrix.used) / np.einsum("nfmf->nmf", matrix.right)
    assert np.allclose(ratio, np.array([1, 3, 1, 1, 1])[:, None])


def test_reading_is_counted_work() -> None:
    call = call_attention(weigh)
    meter = call.operation.backend.meter
    before = meter.units
    assert list(read_matrices(call, answer_instead, unlimited(meter)))
    assert meter.units > before


def test_nothing_is_read_of_answers_that_differ_from_call_to_call() -> None:
    noise = np.random.default_rng(1)
    call = call_attention(lambda q, k, v, **options: weigh(q, k, v) + noise.normal())
    assert list(read_matrices(call, answer_instead, unlimited(call.operation.backend.meter))) == []


def test_nothing_is_read_of_answers_that_are_not_linear() -> None:
    call = call_attention(lambda q, k, v, **options: weigh(q, k, v * v))
    assert list(read_matrices(call, answer_instead, unlimited(call.operation.backend.meter))) == []


@pytest.mark.parametrize("operation", operations())
def test_an_equation_is_linear_in_what_its_declaration_says(operation: str) -> None:
    """It is linear in no other real array, either."""
    spec = specification(operation)
    kept: dict[str, list[bool]] = {}
    random = np.random.default_rng([*operation.encode()])  # the same numbers whatever tests ran before
    for call in answered_calls(backend("numpy-cpu"), operation, "float64", "linear", 12):
        for name, x in call.named.items():
            if isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.size and name in spec.positional:
                kept.setdefault(name, []).append(_is_linear(call, name, random))
    mostly = {name for name, told in kept.items() if 3 * sum(told) > 2 * len(told)}  # where nothing overflows
    seldom = {"inverse_frequencies", "advantages"}  # those are seldom used, and these are clipped
    assert mostly - seldom == set(spec.declaration.linear)


def _is_linear(call: Call, name: str, random: np.random.Generator) -> bool:
    one, other = (random.normal(size=call.named[name].shape) for _ in range(2))

    def evaluate(x: Any) -> Any:
        positional = tuple(x if p == name else y for p, y in zip(call.operation.spec.positional, call.arguments, strict=False))
        keywords = {key: x if key == name else y for key, y in call.keywords.items()}
        return np.asarray(Call(call.operation, positional, keywords).value, dtype=float)

    with np.errstate(all="ignore"):
        away = evaluate(one + other) - evaluate(one) - evaluate(other) + evaluate(0 * one)
        return bool(np.abs(away).max(initial=0) <= 1e-10 * (1 + np.abs(evaluate(one)).max(initial=0)))


@pytest.mark.parametrize(
    ("chosen", "length", "sizes", "words"),
    [
        ([4], 5, {"m": 5}, "the last key"),
        ([0], 5, {"m": 5}, "the first key"),
        ([1, 3], 5, {"m": 5}, "the odd keys"),
        ([16, 17], 18, {"m": 18}, "the keys after the last whole block of 16"),
        ([5, 6, 7, 8], 9, {"n": 5}, "the keys from n on"),
        (list(range(100, 300)), 300, {}, "the keys from 100 on"),
    ],
)
def test_a_set_of_indices_has_words(chosen: list[int], length: int, sizes: dict[str, int], words: str) -> None:
    inside = np.isin(np.arange(length), chosen)
    assert words in [found.say("key", "keys") for found in list_sets(inside, ~inside, sizes)]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ([5, 4, 3, 2, 1, 0], "the heads are in reverse order"),
        ([0, 0, 0, 0, 0, 0], "the first head stands for all"),
        ([0, 1, 2, 0, 1, 2], "head i is head i modulo h_kv"),
        ([1, 0, 3, 2, 5, 4], "neighbours change places in pairs of heads"),
        ([3, 4, 5, 0, 1, 2], "the two halves of the heads change places"),
    ],
)
def test_a_map_of_indices_has_words(source: list[int], words: str) -> None:
    assert words in [found.say("head", "heads") for found in list_maps(dict(enumerate(source)), 6, {"h_kv": 3})]


def test_a_factor_is_a_number_of_sizes_or_options() -> None:
    def list_words(value: float) -> Iterator[str]:
        return (number.words for number in list_numbers(value, {"d": 7, "scale": 0.3}, 1e-6))

    assert "1 / √d" in list_words(7**-0.5)
    assert "scale" in list_words(0.3)
    assert "2" in list_words(2.0)
    assert not list(list_words(0.123))


def test_the_ends_of_groups_are_said_by_the_sizes_that_make_them() -> None:
    """As where an expert, or a head, of each group counts alone."""
    at, sizes = np.arange(12), {"experts": 12, "groups": 4}
    for held, said in ((at % 3 == 2, "the last expert"), (at % 3 != 0, "every expert but the first")):
        found = [each.say("expert", "experts") for each in list_sets(held, ~held, sizes)]
        assert f"{said} of each group of experts / groups" in found
    assert not [each for each in list_sets(at % 5 == 4, at % 5 != 4, sizes) if "group" in each.words]


def test_the_taps_of_a_filter_are_called_so() -> None:
    assert name_axes(specification("causal_conv1d"), "weight", 2) == ("feature", "tap")
