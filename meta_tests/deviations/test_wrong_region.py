"""Tests of the region that is named where answers are wrong: it is named rightly, and predicts answers to fresh calls."""

import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.call import Call
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.regions.condition import Condition
from spec_tests.diagnosis.regions.conjunction import Conjunction
from spec_tests.diagnosis.regions.facts.of_calls.arguments import Option, Size
from spec_tests.diagnosis.regions.region import Region
from spec_tests.diagnosis.regions.search import find_wrong_region
from spec_tests.diagnosis.regions.wishes import list_probe_values, list_probes
from spec_tests.diagnosis.wish import Wish
from spec_tests.implementation.backend import Backend
from spec_tests.implementation.framework import Framework
from spec_tests.specification.registry import specification
from spec_tests.trials.asker import Asker, ask_about

from ..support.budgets import give_budget
from ..support.in_process import backend
from ..support.machine_made_faults import MAKERS, MadeFault, make_operation
from ..support.region_check import ask_fresh, count_mispredicted
from ..support.rotation import rotate
from ..support.seeds import draw_seed

FRESH = 40  # answers that a region has to predict


def search(fault: MadeFault, seed: int) -> tuple[Region | None, Asker]:
    """Return the region that is found, and what asks the same backend further."""
    under_test = fault.backend()
    operation = make_operation(under_test, fault.operation)
    ask = ask_about(operation, seed=seed, budget=give_budget(under_test))
    region = find_wrong_region(Evidence([], []), ask=ask, budget=ask.budget)
    return region, ask_about(operation, seed=f"fresh {seed}")


SEEDS = (  # with which a fault was once described wrongly, and why
    ("values below", 3173283923),  # elements of which no bound is claimed counted as right
    ("rows with a large entry", 3281101919),  # values near the threshold lay along another axis
    ("mask of one row", 3941617547),  # masks of two rows were not asked for
)


@pytest.mark.parametrize(("name", "seed"), rotate([*((name, None) for name in MAKERS), *SEEDS], 5))
def test_a_machine_made_fault_is_described(name: str, seed: int | None) -> None:
    seed = draw_seed(name) if seed is None else seed
    fault = MAKERS[name](random.Random(seed))
    region, ask = search(fault, seed)
    assert region is not None, seed
    assert all(words in region.what for words in fault.words), (seed, region.what, fault.words)
    answers = list(ask_fresh(region, ask, FRESH, seed))
    assert len(answers) > FRESH / 2, seed
    assert count_mispredicted(region, answers) == 0, (seed, region.what)


def test_the_same_seed_finds_the_same_region() -> None:
    fault = MAKERS["no multiple"](random.Random(3))
    (one, _), (other, _) = search(fault, 7), search(fault, 7)
    assert one is not None
    assert other is not None
    assert (one.what, one.facts, one.inside) == (other.what, other.facts, other.inside)


def test_a_region_may_depend_on_what_an_index_is() -> None:
    fault = MadeFault("cross_entropy", (), lambda y, a, k, m: np.any(np.asarray(a[1]) == k.get("ignore_index", -100)))
    region, _ = search(fault, 1)
    assert region is not None
    assert region.what == "wrong only where an entry of targets is ignore_index"


def test_sizes_that_are_no_power_of_two_are_a_region() -> None:
    """A size that a kernel rounds up to a power of two."""
    region, _ = search(MadeFault("rms_norm", (), lambda y, a, k, m: (d := a[0].shape[-1]) > 2 and d & (d - 1) != 0), 1)
    assert region is not None
    assert region.what == "wrong only where d is no power of two"


def test_sizes_between_two_limits_are_a_region() -> None:
    region, _ = search(MadeFault("rms_norm", (), lambda y, a, k, m: 32 < a[0].shape[-1] <= 64), 1)
    assert region is not None
    assert region.what == "wrong only from d = 33 on, up to d = 64"


