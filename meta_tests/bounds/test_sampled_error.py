"""The sampled error: what its constants promise, how float64 is scaled, and where nothing is claimed."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

from spec_tests.bounds.random_rounding import (
    COARSE_DRAWS,
    COARSE_FACTOR,
    DRAWS,
    ROUNDING_FACTORS,
    RandomStream,
    lost_to_underflow,
    overflow_to_infinity,
    repeated_terms,
    root_of_squares,
    spread_of_partial_sums,
    spread_of_product,
)
from spec_tests.bounds.sample import SIGMAS, Sample
from spec_tests.bounds.sampled_error import FEW_DRAWS, few_draws_error, sampled_error
from spec_tests.specification.formats import FORMATS, Arithmetic, Format

FLOAT32, FLOAT64 = FORMATS["float32"], FORMATS["float64"]
WIDE = Arithmetic(FLOAT64, FLOAT32)
ONES = np.ones(64)


def multiply_ones(wrap: Any) -> Any:
    """An equation of one rounding of size u for each element."""
    return wrap(ONES) * wrap(np.linspace(1.0, 2.0, 64))


def test_a_correct_answer_leaves_the_bound_once_in_two_thousand_million() -> None:
    """SIGMAS root mean squares of DRAWS draws: Student's t has DRAWS degrees of freedom."""
    with mpmath.workdps(30):
        outside = mpmath.betainc(DRAWS / 2, 0.5, 0, mpmath.mpf(DRAWS) / (DRAWS + SIGMAS**2), regularized=True)
    assert 1.7e9 < float(1 / outside) < 2.3e9


def test_every_draw_has_its_factor() -> None:
    assert ROUNDING_FACTORS.tolist() == [1.0] * DRAWS + [COARSE_FACTOR] * COARSE_DRAWS
    assert FEW_DRAWS < DRAWS


def test_one_rounding_is_allowed_sigmas_times() -> None:
    """A draw moves each element up or down by its largest error u |z|, so that the root mean square is u |z|."""
    value = multiply_ones(np.asarray)
    assert np.allclose(sampled_error(multiply_ones, value, WIDE) / (SIGMAS * FLOAT32.u * value), 1.0, rtol=1e-3)


def test_few_draws_allow_the_square_root_of_their_part() -> None:
    value = multiply_ones(np.asarray)
    few = few_draws_error(multiply_ones, value, WIDE)
    assert np.allclose(few / sampled_error(multiply_ones, value, WIDE), np.sqrt(FEW_DRAWS / DRAWS), rtol=1e-3)


def test_the_roundings_of_float64_are_drawn_larger_and_scaled_back() -> None:
    value = multiply_ones(np.asarray)
    narrow = Arithmetic(FLOAT64, Format("24 bits", 24, -1022, 1023))
    for derive in (sampled_error, few_draws_error):
        wide = derive(multiply_ones, value, Arithmetic(FLOAT64, FLOAT64))
        assert np.allclose(wide / derive(multiply_ones, value, narrow), 2.0**-29, rtol=1e-12, atol=0)
    assert np.allclose(wide / (value * FLOAT64.u * SIGMAS * np.sqrt(FEW_DRAWS / DRAWS)), 1.0, rtol=1e-3)


def amplify(count: int) -> Any:
    """Return an equation whose first `count` elements depend on roundings in a way that is not linear."""

    def evaluate(wrap: Any) -> Any:
        rounded = wrap(ONES) * wrap(np.full(64, 1.1))
        noise = rounded - 1.1
        powers = np.where(np.arange(64) < count, 1e9, 0.0)
        return rounded + noise * noise * powers

    return evaluate


def test_nothing_is_claimed_where_the_error_is_not_linear() -> None:
    value = amplify(2)(np.asarray)
    error = sampled_error(amplify(2), value, WIDE)
    assert np.isinf(error[:2]).all()
    assert np.isfinite(error[2:]).all()
    assert np.isinf(sampled_error(amplify(8), value, WIDE)).all(), "more than one in twenty: nothing is claimed of any"


