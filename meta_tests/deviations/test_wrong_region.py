"""Tests of the region that is named where answers are wrong: it is named rightly, and predicts answers to fresh calls."""

import random
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.call import Call
from spec_tests.calls.operation import Operation
from spec_tests.diagnosis.asking import Wish
from spec_tests.diagnosis.condition import Condition, simplest_between
from spec_tests.diagnosis.conjunction import Conjunction
from spec_tests.diagnosis.element_facts import describe_elements
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.fresh_answers import MIN_ALONE, FreshAnswers
from spec_tests.diagnosis.region import Region
from spec_tests.diagnosis.region_axis import AXIS_FACTS, describe_axis, find_axis
from spec_tests.diagnosis.region_changes import change, wish_like
from spec_tests.diagnosis.region_conditions import list_conditions, list_element_conditions
from spec_tests.diagnosis.region_facts import describe_for_region
from spec_tests.diagnosis.region_wishes import list_probe_values, list_probes
from spec_tests.diagnosis.region_words import describe_conditions
from spec_tests.diagnosis.wrong_region import find_wrong_region
from spec_tests.implementation.backend import Backend
from spec_tests.implementation.framework import Framework
from spec_tests.specification.registry import specification
from spec_tests.trials.asker import Asker, ask_about

from ..support.in_process import backend
from ..support.machine_made_faults import MAKERS, MadeFault, make_operation
from ..support.region_check import ask_fresh, count_mispredicted
from ..support.seeds import draw_seed

CLOCK = time.process_time
SECONDS = 20  # of the processor: more than a run allows, since a busy machine is slower
FRESH = 40  # answers that a region has to predict


def search(fault: MadeFault, seed: int) -> tuple[Region | None, Asker]:
    """Return the region that is found, and what asks the same backend further."""
    operation = make_operation(fault.backend(), fault.operation)
    ask = ask_about(operation, seed=seed, seconds=SECONDS, clock=CLOCK)
    region = find_wrong_region(Evidence([], []), ask=ask, deadline=CLOCK() + SECONDS, clock=CLOCK)
    return region, ask_about(operation, seed=f"fresh {seed}", seconds=SECONDS, clock=CLOCK)


SEEDS = (  # with which a fault was once described wrongly, and why
    ("values below", 3173283923),  # elements of which no bound is claimed counted as right
    ("rows with a large entry", 3281101919),  # values near the threshold lay along another axis
    ("mask of one row", 3941617547),  # masks of two rows were not asked for
)


@pytest.mark.parametrize(("name", "seed"), [*((name, None) for name in MAKERS), *SEEDS])
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


def test_the_axis_of_a_gradient_is_one_of_its_argument() -> None:
    """The cotangent of logsumexp has an axis less than its argument, and may have none."""
    made = Operation(specification("logsumexp_vjp"), backend("numpy-cpu"), "float32", "fused")
    call = Call(made, (np.array(1.0), np.array([3.0, -1.0, 2.0])), {"axis": -1, "wrt": "x"})
    facts = describe_for_region(call)
    assert facts["axes of the argument"] == 1
    assert facts["the last axis"]


def test_an_element_of_a_gradient_has_the_values_at_its_place() -> None:
    """So that a region can say "where x is 0", which is where derivatives by cases go wrong."""
    made = Operation(specification("sigmoid_vjp"), backend("numpy-cpu"), "float32", "fused")
    call = Call(made, (np.array([0.5, 2.0, 1.0]), np.array([3.0, 0.0, 2.0])), {"wrt": "x"})
    elements = describe_elements(call)
    assert elements["x"].tolist() == [3.0, 0.0, 2.0]
    wrong = np.array([False, True, False])
    assert Condition("x", "is", (0.0,)) in list(list_element_conditions("x", elements["x"], wrong))
    assert Condition("x", "is", (0.0,)).text in [c.text for c in list_element_conditions("x", np.array([3.0, -0.0, 2.0]), wrong)]
    assert not [c for c in list_element_conditions("x", elements["x"] + 0.1, wrong) if c.kind == "is"]


@pytest.mark.parametrize(("name", "right"), [("n", [0]), ("calls before with these shapes", [0, 16]), ("calls before", [0, 2])])
def test_right_answers_to_a_multiple_are_needed(name: str, right: list[int]) -> None:
    """That of size 0, and one that may be right by chance, are no reason to say "no multiple of 2" in place of a limit."""
    kinds = {condition.kind for condition in list_conditions(name, [1, 3, 7, 11], right)}
    assert "no multiple" not in kinds
    assert "no multiple" in {condition.kind for condition in list_conditions(name, [1, 3, 7, 11], [0, 2, 4, 16])}


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
    assert find_axis(batch, axis, "axes of the argument", 9) is None


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