@pytest.mark.rotating
@pytest.mark.parametrize(("is_wrong", "words"), [(lambda ids: ids > 99, "> 99"), (lambda ids: ids % 2 == 1, "is odd")])
def test_a_region_may_depend_on_an_index(is_wrong: Callable[[np.ndarray], np.ndarray], words: str) -> None:
    """A table that is read wrongly for some ids."""

    def embedding(token_ids: Any, weight: Any) -> Any:
        right = np.asarray(weight)[np.asarray(token_ids)]
        return np.where(is_wrong(np.asarray(token_ids))[..., None], -1.5 * right, right).astype(right.dtype)

    under_test = Backend("unseen", SimpleNamespace(embedding=embedding), Framework("numpy"))
    ask = ask_about(make_operation(under_test, "embedding"), seed=1, budget=give_budget(under_test))
    region = find_wrong_region(Evidence([], []), ask=ask, budget=ask.budget)
    assert region is not None
    assert region.what == f"wrong only where token_ids {words}"


def test_a_size_is_compared_with_an_option_that_counts() -> None:
    """A window that is as long as the sequence, where a fast path forgets causality."""

    def is_wrong(y: Any, a: Any, k: Any, m: Any) -> bool:
        return bool(k["is_causal"]) and 1 < a[1].shape[-2] <= k["window"]

    region, _ = search(MadeFault("local_attention", (), is_wrong), 1)
    assert region is not None
    assert "m ≤ window" in region.what


def test_a_cache_that_the_new_keys_fill_is_a_region() -> None:
    append = specification("kv_cache_append").reference

    def with_a_slot_less(k_cache: Any, v_cache: Any, k: Any, v: Any, lengths: Any) -> Any:
        if k.shape[2] and max(lengths) + k.shape[2] == k_cache.shape[2]:
            raise IndexError("no such slot")
        return append(k_cache, v_cache, k, v, lengths)

    under_test = Backend("unseen", SimpleNamespace(kv_cache_append=with_a_slot_less), Framework("numpy"))
    ask = ask_about(make_operation(under_test, "kv_cache_append"), seed=1, budget=give_budget(under_test))
    region = find_wrong_region(Evidence([], []), ask=ask, budget=ask.budget)
    assert region is not None
    assert "where a sequence fills the cache" in region.what
    assert "from n = 1 on" in region.what


def test_a_limit_that_depends_on_other_values_is_not_said() -> None:
    """Whether gradients are clipped depends on their norm, so that no largest norm alone divides the wrong answers."""

    def spoils(y: Any, a: Any, k: Any, m: Any) -> bool:
        return bool(np.linalg.norm(np.concatenate([np.ravel(x) for x in a[0]])) > k["max_norm"])

    region, _ = search(MadeFault("gradient_clipping", (), spoils), 1)
    assert region is None or "max_norm is below" not in region.what


def test_calls_outside_of_a_region_are_asked_for_with_each_option() -> None:
    fault = MadeFault("scaled_dot_product_attention", (), lambda y, a, k, m: a[0].shape[-2] > 8)
    ask = ask_about(make_operation(fault.backend(), fault.operation), seed=1)
    answers = [answer for _ in range(20) if (answer := ask(Wish(sizes={"n": 12}, given={"softcap": False, "bias": False})))]
    region = Conjunction((Condition(Size.of("n"), "above", (8,)),))
    short = [wish for wish in list_probes(ask, region, answers, random.Random(1)) if wish.sizes.get("n", 99) <= 8]
    for option in ("softcap", "bias"):
        assert any(wish.given.get(option) for wish in short)
        assert not all(wish.given.get(option) for wish in short)


def test_real_numbers_on_both_sides_of_a_limit_are_asked_for() -> None:
    fault = MadeFault("rms_norm", (), lambda y, a, k, m: k["eps"] > 1e-6)
    operation = make_operation(fault.backend(), "rms_norm")
    ask = ask_about(operation, seed=1)
    answers = [answer for _ in range(40) if (answer := ask(Wish(as_drawn=True)))]
    values = list_probe_values(Condition(Option.of("eps"), "above", (1e-6,)), answers, random.Random(1))
    seen = [answer.facts[Option.of("eps")] for answer in answers]
    assert any(1e-7 < value < 1e-6 for value in values)
    assert any(1e-6 < value < 1e-5 for value in values)
    assert min(seen) <= min(values) < max(values) <= max(seen)


def test_right_answers_have_no_region() -> None:
    for name in ("softmax", "scaled_dot_product_attention"):
        operation = make_operation(under_test := backend("numpy-cpu"), name, "float32")
        ask = ask_about(operation, seed=1, budget=give_budget(under_test))
        assert find_wrong_region(Evidence([], []), ask=ask, budget=ask.budget) is None