def test_errors_below_the_normal_range_are_not_scaled_back() -> None:
    tiny = Format("24 bits", 24, -1022, 1023).tiny
    arithmetic = Arithmetic(FLOAT64, FLOAT64)

    def evaluate(wrap: Any) -> Any:
        return wrap(np.full(8, 2.0**-600)) * wrap(np.full(8, 2.0**-430))

    error = sampled_error(evaluate, evaluate(np.asarray), arithmetic)
    assert np.all(error >= 2.0**-1030), "a product below the normal range may be flushed"
    assert np.all(error <= SIGMAS * 8 * tiny)


@pytest.mark.parametrize("n", [1, 2, 5, 400])
def test_the_spread_of_partial_sums_is_that_of_random_orders(n: int) -> None:
    """Of terms in random order, the mean of the summed squares of the partial sums, the first of which is no sum."""
    source = np.random.default_rng(n)
    terms = source.standard_normal(n) + 0.5
    sums = np.array([np.cumsum(source.permutation(terms)) for _ in range(4000)])
    measured = np.sqrt(np.mean(np.sum(np.square(sums), axis=1)))
    spread = spread_of_partial_sums(n, np.array([terms.sum()]), np.array([np.sqrt(np.sum(terms**2))]))
    assert measured * 0.9 <= float(spread[0]) <= 1.25 * measured + abs(terms.sum())


def test_the_spread_of_a_product_is_that_of_its_partial_sums() -> None:
    source = np.random.default_rng(0)
    a, b = source.standard_normal((3, 40)), source.standard_normal((40, 2))
    roots = np.sqrt(np.square(a) @ np.square(b))
    assert np.allclose(root_of_squares(a, b, FLOAT32), roots)
    assert np.allclose(spread_of_product(a, b, a @ b, FLOAT32, SIGMAS), spread_of_partial_sums(40, a @ b, roots))
    equal = spread_of_product(np.ones((1, 40)), np.ones((40, 1)), np.array([[40.0]]), FLOAT32, 0.1)
    assert equal.item() == pytest.approx(39 * 40 / 0.1), "equal terms may all err in one direction"


def test_repeated_terms_are_counted() -> None:
    row, column = np.array([[1.0] * 30 + [*range(2, 12)]]), np.array([[2.0] * 25 + [*range(3, 18)]]).T
    repeats = repeated_terms(row, column)
    assert repeats is not None
    assert repeats.tolist() == [[25]]
    assert repeated_terms(np.arange(40.0)[None], column) is None, "no value has a quarter of the row"
    assert repeated_terms(row[:, :31], column[:31]) is None, "few terms"
    assert repeated_terms(np.zeros((1, 40)), column) is None, "zeros do not err"


def test_products_below_the_normal_range_are_lost() -> None:
    a, b = np.array([[2.0**-80, 0.0], [1.0, 0.0]]), np.array([[2.0**-60], [5.0]])
    assert lost_to_underflow(a, b, FLOAT32).tolist() == [[2 * FLOAT32.tiny], [0.0]]
    assert np.all(lost_to_underflow(a[1:], b, FLOAT32) == 0)


def test_what_may_overflow_is_infinite() -> None:
    top = FLOAT32.max
    found = overflow_to_infinity(np.array([top / 2, top * 0.51, -top * 0.51, 1.0]), FLOAT32)
    assert found.tolist() == [top / 2, np.inf, -np.inf, 1.0]


def test_equal_values_have_equal_signs_in_every_second_draw() -> None:
    signs = RandomStream().signs_of(np.full(64, 3.0))
    assert np.all(signs[::2] == signs[::2, :1])
    assert not np.all(signs[1::2] == signs[1::2, :1])
    opposite = RandomStream().signs_of(np.array([3.0, -3.0] * 32))
    assert np.all(opposite[::2, 0] == -opposite[::2, 1])
    for values in (np.arange(1.0, 65.0), np.arange(64.0, 0.0, -1.0)):
        assert np.array_equal(RandomStream().signs_of(values), RandomStream().signs((64,))), "no value is that of its neighbour"


