"""Test that the examples of a comparison with the oracle meet the pairs that an operation allows, far sooner than by chance."""

from collections import Counter
from contextlib import suppress
from random import Random

import pytest

from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.choices import ReplayedChoices
from spec_tests.inputs.covering import Covering, kind_of_shape, kind_of_size, kind_of_value
from spec_tests.inputs.draw import Draw
from spec_tests.inputs.effort import using_effort
from spec_tests.trials.random_choices import RandomChoices
from spec_tests.trials.trial import Trial

from ..measure.covering import describe, is_of_shapes_and_options, measure
from ..support.drawn_values import RecordedChoices
from ..support.in_process import backend

ATTENTION = "scaled_dot_product_attention"


def draw_examples(name: str, covering: Covering | None, count: int, seed: int) -> list[tuple[int, ...]]:
    """Draw examples of an operation, planned or not, and return their choices."""
    operation, random, rows = Trial(backend("numpy-cpu"), "float32").operation(name), Random(seed), []
    with using_effort("default"):
        for _ in range(count):
            recorded = RecordedChoices(RandomChoices(random, name, covering))
            draw = recorded.make_draw(recorded.draw_integer, operation, recorded.draw_shape)
            with suppress(NotImplementedVariant):
                draw.call()
            rows.append(tuple(recorded.numbers))
    return rows


class ByChance(Covering):
    """Notes what is chosen, but plans nothing."""

    def _rank(self, bits: tuple[int, ...], others: int, ahead: int) -> tuple[int, ...]:
        return (0,)


@pytest.mark.parametrize("name", ["rms_norm", "scaled_dot_product_attention", "mixture_of_experts", "transformer_block"])
def test_more_pairs_are_met_than_by_chance(name: str) -> None:
    planned, by_chance = Covering(), ByChance()
    draw_examples(name, planned, 32, seed=1)
    draw_examples(name, by_chance, 32, seed=1)
    assert len(planned.pairs) > 1.25 * len(by_chance.pairs)


@pytest.mark.parametrize("seed", range(20))
def test_each_value_of_an_option_is_met_beside_each_kind_of_size(seed: int) -> None:
    """Of rms_norm: every kind of eps with every kind of d that 128 examples, those of a run in four dtypes, can meet."""
    covering = Covering()
    draw_examples("rms_norm", covering, 128, seed)
    sizes = {kind for factor, kind in covering.bits if factor == "d"}
    values = {kind for factor, kind in covering.bits if factor == "eps"}
    assert {"2ᵏ − 1", "2ᵏ", "2ᵏ + 1", "3·2ᵏ", "1", "2"} <= sizes
    assert {"0", "tiny", "small", "below 1", "1"} <= values
    wanted = {frozenset((("d", size), ("eps", value))) for size in sizes for value in values}
    assert wanted <= covering.pairs


FACTORS = {
    "rms_norm": (0.95, "d batch eps", "array 1"),
    "rope": (0.95, "n d_k batch theta layout rotary_dim attention_factor branch", "array 1"),
    "scaled_dot_product_attention": (0.7, "n m d_k d_v batch mask scale softcap hidden", "array 3"),  # fewer than it needs, too
    "softmax_vjp": (0.7, "n batch axis cotangent", "array 2"),  # it has fewer examples than it needs at least
}
OPTIONS = {"rope": "inverse_frequencies", ATTENTION: "mask bias is_causal scale softcap"}


@pytest.mark.parametrize("name", FACTORS)
def test_an_operation_has_these_factors_and_a_run_meets_most_of_their_pairs(name: str) -> None:
    """Every run meets nearly all kinds of sizes and options, and the given share of their pairs."""
    share, factors, array = FACTORS[name]
    found = measure(name, seeds=5)
    assert found.kinds.keys() >= {*factors.split(), array, *(f"{option} or not" for option in OPTIONS.get(name, "").split())}
    plain = {pair for pair in found.allowed if is_of_shapes_and_options(pair)}
    for met in found.runs:
        kinds, seen = ({item for pair in pairs for item in pair} for pairs in (plain, met))
        assert len(kinds - seen) < 0.05 * len(kinds)
        assert len(plain & met) > share * len(plain)
    assert f"all after {found.seeds_until(plain)} of 5 seeds" in describe(name, found)