@pytest.mark.rotating
def test_wrong_by_chance_is_no_region() -> None:
    source = random.Random(draw_seed("chance"))
    fault = MadeFault("rms_norm", (), lambda y, a, k, m: source.random() < 0.3)
    assert search(fault, 1)[0] is None


@pytest.mark.rotating
@pytest.mark.parametrize(("limit", "share"), [(16, 0.7), (64, 0.8), (7, 0.65)])
def test_a_region_in_which_most_calls_fail_is_said(limit: int, share: float) -> None:
    """Many errors hide: without a rescaling, a blockwise softmax is wrong only where the maximum is in a later block."""
    source = random.Random(draw_seed(f"most above {limit}"))
    fault = MadeFault("rms_norm", (), lambda y, a, k, m: a[0].shape[-1] > limit and source.random() < share)
    region, _ = search(fault, draw_seed("most"))
    assert region is not None
    assert region.what == f"wrong only from d = {limit + 1} on"


@pytest.mark.rotating
def test_a_region_that_holds_nearly_all_calls_tells_nothing() -> None:
    source = random.Random("nearly all")
    fault = MadeFault("rms_norm", (), lambda y, a, k, m: a[0].shape[-1] < 1500 and source.random() < 0.7)
    region, _ = search(fault, 1)
    assert region is None, region


def test_wrong_values_and_exceptions_are_one_region() -> None:
    """Axes that are exchanged by mistake give wrong values where their sizes are equal, and an exception elsewhere."""

    def spoils(y: Any, a: Any, k: Any, m: Any) -> Any:
        if a[0].shape[-1] % 2:
            raise ValueError("shapes")
        return False

    fault = MadeFault("rms_norm", (), spoils)
    wrong = MadeFault("rms_norm", (), lambda *_: True)
    operation = make_operation(wrong.backend(), "rms_norm")
    operation(np.ones((2, 3)), np.ones(3), eps=1e-5)
    ask = ask_about(make_operation(under_test := fault.backend(), "rms_norm"), seed=1, budget=give_budget(under_test))
    region = find_wrong_region(Evidence.gather(operation.recorder.calls), ask=ask, budget=ask.budget)
    assert region is not None
    assert region.what == "wrong, or the call raised ValueError, only where d is odd"


def test_no_budget_is_no_region() -> None:
    under_test = MAKERS["columns"](random.Random(1)).backend()
    ask = ask_about(make_operation(under_test, "rms_norm"), seed=1, budget=give_budget(under_test, 0.0))
    assert find_wrong_region(Evidence([], []), ask=ask, budget=ask.budget) is None
    assert ask.count == 0


def answered(fault: MadeFault, *shapes: tuple[int, ...]) -> list[Call]:
    operation = make_operation(fault.backend(), "rms_norm")
    for shape in shapes:
        operation(np.arange(1.0, 1 + np.prod(shape)).reshape(shape), np.ones(shape[-1]), eps=1e-5)
    return operation.recorder.calls


LONG_ROWS = MadeFault("rms_norm", (), lambda y, a, k, m: a[0].shape[-1] > 6)


def test_a_region_predicts_answers() -> None:
    region, _ = search(LONG_ROWS, 1)
    assert region is not None
    assert region.what == "wrong only from d = 7 on"
    assert region.operation == "rms_norm"
    assert [region.predicts(call) for call in answered(LONG_ROWS, (2, 6), (2, 7))] == [True, True]
    never, short = MadeFault("rms_norm", (), lambda *_: False), MadeFault("rms_norm", (), lambda y, a, k, m: a[0].shape[-1] < 4)
    assert region.predicts(answered(never, (2, 7))[0]) is (None if region.only else False)
    assert region.predicts(answered(short, (2, 3))[0]) is False


def test_a_region_of_nearly_all_calls_is_said_to_be_nearly_everywhere() -> None:
    """That the answers are wrong where epsilon exceeds 0 is no condition to look into."""
    region, _ = search(MadeFault("rms_norm", (), lambda y, a, k, m: k["eps"] > 0), 1)
    assert region is not None
    assert region.what.startswith("wrong nearly everywhere: ")