@pytest.mark.parametrize(("is_wrong", "words"), [(lambda ids: ids > 99, "> 99"), (lambda ids: ids % 2 == 1, "is odd")])
def test_a_region_may_depend_on_an_index(is_wrong: Callable[[np.ndarray], np.ndarray], words: str) -> None:
    """A table that is read wrongly for some ids."""

    def embedding(token_ids: Any, weight: Any) -> Any:
        right = np.asarray(weight)[np.asarray(token_ids)]
        return np.where(is_wrong(np.asarray(token_ids))[..., None], -1.5 * right, right).astype(right.dtype)

    under_test = Backend("unseen", SimpleNamespace(embedding=embedding), Framework("numpy"))
    ask = ask_about(make_operation(under_test, "embedding"), seed=1, seconds=SECONDS, clock=CLOCK)
    region = find_wrong_region(Evidence([], []), ask=ask, deadline=CLOCK() + SECONDS, clock=CLOCK)
    assert region is not None
    assert region.what == f"wrong only where token_ids {words}"


def test_a_size_is_compared_with_an_option_that_counts() -> None:
    """A window that is as long as the sequence, where a fast path forgets causality."""

    def is_wrong(y: Any, a: Any, k: Any, m: Any) -> bool:
        return bool(k["is_causal"]) and 1 < a[1].shape[-2] <= k["window"]

    region, _ = search(MadeFault("local_attention", (), is_wrong), 1)
    assert region is not None
    assert "m ≤ window" in region.what


@pytest.mark.parametrize("are_equal", [True, False])
def test_a_size_that_is_a_product_of_sizes_can_be_asked_for(are_equal: bool) -> None:
    """Where heads side by side are as wide as the input, their projection is square."""
    operation = make_operation(backend("numpy-cpu"), "multihead_self_attention")
    ask = ask_about(operation, seed=1, seconds=SECONDS, clock=CLOCK)
    answer = ask(Wish(sizes={"n": 3}))
    assert answer is not None
    wish = change(ask, wish_like(ask, answer), answer, "d = h d_v", are_equal)
    assert wish is not None
    changed = ask(wish)
    assert changed is not None
    assert changed.facts["d = h d_v"] == are_equal


def test_a_cache_that_the_new_keys_fill_is_a_region() -> None:
    append = specification("kv_cache_append").reference

    def with_a_slot_less(k_cache: Any, v_cache: Any, k: Any, v: Any, lengths: Any) -> Any:
        if k.shape[2] and max(lengths) + k.shape[2] == k_cache.shape[2]:
            raise IndexError("no such slot")
        return append(k_cache, v_cache, k, v, lengths)

    under_test = Backend("unseen", SimpleNamespace(kv_cache_append=with_a_slot_less), Framework("numpy"))
    ask = ask_about(make_operation(under_test, "kv_cache_append"), seed=1, seconds=SECONDS, clock=CLOCK)
    region = find_wrong_region(Evidence([], []), ask=ask, deadline=CLOCK() + SECONDS, clock=CLOCK)
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
    ask = ask_about(make_operation(fault.backend(), fault.operation), seed=1, seconds=SECONDS, clock=CLOCK)
    answers = [answer for _ in range(20) if (answer := ask(Wish(sizes={"n": 12}, given={"softcap": False, "bias": False})))]
    region = Conjunction((Condition("n", "above", (8,)),))
    short = [wish for wish in list_probes(ask, region, answers, random.Random(1)) if wish.sizes.get("n", 99) <= 8]
    for option in ("softcap", "bias"):
        assert any(wish.given.get(option) for wish in short)
        assert not all(wish.given.get(option) for wish in short)


def test_real_numbers_on_both_sides_of_a_limit_are_asked_for() -> None:
    fault = MadeFault("rms_norm", (), lambda y, a, k, m: k["eps"] > 1e-6)
    operation = make_operation(fault.backend(), "rms_norm")
    ask = ask_about(operation, seed=1, seconds=SECONDS, clock=CLOCK)
    answers = [answer for _ in range(40) if (answer := ask(Wish(as_drawn=True)))]
    values = list_probe_values(Condition("eps", "above", (1e-6,)), answers, random.Random(1))
    seen = [answer.facts["eps"] for answer in answers]
    assert any(1e-7 < value < 1e-6 for value in values)
    assert any(1e-6 < value < 1e-5 for value in values)
    assert min(seen) <= min(values) < max(values) <= max(seen)