def test_a_decision_is_open_only_where_the_draws_differ() -> None:
    condition = np.ones((len(ROUNDING_FACTORS), 3), dtype=bool)
    condition[5, 1] = False
    chosen = RandomStream().either(condition, np.ones(1), np.zeros(1))
    assert np.all(chosen[:, [0, 2]] == 1)
    assert 0 < chosen[:, 1].mean() < 1
    tied = RandomStream().either(np.ones((1, 2), bool), np.ones(1), np.zeros(1), tie=np.array([[False, True]]))
    assert np.all(tied[:, 0] == 1)
    assert 0 < tied[:, 1].mean() < 1
    scaled = RandomStream(is_scaled=True).either(condition, np.ones(1), np.zeros(1))
    assert np.isnan(scaled[:, 1]).all()


def test_stored_copies_of_a_sample_are_summed() -> None:
    """Six terms of 1 that are stored in 16 bits, and their sums: the draws lie beside 6."""
    narrow = Arithmetic.of("bfloat16", "eager")
    x = Sample.input(np.ones((2, 3)), narrow, RandomStream()).copied(2, -1)
    assert x.shape == (2, 6)
    total = x.summed_copies(-1)
    assert total.shape == (2,)
    far = np.abs(total.value[:DRAWS] - 6)
    assert 0 < far.max() < 6 * 6 * FORMATS["bfloat16"].u


def test_the_marks_of_a_sample_are_as_large_as_they_say() -> None:
    """As root sums of squares of single roundings."""

    def spread(x: Sample, value: float) -> float:
        return float(np.sqrt(np.mean(np.square(np.broadcast_to(x.value, (40, 64))[:DRAWS] - value)))) / FLOAT32.u

    x = Sample.input(np.full(64, 4.0) + np.arange(64) * 0.0, WIDE, RandomStream())
    assert spread(x.in_bits(), 4.0) == pytest.approx(2 * 4)
    assert spread(x.through_quotient(), 4.0) == pytest.approx(np.sqrt(2) * 4)
    assert spread(x.interpolated(x, x * 0.0), 4.0) == pytest.approx(np.sqrt(3) * 4, rel=0.05)
    assert spread(x.either(x.in_bits()), 4.0) == spread(x.in_bits().either(x), 4.0) == pytest.approx(2 * 4)
    joined = x.joined(Sample.input(np.full(64, 2.0), WIDE, x.stream), 8)
    assert spread(joined, 6.0) == pytest.approx(np.hypot(6, np.sqrt(8) * 2), rel=0.2)
    counts = np.arange(64) * 0.0 + 5
    tallied = x.tallied([], -0.5, counts)
    assert spread(tallied, 1.5) == pytest.approx((5 * 4 + (5 + 14) * 0.5) / np.sqrt(5))


def test_samples_are_joined_along_the_axis_that_numpy_takes() -> None:
    """Along the first one, if none is given: an equation that the search makes may name none."""
    stream = RandomStream()
    x, y = (Sample.input(np.full((2, 3), value), WIDE, stream) for value in (1.0, 2.0))
    joins: tuple[Any, ...] = (np.concatenate, np.stack)
    for join in joins:
        for axis in ({}, {"axis": 0}, {"axis": 1}, {"axis": -1}):
            joined = join([x, y], **axis)
            assert np.array_equal(joined.value[0], join([np.full((2, 3), 1.0), np.full((2, 3), 2.0)], **axis)), (join, axis)


def test_samples_are_rolled_along_the_axis_that_numpy_takes() -> None:
    """A deviation of silu rolls its argument, and the search puts it into equations of which silu is a part."""
    values = np.arange(6.0).reshape(2, 3)
    x = Sample.input(values, WIDE, RandomStream())
    rolled = [
        (np.roll(x, 1), np.roll(values, 1)),
        (np.roll(x, 1, -1), np.roll(values, 1, -1)),
        (np.roll(x, 2, axis=1), np.roll(values, 2, axis=1)),
        (np.roll(x, -1, axis=0), np.roll(values, -1, axis=0)),
    ]
    for found, expected in rolled:
        assert np.array_equal(found.value[0], expected)