def test_a_planned_example_is_replayed_from_its_choices() -> None:
    operation = Trial(backend("numpy-cpu"), "float32").operation("rms_norm")
    for row in draw_examples("rms_norm", Covering(), 8, seed=3):
        replayed = ReplayedChoices(row)
        Draw(replayed.draw_integer, operation).call()
        assert replayed.position == len(row)


def test_the_same_seed_makes_the_same_examples() -> None:
    assert draw_examples("rope", Covering(), 8, seed=5) == draw_examples("rope", Covering(), 8, seed=5)
    assert draw_examples("rope", Covering(), 8, seed=5) != draw_examples("rope", Covering(), 8, seed=6)


def test_a_choice_meets_new_pairs_first_and_then_those_that_may_come() -> None:
    covering, random = Covering(), Random(0)
    seen = set()
    for _ in range(9):
        covering.start()
        one = covering.choose([{"eps": kind} for kind in "abc"], random)
        other = covering.choose([{"axis": kind} for kind in "xyz"], random)
        seen.add((one, other))
    assert len(seen) == 9, "nine examples meet all nine pairs"
    assert len(covering.pairs) == 9


def test_an_option_of_several_factors_counts_the_pairs_of_each() -> None:
    covering, random = Covering(), Random(0)
    options = [{"mask": "given", "bias": "absent"}, {"mask": "absent", "bias": "given"}, {"mask": "absent", "bias": "absent"}]
    places = []
    for _ in range(3):
        covering.start()
        places.append(covering.choose(options, random))
    assert {0, 1} <= {*places}, "each is given once"


@pytest.mark.parametrize(
    ("size", "kind"),
    [(1, "1"), (2, "2"), (3, "2ᵏ − 1"), (4, "2ᵏ"), (5, "2ᵏ + 1"), (12, "3·2ᵏ"), (100, "other"), (1024, "2ᵏ long"), (5000, "long"),
     (768, "3·2ᵏ"), (129, "2ᵏ + 1"), (511, "2ᵏ − 1")],
)  # fmt: skip
def test_the_kinds_of_sizes(size: int, kind: str) -> None:
    assert kind_of_size(size) == kind


def test_the_kinds_of_values_and_batches() -> None:
    assert [kind_of_value(x) for x in (None, True, "half", 0.0, 1e-8, 1e-5, 0.5, 1, 7.0, -2.0, float("-inf"), [1])] == [
        None, True, "half", "0", "tiny", "small", "below 1", "1", "above 1", "−above 1", "-inf", "list",
    ]  # fmt: skip
    assert [kind_of_shape(x) for x in ((), (3,), (2, 1, 3), (11, 50))] == ["0", "1", "3 with 1", "2 of many"]


def test_pairs_that_are_impossible_hold_no_choice() -> None:
    """A factor that only one kind of another brings about: its pairs with the other kinds are never met."""
    covering, source, taken = Covering(), Random(5), list[bool]()
    for _ in range(300):
        covering.start()
        taken.append(covering.choose([{"option": kind} for kind in ("absent", "absent", "given")], source) == 2)
        if taken[-1]:
            covering.choose([{"value": kind} for kind in range(20)], source)
    assert sum(taken[:60]) >= 20
    assert 0.2 < sum(taken[100:]) / 200 < 0.5


@pytest.mark.parametrize("seed", range(3))
def test_options_keep_their_shares(seed: int) -> None:
    """That an option is given, and what it is given as, are two factors. Under one name each would hide the other's pairs."""
    operation, random, covering, found = (
        Trial(backend("numpy-cpu"), "float32").operation(ATTENTION),
        Random(seed),
        Covering(),
        Counter(),
    )
    with using_effort("default"):
        for _ in range(200):
            recorded = RecordedChoices(RandomChoices(random, ATTENTION, covering))
            draw = recorded.make_draw(recorded.draw_integer, operation, recorded.draw_shape)
            call = draw.call()
            found.update(name for name, value in call.keywords.items() if value is not None and value is not False)
    assert min(found[name] for name in ("bias", "is_causal", "scale", "softcap")) >= 20, found