def test_the_largest_magnitude_counts_infinities() -> None:
    """Otherwise −∞ alone would lie outside of "where the largest |x| exceeds 0"."""
    made = make_operation(backend("numpy-cpu"), "softmax")
    rows = {np.inf: [0, -np.inf], 2: [-2, np.nan], 0: [np.nan]}
    for largest, row in rows.items():
        call = Call(made, (np.array(row, dtype=np.float32),), {"axis": -1})
        assert describe_for_region(call)["the largest |x|"] == largest


def test_an_infinite_value_is_no_limit() -> None:
    conditions = list(list_conditions("the largest |x|", [1.0, 2.0], [np.inf, 0.5]))
    assert [(one.kind, one.values) for one in conditions] == [("above", (0.5,))]


def test_right_answers_have_no_region() -> None:
    for name in ("softmax", "scaled_dot_product_attention"):
        ask = ask_about(make_operation(backend("numpy-cpu"), name, "float32"), seed=1, seconds=SECONDS, clock=CLOCK)
        assert find_wrong_region(Evidence([], []), ask=ask, deadline=CLOCK() + SECONDS, clock=CLOCK) is None


def test_wrong_by_chance_is_no_region() -> None:
    source = random.Random(draw_seed("chance"))
    fault = MadeFault("rms_norm", (), lambda y, a, k, m: source.random() < 0.3)
    assert search(fault, 1)[0] is None


@pytest.mark.parametrize(("limit", "share"), [(16, 0.7), (64, 0.8), (7, 0.65)])
def test_a_region_in_which_most_calls_fail_is_said(limit: int, share: float) -> None:
    """Many errors hide: without a rescaling, a blockwise softmax is wrong only where the maximum is in a later block."""
    source = random.Random(draw_seed(f"most above {limit}"))
    fault = MadeFault("rms_norm", (), lambda y, a, k, m: a[0].shape[-1] > limit and source.random() < share)
    region, _ = search(fault, draw_seed("most"))
    assert region is not None
    assert region.what == f"wrong only from d = {limit + 1} on"


def test_a_region_that_holds_nearly_all_calls_tells_nothing() -> None:
    source = random.Random("nearly all")
    fault = MadeFault("rms_norm", (), lambda y, a, k, m: a[0].shape[-1] < 1500 and source.random() < 0.7)
    region, _ = search(fault, 1)
    assert region is None, region


def test_a_condition_that_too_few_answers_speak_for_is_not_said() -> None:
    """Two right answers may be right for another reason: each condition is violated alone by some fresh answers."""
    long, square = Condition("d", "above", (16,)), Condition("batch entries", "is not", (3,))
    operation = make_operation(LONG_ROWS.backend(), "rms_norm")
    fresh = FreshAnswers(Conjunction((long, square)), loosely=False)
    ask = ask_about(operation, seed=1, seconds=SECONDS, clock=CLOCK)
    for number in range(60):
        batch, size = ((3,), 20) if number < 2 else ((2,), 4 + 20 * (number % 2))
        answer = ask(Wish(sizes={"d": size}, batch=batch))
        assert answer is not None
        fresh.add(answer, fails=number >= 2 and number % 2 == 1)
    assert fresh.alone == {square: 2, long: 29}
    assert (fresh.count.inside, fresh.count.failed) == (29, 29)
    assert not fresh.is_enough
    for _ in range(MIN_ALONE):
        answer = ask(Wish(sizes={"d": 20}, batch=(3,)))
        assert answer is not None
        fresh.add(answer, fails=False)
    assert fresh.is_enough


@pytest.mark.parametrize(("failing", "is_enough"), [(6, True), (3, False)])
def test_plain_calls_inside_of_a_region_are_not_mostly_right(failing: int, is_enough: bool) -> None:
    """Calls that resemble wrong ones fail more often than those that laws draw."""
    fresh = FreshAnswers(Conjunction((Condition("d", "above", (16,)),)), loosely=True)
    ask = ask_about(make_operation(backend("numpy-cpu"), "rms_norm"), seed=1, seconds=SECONDS, clock=CLOCK)
    for number in range(69):
        fresh.is_plain = number >= 60
        answer = ask(Wish(sizes={"d": 20 if fresh.is_plain or number % 2 else 10}))
        assert answer is not None
        fresh.add(answer, fails=number - 60 < failing if fresh.is_plain else number % 2 == 1)
    assert (fresh.count.outside, fresh.plain.inside, fresh.plain.failed) == (30, 9, failing)
    assert fresh.is_enough == is_enough


