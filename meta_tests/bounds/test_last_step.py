"""What every bound allows lies within the bound: an answer that is right whatever the bound is would have been right anyway."""

import random

import numpy as np
import pytest

from spec_tests.bounds.last_step import CERTAIN_SIGMAS, certain_sigmas, least_error
from spec_tests.bounds.sample import DRAWS, SIGMAS
from spec_tests.calls.call import Call
from spec_tests.inputs.choices import shape_choices
from spec_tests.inputs.draw import Draw
from spec_tests.specification.formats import Arithmetic
from spec_tests.specification.registry import gradients, operations, specification
from spec_tests.trials.tally import Tally

from .test_bounds import operation

COMPOSED = [
    name
    for name in (*operations(), *gradients())
    if specification(name).composed and not specification(name).chooses and not specification(name).list_like
]


def draw_call(name: str, dtype: str, seed: int) -> Call:
    tested, source = operation(name, dtype), random.Random(f"{name} {dtype} {seed}")
    return Draw(source.randint, tested, shape_choices(name, source)).call()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
@pytest.mark.parametrize("name", COMPOSED)
def test_the_least_error_is_within_the_bound_of_each_class(name: str, dtype: str) -> None:
    found = 0.0
    for seed in range(6):
        call = draw_call(name, dtype, seed)
        if call.inexact or not call.value.size:
            continue
        error, f = least_error(call.evaluate, Arithmetic.of(dtype)), call.storage
        found = max(found, float(np.max(error[np.isfinite(error)], initial=0.0)))
        with np.errstate(all="ignore"):
            low, high = f.round(call.value - error), f.round(call.value + error)
        for precision in ("fused", "mixed", "eager") if dtype in ("bfloat16", "float16") else ("fused",):
            expectation = call.expectation(precision)
            least, largest = expectation.ends
            inside = ~expectation.claimed | np.isnan(low) | ((least <= low) & (high <= largest))
            assert np.all(inside), (seed, precision, call.value[~inside], error[~inside], expectation.error[~inside])
    assert found > 0


@pytest.mark.parametrize("name", ["scaled_dot_product_attention", "swiglu", "transformer_block", "swiglu_vjp"])
def test_an_answer_outside_the_bound_is_never_certain(name: str) -> None:
    for seed in range(6):
        call = draw_call(name, "float32", seed)
        expectation = call.expectation("fused")
        beyond = np.nextafter(expectation.ends[1].astype(np.float32), np.float32(np.inf)).astype(float)
        wrong = np.where(expectation.claimed & np.isfinite(beyond), beyond, call.value)
        if not np.all(expectation.accepts(wrong)):
            assert not call.surely_accepts(wrong)


def test_the_least_error_of_a_sum_is_within_its_worst_case() -> None:
    """The spread of n additions is at most sqrt(2n/3 + 1) times the sum of the sizes, and the worst case n times that."""
    for n in range(1, 100):
        assert certain_sigmas(n) * (2 * n / 3 + 1) ** 0.5 <= n * (1 + 1e-12)
    assert certain_sigmas(99) == CERTAIN_SIGMAS


def test_the_chance_that_the_bound_allows_less_is_the_one_that_the_page_states() -> None:
    """Count how often the root mean square of the draws is so far below the true one, in draws that are normal."""
    limit = CERTAIN_SIGMAS / SIGMAS
    squares = np.random.default_rng(0).chisquare(DRAWS, 10_000_000) / DRAWS
    assert np.mean(squares < limit**2) < 5e-6


def test_the_shares_come_from_the_first_result_and_from_each_fourth_after_it() -> None:
    tally, told = Tally(), []
    for _ in range(9):
        told.append(tally.wants_share)
        tally.add_certain("fused")
    assert told == [True, False, False, False, True, False, False, False, True]
    assert tally.shares.reached == "fused"
    tally.shares.reached = "mixed"
    tally.add_certain("fused")
    assert tally.shares.reached == "mixed"
