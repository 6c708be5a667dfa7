"""What a draw says that it draws, it draws: masks, gains, cotangents, positions, sizes, options, replayed choices."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.gradient import Gradient
from spec_tests.calls.operation import Operation
from spec_tests.inputs.choices import BEYOND_CONSTANTS, NoExample, ReplayedChoices, format_choices, parse_choices
from spec_tests.inputs.draw import FEW_ENTRIES, LONG_ROWS, SEQUENCES, SIZES, SMALL, Draw, within_domain
from spec_tests.inputs.effort import EFFORTS
from spec_tests.inputs.values import MAX_BITS
from spec_tests.specification.registry import specification

from ..support.in_process import backend

COUNT = 120


@cache
def operation(name: str, dtype: str = "float32", **domain: Any) -> Operation:
    spec = specification(name)
    under_test = backend("numpy-cpu")
    made = (Gradient if spec.is_gradient else Operation)(spec, under_test, dtype, spec.precision)
    if domain:
        made.__dict__["domain"] = domain
    return made


def draws(name: str, dtype: str = "float32", count: int = COUNT, **domain: Any) -> list[Draw]:
    made = operation(name, dtype)
    if domain:
        made = dataclasses.replace(made)
        made.__dict__["domain"] = domain
    return [Draw(random.Random(f"{name} {seed}").randint, made) for seed in range(count)]


def test_every_query_of_a_mask_sees_a_key() -> None:
    masks = [draw.mask((2, 3), 4, 6) for draw in draws("scaled_dot_product_attention")]
    assert all(np.broadcast_to(mask, (2, 3, 4, 6)).any(-1).all() for mask in masks)
    assert sum(bool(mask.all()) for mask in masks) < COUNT // 4
    assert len({mask.shape for mask in masks}) == 7
    assert all(mask.dtype == bool for mask in masks)


def test_a_gain_has_both_signs_zeros_and_large_entries() -> None:
    gains = np.concatenate([draw.gain(40) for draw in draws("rms_norm")])
    assert 0.3 < np.mean(gains > 0) < 0.6
    assert 0.3 < np.mean(gains < 0) < 0.6
    assert 0.02 < np.mean(gains == 0) < 0.1
    assert 0.02 < np.mean(gains == 8) < 0.1
    assert all(np.any(draw.gain(1)) for draw in draws("rms_norm"))


def test_the_values_of_some_examples_have_few_bits_and_those_of_most_have_all() -> None:
    found = draws("rms_norm", count=400)
    bits = Counter(draw.bits for draw in found)
    assert 0.7 < bits[MAX_BITS] / 400 < 0.95
    for draw in found:
        x = draw.normal((50,))
        assert np.array_equal(x, x.astype(np.float32))
        if draw.bits < MAX_BITS:
            mantissa, _ = np.frexp(x)
            assert np.array_equal(np.ldexp(mantissa, draw.bits), np.rint(np.ldexp(mantissa, draw.bits)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_what_is_held_is_finite_and_of_the_dtype_except_for_infinities_that_are_drawn(dtype: str) -> None:
    (draw,) = draws("rms_norm", dtype, 1)
    f = draw.format
    held = draw.held(np.array([f.max * 4 if dtype != "float64" else f.max, -np.inf, 1 / 3, 0.0]))
    assert held[0] == f.max
    assert held[1] == -np.inf
    assert np.array_equal(f.round(held), held)


def test_a_gradient_is_not_drawn_at_the_ends_of_the_range() -> None:
    def find_ends(name: str) -> int:
        f = operation(name).storage
        return sum(bool(np.any(np.abs(draw.points((6, 8))) >= f.max / 4)) for draw in draws(name, count=300))

    assert find_ends("silu") > 10
    assert find_ends("silu_vjp") == 0


def test_cotangents_are_of_four_kinds() -> None:
    y = np.random.default_rng(0).standard_normal((3, 4)) * 100
    found = Counter(_name_cotangent(draw.cotangent(y), y) for draw in draws("silu_vjp", count=300))
    assert set(found) == {"ones", "one", "result", "rows"}
    assert found["rows"] > 100
    assert min(found.values()) > 20


def test_each_of_several_results_has_a_cotangent_in_some_examples_and_an_index_never() -> None:
    y = np.ones((3, 2))
    given = Counter(tuple(c is not None for c in draw.cotangents((y, y[:, 0]))) for draw in draws("attention_with_lse_vjp"))
    assert set(given) == {(True, True), (True, False), (False, True)}
    assert {tuple(c is not None for c in draw.cotangents((y, y))) for draw in draws("moe_router_vjp")} == {(True, False)}
    infinite = np.array([[1.0, np.inf]])
    assert all(draw.cotangents((infinite, infinite))[0][0, 1] == 0 for draw in draws("moe_router_vjp", count=20))


def _name_cotangent(c: np.ndarray, y: np.ndarray) -> str:
    if np.all(c == 1):
        return "ones"
    if np.count_nonzero(c) == 1 and c.max() == 1:
        return "one"
    ratio = np.abs(c / y)
    return "result" if np.allclose(ratio, ratio.flat[0], rtol=1e-5) and np.max(np.abs(c)) <= 1 and np.any(c) else "rows"


@pytest.mark.parametrize(
    ("domain", "kinds"),
    [({}, {"consecutive", "offset", "other"}), ({"positions": "offset"}, {"consecutive", "offset"}),
     ({"positions": "consecutive"}, {"consecutive"})],
)  # fmt: skip
def test_positions_are_of_the_kinds_that_the_domain_allows(domain: dict[str, Any], kinds: set[str]) -> None:
    found = set()
    for draw in draws("rope", **domain):
        p = draw.positions((2,), 5)
        is_row = p.shape == (5,) and bool(np.all(np.diff(p) == 1))
        found.add("other" if not is_row else "offset" if p[0] else "consecutive")
    assert found == kinds


def test_one_dimension_is_larger_and_sizes_mostly_differ() -> None:
    found = [(draw, draw.dims(n=257, d=257)) for draw in draws("linear", count=400)]
    sizes = [size for _, pair in found for size in pair]
    assert set(sizes) >= set(SMALL)
    larger = [sum(size > SMALL[-1] for size in pair) for _, pair in found]
    assert 0.4 < np.mean(np.array(larger) == 1) < 0.95
    assert max(larger) <= 2
    assert np.mean([a == b for _, (a, b) in found]) < 0.25
    assert len(set(sizes) & set(SIZES[len(SMALL) :])) > 15
    assert max(sizes) >= 257


def test_a_long_example_has_a_dimension_beyond_16_bits() -> None:
    lengths = set()
    for draw in draws("softmax", count=40):
        draw.long = True
        lengths.add(max(draw.dims(d=5000)))
    assert lengths <= set(LONG_ROWS) | set(SEQUENCES) | set(SMALL)
    assert lengths & set(LONG_ROWS)


def test_a_small_example_is_small() -> None:
    for draw in draws("softmax", count=20):
        draw.small = True
        assert set(draw.dims(n=5000, d=5000)) <= {2, 3}
        assert draw.batch() == (FEW_ENTRIES,)


def test_sizes_lie_in_the_domain_and_not_only_its_smallest() -> None:
    allowed = (3, 16, 64, 128)
    sizes = [draw.size("d", SIZES) for draw in draws("rms_norm", d=allowed)]
    assert set(sizes) == set(allowed)
    assert {draw.size("d", SIZES) for draw in draws("rms_norm", d=(300, 1000, 2000))} == {300, 1000, 2000}
    assert {len(draw.batch()) for draw in draws("rms_norm", batch_dims=(1, 2))} == {1, 2}


def test_a_keyword_has_the_values_of_the_domain() -> None:
    assert {draw.keyword("eps", (1e-5, 1e-6))["eps"] for draw in draws("rms_norm")} == {1e-5, 1e-6}
    assert {draw.keyword("eps", (1e-5, 1e-6))["eps"] for draw in draws("rms_norm", eps=(0.5,))} == {0.5}


def test_optional_arguments_are_passed_none_one_or_several() -> None:
    names = ("mask", "bias", "scale", "softcap")
    found = Counter(len(draw.variants(*names)) for draw in draws("scaled_dot_product_attention", count=400))
    assert set(found) == {0, 1, 2, 4}
    assert found[0] > 40
    assert found[1] > 150
    seldom = Counter(bool(draw.variants(*names, seldom=True)) for draw in draws("scaled_dot_product_attention", count=400))
    assert 0.2 < seldom[True] / 400 < 0.45
    always = draws("scaled_dot_product_attention", scale=(0.5,))
    assert all("scale" in draw.variants(*names) for draw in always), "whose default lies outside of the domain"


def test_a_law_is_not_tried_at_a_size_outside_of_the_domain() -> None:
    from spec_tests.calls.violation import NotImplementedVariant

    (draw,) = draws("rms_norm", count=1, d=(4, 8))
    within_domain(draw, d=8, n=77)
    with pytest.raises(NotImplementedVariant, match="its domain has no d = 5"):
        within_domain(draw, d=5)


@pytest.mark.parametrize(
    ("effort", "cost", "dtypes", "examples"),
    [("default", 1, 1, 32), ("default", 1, 4, 8), ("default", 8, 4, 4), ("thorough", 1, 1, 160), ("thorough", 100, 4, 20),
     ("smoke", 1, 2, 2), ("smoke", 1, 1, 4)],
)  # fmt: skip
def test_the_number_of_examples(effort: str, cost: float, dtypes: int, examples: int) -> None:
    assert EFFORTS[effort].examples(cost, dtypes) == examples


def test_choices_are_replayed_as_they_were_and_not_beyond() -> None:
    replayed = ReplayedChoices((2, 0, 5))
    low = BEYOND_CONSTANTS
    assert [replayed.draw_integer(low, low + top) - low for top in (2, 9, 5)] == [2, 0, 5]
    with pytest.raises(NoExample, match="ends after 3 choices"):
        replayed.draw_integer(low, low + 1)
    with pytest.raises(NoExample, match="its choice 1 is 3, of 3"):
        ReplayedChoices((3,)).draw_integer(low, low + 2)
    assert parse_choices(format_choices((2, 0, 5))) == (2, 0, 5)
    for text in ("", "1.", "1.-2", "1.²", "a"):
        with pytest.raises(ValueError, match="numbers with points"):
            parse_choices(text)


def test_near_points_their_neighbours_are_drawn() -> None:
    found = {draw.near(8, 100, low=0, high=100) for draw in draws("relu", count=200)}
    assert found == {7, 8, 9, 99, 100}


def test_a_query_without_a_key_is_asked_for_beside_keys_of_others() -> None:
    """A sum over no key at all is 0 in code that answers NaN where a mask hides the keys: the convention is not about that."""
    question = specification("variable_length_attention").declaration.open_questions["fully_masked_rows"]
    calls = [question(draw)[0] for draw in draws("variable_length_attention")]
    assert all(len(k) for _, k, *_ in calls)
    assert any(np.any((np.diff(ends_k) == 0) & (np.diff(ends_q) > 0)) for *_, ends_q, ends_k in calls)