@pytest.mark.parametrize("size", [10, 20])
def test_a_region_where_most_calls_fail_otherwise_is_not_said(size: int) -> None:
    """Outside of the region hardly a call is right, or inside most calls raise an exception in place of wrong values."""
    fresh = FreshAnswers(Conjunction((Condition("d", "above", (16,)),)), loosely=False)
    ask = ask_about(make_operation(backend("numpy-cpu"), "rms_norm"), seed=1, seconds=SECONDS, clock=CLOCK)
    inside, outside, other = (ask(Wish(sizes={"d": d})) for d in (20, 10, size))
    assert inside is not None
    assert outside is not None
    assert other is not None
    for answer in [inside, outside] * 20:
        fresh.add(answer, fails=answer is inside)
    for _ in range(20):
        fresh.add_other_failure(outside)
        fresh.add_other_failure(inside)
    assert fresh.is_enough
    fresh.add_other_failure(other)
    assert not fresh.is_enough


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
    ask = ask_about(make_operation(fault.backend(), "rms_norm"), seed=1, seconds=SECONDS, clock=CLOCK)
    region = find_wrong_region(Evidence.gather(operation.recorder.calls), ask=ask, deadline=CLOCK() + SECONDS, clock=CLOCK)
    assert region is not None
    assert region.what == "wrong, or the call raised ValueError, only where d is odd"


def test_no_time_is_no_region() -> None:
    ask = ask_about(make_operation(MAKERS["columns"](random.Random(1)).backend(), "rms_norm"), seed=1, seconds=0)
    assert find_wrong_region(Evidence([], []), ask=ask, deadline=CLOCK(), clock=CLOCK) is None


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


@pytest.mark.parametrize(
    ("conditions", "words"),
    [
        ([("d", "above", (4096,))], "from d = 4097 on"),
        ([("d", "below", (8,))], "up to d = 7"),
        ([("n", "no multiple", (16,))], "where n is no multiple of 16"),
        ([("d_k", "is", (72, 104))], "where d_k = 72 or 104"),
        ([("with scale", "is", (True,))], "whenever scale is given"),
        ([("rows of mask", "is", (1,))], "with a mask of one row"),
        ([("calls before with these shapes", "above", (0,))], "from the second call with the same shapes on"),
        ([("storage", "is", ("transposed",))], "where arrays are stored transposed"),
        ([("n", "no multiple", (16,)), ("n", "above", (16,))], "from n = 17 on, where n is no multiple of 16"),
        ([("d", "no multiple", (2,)), ("n", "is", (3,))], "where d is odd and n = 3"),
        ([("ignore_index among the entries of targets", "is", (True,))], "where an entry of targets is ignore_index"),
        ([("0 among the entries of targets", "is", (False,))], "where no entry of targets is 0"),
    ],
)
def test_words_for_conditions_on_calls(conditions: list[tuple[str, str, tuple[object, ...]]], words: str) -> None:
    assert describe_conditions([Condition(*condition) for condition in conditions], []) == words


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (("row", "above", (47,)), "in rows 48 and up"),
        (("batch entry", "above", (0,)), "in every batch entry but the first"),
        (("head of its group", "above", (0,)), "in each head but the first of its group"),
        (("x", "below", (-13.0,)), "where x < -13"),
        (("the largest entry of a row of x", "above", (88.0,)), "where the largest entry of the row of x > 88"),
        (("column from the end", "is", (0,)), "in the last column"),
        (("column − row", "above", (0,)), "above the diagonal"),
    ],
)
def test_words_for_conditions_on_elements(condition: tuple[str, str, tuple[object, ...]], words: str) -> None:
    assert describe_conditions([], [Condition(*condition)]) == words


def test_the_simplest_number_between_two_is_between_them() -> None:
    seed = draw_seed("simplest")
    source = random.Random(seed)
    for _ in range(2000):
        low, high = sorted(source.choice((-1, 1)) * 10 ** source.uniform(-320, 308) for _ in range(2))
        assert low == high or low <= simplest_between(low, high) < high, (seed, low, high)
    assert simplest_between(-13.002, -12.998) == -13
    assert simplest_between(87.2, 88.6) == 88
