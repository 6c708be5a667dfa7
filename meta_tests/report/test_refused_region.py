"""Tests of the region that is named where a backend refuses: it is right about every example, and it is not named by chance."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from spec_tests.diagnosis.regions.refused import MAX_CHANCE, Region, describe_options, find_region

from ..support.seeds import draw_seed

Facts = dict[str, Any]
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 24, 31, 32, 33, 64, 100, 128, 257)
EPS = (1e-5, 1e-6, 0.1, 1.0)


def draw_facts(source: random.Random) -> Facts:
    """Return facts such as those of an example of a normalization with an optional bias."""
    return {
        "d": source.choice(SIZES),
        "n": source.choice(SIZES),
        "eps": source.choice(EPS),
        "layout": source.choice(("half", "interleaved")),
        "with bias": source.random() < 0.3,
        "empty": source.random() < 0.1,
        "batch_dims": source.choice((0, 1, 1, 2, 3)),
    }


def draw_examples(source: random.Random, refuses: Callable[[Facts], bool], count: int = 400) -> list[tuple[bool, Facts]]:
    return [(refuses(facts), facts) for facts in (draw_facts(source) for _ in range(count))]


def is_inside(facts: Facts, region: Region) -> bool:
    """Return whether the facts lie in the domain that the advice states, by its own line of code."""
    namespace: dict[str, Any] = {}
    exec(region.advice, namespace)
    ((name, allowed),) = namespace["domain"]["op"].items()
    return facts[name] is False or allowed if isinstance(allowed, bool) else facts[name] in allowed


def draw_predicate(kind: str, source: random.Random) -> tuple[Callable[[Facts], bool], str]:
    """Return a predicate of one fact, and how the words for it begin."""
    name, size, step = source.choice(("d", "n")), source.choice(SIZES[3:-3]), source.choice((2, 4, 8))
    eps, rank = source.choice(EPS), source.choice((1, 2))
    return {
        "above": (lambda facts: facts[name] > size, f"refuses {name} > {size}"),
        "below": (lambda facts: facts[name] < size, f"refuses {name} < {size}"),
        "no multiple": (lambda facts: facts[name] % step != 0, f"refuses {name} that is no multiple of {step}"),
        "one value": (lambda facts: facts["eps"] != eps, f"refuses every eps but {eps}"),
        "a word": (lambda facts: facts["layout"] == "half", "refuses every layout but interleaved"),
        "rank": (lambda facts: facts["batch_dims"] > rank, f"refuses batch_dims > {rank}"),
        "empty": (lambda facts: facts["empty"], "refuses empty arrays"),
        "optional": (lambda facts: facts["with bias"], "refuses bias"),
    }[kind]


@pytest.mark.parametrize("kind", ["above", "below", "no multiple", "one value", "a word", "rank", "empty", "optional"])
def test_a_predicate_of_one_fact_is_named(kind: str) -> None:
    for number in range(20):
        seed = draw_seed(f"{kind} {number}")
        source = random.Random(seed)
        refuses, words = draw_predicate(kind, source)
        examples = draw_examples(source, refuses)
        region = find_region("op", examples)
        assert region is not None, seed
        assert region.words.startswith(words), (seed, region)
        if kind == "optional":
            assert region.advice == "leave bias out of the signature of op"
        else:
            assert all(is_inside(facts, region) is not refused for refused, facts in examples), (seed, region)


def test_refusals_by_chance_are_not_named() -> None:
    seed, rounds = draw_seed("chance"), 400
    source = random.Random(seed)
    named = 0
    for _ in range(rounds):
        share, count = source.choice((0.02, 0.1, 0.5, 0.9)), source.choice((4, 10, 40, 200))
        named += find_region("op", draw_examples(source, lambda _: source.random() < share, count)) is not None  # noqa: B023
    assert named <= 5 * MAX_CHANCE * rounds, seed


def test_a_predicate_of_two_facts_is_not_named() -> None:
    for number in range(20):
        seed = draw_seed(f"two facts {number}")
        examples = draw_examples(random.Random(seed), lambda facts: facts["d"] > 16 and facts["n"] > 16)
        assert find_region("op", examples) is None, seed


@pytest.mark.parametrize("refused", [True, False])
def test_there_is_no_region_without_both_sides(refused: bool) -> None:
    assert find_region("op", draw_examples(random.Random(1), lambda _: refused)) is None
    assert find_region("op", []) is None


def test_what_was_not_drawn_is_said() -> None:
    examples: list[tuple[bool, Facts]] = [(size > 8, {"d": size}) for size in (1, 2, 4, 8, 16, 32, 64) for _ in range(4)]
    region = find_region("op", examples)
    assert region == Region("refuses d > 8 (9 to 15 were not drawn)", 'domain = {"op": {"d": range(1, 9)}}')


def test_several_options_are_left_out_of_the_signature() -> None:
    """An option of which another value is answered stays in it, and a combination is no option."""
    refused = [frozenset(names) for names in (["mask"], ["bias", "scale"], ["form = quick"], ["flag = True"])]
    found = describe_options("op", refused, {"form = tanh", "scale"})
    words = "refuses bias with scale, flag = True, form = quick and mask"
    assert found == Region(words, "leave flag and mask out of the signature of op")
    assert describe_options("op", refused[1:3], {"form = tanh", "scale"}) == Region(
        "refuses bias with scale and form = quick", ""
    )
    assert describe_options("op", [], {"scale"}) is None
