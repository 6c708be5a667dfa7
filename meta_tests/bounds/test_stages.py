"""A bound that is derived only in part: an answer that is accepted early is accepted by the whole bound, too."""

import random
from collections.abc import Iterator

import numpy as np
import pytest

from spec_tests.bounds.bounded import Bounded
from spec_tests.bounds.derivation import StagedExpectation
from spec_tests.bounds.expectation import Stage
from spec_tests.bounds.random_rounding import RandomStream
from spec_tests.bounds.sample import Sample
from spec_tests.bounds.sampled_error import FEW_DRAWS
from spec_tests.calls.blocks import ExpectationOfBlocks
from spec_tests.calls.call import Call
from spec_tests.calls.result import Result
from spec_tests.calls.violation import Violation
from spec_tests.helpers.assertions import assert_conforms, assert_equal
from spec_tests.inputs.choices import shape_choices
from spec_tests.inputs.draw import Draw
from spec_tests.specification.formats import Arithmetic
from spec_tests.specification.registry import gradients, operations, specification
from spec_tests.trials.tally import RESULTS_PER_SHARE, Tally

from .test_bounds import operation

COMPOSED = [name for name in (*operations(), *gradients()) if specification(name).composed and not specification(name).list_like]


def draw_calls(name: str, dtype: str, count: int) -> Iterator[Call]:
    tested, source = operation(name, dtype), random.Random(f"{name} {dtype}")
    for _ in range(count):
        call = Draw(source.randint, tested, shape_choices(name, source)).call()
        if call.value.size and not call.inexact:
            yield call


def staged(call: Call, precision: str) -> StagedExpectation:
    expectation = call.expectation(precision)
    expectation = expectation.whole if isinstance(expectation, ExpectationOfBlocks) else expectation
    assert isinstance(expectation, StagedExpectation)
    return expectation


@pytest.mark.rotating(one_in=4)
@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", COMPOSED)
def test_an_error_is_never_larger_than_at_a_later_stage(name: str, dtype: str) -> None:
    for call in draw_calls(name, dtype, 2):
        for precision in ("mixed", "eager") if dtype == "bfloat16" else ("fused",):
            few, whole = (staged(call, precision).at_stage(stage) for stage in (Stage.FEW, Stage.WHOLE))
            assert np.array_equal(few.value, whole.value, equal_nan=True)
            assert np.all((few.error <= whole.error) | np.isnan(whole.error))
            least, largest = staged(call, precision).at_stage(Stage.STORED).ends
            low, high = whole.ends
            assert np.all((low <= least) & (largest <= high) | np.isnan(call.value))


@pytest.mark.parametrize("name", ["scaled_dot_product_attention", "swiglu_vjp", "transformer_block"])
@pytest.mark.parametrize("precision", ["fused", "eager"])
def test_few_draws_are_the_first_of_all(name: str, precision: str) -> None:
    arithmetic = Arithmetic.of("bfloat16", precision)
    for call in draw_calls(name, "bfloat16", 2):
        streams = RandomStream(FEW_DRAWS), RandomStream()
        few, every = (call.evaluate(lambda x, s=s: Sample.input(x, arithmetic, s)).value for s in streams)
        assert len(every) > len(few) == FEW_DRAWS
        assert np.array_equal(few, every[:FEW_DRAWS], equal_nan=True)


@pytest.mark.parametrize("name", ["gelu", "scaled_dot_product_attention", "swiglu", "swiglu_vjp", "transformer_block"])
def test_an_answer_outside_the_whole_bound_is_accepted_at_no_stage(name: str) -> None:
    found = 0
    for call in draw_calls(name, "float32", 3):
        low, high = staged(call, "fused").at_stage(Stage.WHOLE).ends
        for end, away in ((low, -np.inf), (high, np.inf)):
            inside, outside = end.astype(np.float32), np.nextafter(end.astype(np.float32), np.float32(away))
            fresh = Call(call.operation, call.arguments, call.keywords)
            assert fresh.expectation("fused").accepts(np.where(np.isfinite(end), inside, call.value)).all()
            beyond = np.isfinite(end) & np.isfinite(outside)
            wrong = ~fresh.expectation("fused").accepts(np.where(beyond, outside, call.value))
            assert np.array_equal(wrong, beyond)
            assert fresh.expectation("fused").accepts_all(np.where(beyond, outside, call.value)) == (not beyond.any())
            found += int(beyond.sum())
    assert found > 0


@pytest.mark.parametrize("name", ["scaled_dot_product_attention", "swiglu"])
def test_the_whole_bound_of_a_right_answer_is_not_derived(name: str) -> None:
    for call in draw_calls(name, "float32", 3):
        nearest = call.storage.round(call.value)
        call.observed = nearest.astype(np.float32).astype(np.float64)
        assert_conforms(Result(call.observed, call))
        assert_equal(Result(call.observed, call), Result(np.where(nearest == 0, 0.0, np.nextafter(nearest, 0)), call))
        assert not staged(call, "fused").is_whole


def test_few_draws_judge_a_right_answer_of_an_equation_that_chooses() -> None:
    whole = []
    for call in draw_calls("mixture_of_experts", "float32", 4):
        call.observed = call.storage.round(call.value)
        assert_conforms(Result(call.observed, call))
        whole.append(staged(call, "fused").is_whole)  # also where the worst case alone decides
    assert not all(whole)


def test_nothing_is_claimed_at_any_stage_of_what_depends_on_an_open_choice() -> None:
    tested, found = operation("mixture_of_experts", "float32"), 0
    for call in draw_calls("mixture_of_experts", "float32", 12):
        x, router, *rest = call.arguments
        expectation = Call(tested, (x, np.zeros(router.shape), *rest), call.keywords).expectation("fused")
        for stage in Stage:
            assert np.all(np.isinf(expectation.at_stage(stage).error) | ~expectation.open)
        found += bool(np.any(expectation.open))
    assert found


def test_what_a_law_computes_has_the_errors_of_each_stage() -> None:
    call = next(draw_calls("swiglu", "float32", 1))
    answer = Result(call.storage.round(call.value), call)
    errors = []
    for stage in Stage:
        known = answer.at_stage(stage)
        expected = np.concatenate([2.0 * known - known[..., :1], known])
        computed = np.concatenate([2.0 * answer - answer[..., :1], answer]).at_stage(stage)
        assert isinstance(computed, Bounded)
        assert computed.of_backend
        assert np.array_equal(computed.error, expected.error)
        errors.append(computed.error)
    assert np.all(errors[0] <= errors[1])
    assert np.all(errors[1] <= errors[2])
    assert np.any(errors[1] < errors[2])


def test_two_answers_that_are_too_far_apart_differ_at_the_last_stage() -> None:
    call = next(draw_calls("swiglu", "float32", 1))
    low, high = call.expectation("fused").ends
    one, other = Result(low, call), Result(high, call)
    assert_equal(one, other)
    with pytest.raises(Violation):
        assert_equal(one, Result(high + 3 * (high - low) + 1e-3, call))


def test_the_shares_come_from_the_first_result_and_one_in_eight_after_it() -> None:
    tally, told = Tally(), []
    tally.shares.reached = "fused"
    for _ in range(2 * RESULTS_PER_SHARE + 1):
        told.append(tally.wants_share("fused"))
    assert told == [True, *[False] * 7, True, *[False] * 7, True]
    assert tally.wants_share("mixed")  # in a looser class than those before
