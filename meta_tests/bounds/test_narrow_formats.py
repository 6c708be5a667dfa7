"""Formats of few bits: their codes are those of ml_dtypes, and rounding to them is that of exact rationals."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from reference_numpy import _narrow
from spec_tests.specification.narrow_formats import (
    ELEMENT_FORMATS,
    FLOATING_ELEMENTS,
    NARROW_FORMATS,
    SCALE_FORMATS,
    NarrowFormat,
    find_format,
)

FLOATING = [name for name, f in NARROW_FORMATS.items() if not f.is_integer]


def finite_numbers(f: NarrowFormat) -> np.ndarray:
    return np.unique(f.numbers[np.isfinite(f.numbers)])


def points(f: NarrowFormat) -> np.ndarray:
    """Return every number of a format, every midpoint, the doubles beside them, and numbers beyond the largest."""
    finite = finite_numbers(f)
    last = finite[-1] - finite[-2]
    midpoints = np.concatenate([(finite[1:] + finite[:-1]) / 2, [finite[-1] + last / 2, finite[0] - last / 2]])
    beside = [np.nextafter(midpoints, side) for side in (-np.inf, np.inf)]
    barely = midpoints * (1 + 2.0**-40)  # which float32 rounds to the midpoint
    return np.concatenate([finite, midpoints, *beside, barely, [1e-300, -1e-300, 1e300, -1e300, f.max * 1.01, f.least - 0.6]])


def round_exactly(f: NarrowFormat, x: float) -> float:
    """Return the nearest number by rationals. Of two it is the one with the even code, or the even integer."""
    finite = finite_numbers(f)
    place = int(np.clip(np.searchsorted(finite, x), 1, len(finite) - 1))
    below, above = (float(finite[place + side]) for side in (-1, 0))
    down, up = Fraction(x) - Fraction(below), Fraction(above) - Fraction(x)
    if down != up:
        return below if down < up else above
    return next(y for y in (below, above) if int(f.encode(y)) % 2 == 0)


@pytest.mark.parametrize("name", FLOATING)
def test_every_code_is_that_of_ml_dtypes(name: str) -> None:
    f, codes = NARROW_FORMATS[name], np.arange(1 << NARROW_FORMATS[name].bits, dtype=np.uint8)
    expected = codes.view(getattr(ml_dtypes, name)).astype(np.float64)
    found = f.decode(codes)
    assert np.array_equal(found, expected, equal_nan=True)
    assert np.array_equal(np.signbit(found)[~np.isnan(found)], np.signbit(expected)[~np.isnan(expected)])
    assert np.array_equal(f.encode(found)[~np.isnan(found)], codes[~np.isnan(found)])
    assert np.isnan(f.decode(f.encode(np.nan))) == np.isnan(found).any()


@pytest.mark.parametrize(
    ("name", "least", "largest"), [("int8", -128, 127), ("int4", -8, 7), ("uint8", 0, 255), ("uint4", 0, 15)]
)
def test_the_codes_of_integers_are_two_s_complements(name: str, least: int, largest: int) -> None:
    f, numbers = NARROW_FORMATS[name], np.arange(least, largest + 1)
    assert np.array_equal(f.decode(f.encode(numbers)), numbers)
    assert np.array_equal(f.encode(numbers), numbers % (1 << f.bits))
    assert np.array_equal(finite_numbers(f), numbers)


@pytest.mark.parametrize("name", ELEMENT_FORMATS)
def test_rounding_is_that_of_rationals(name: str) -> None:
    f = NARROW_FORMATS[name]
    x = points(f)
    expected = np.array([round_exactly(f, float(each)) for each in x])
    assert np.array_equal(f.round(x), expected)
    assert np.array_equal(f.round(f.numbers), f.numbers, equal_nan=True)


@pytest.mark.parametrize("name", FLOATING_ELEMENTS)
def test_the_equations_round_as_the_suite_does(name: str) -> None:
    f = NARROW_FORMATS[name]
    assert np.array_equal(_narrow.nearest(points(f), name), f.round(points(f)))
    assert np.isnan(_narrow.nearest(np.nan, name))


def test_the_integers_of_the_equations_are_the_suite_s() -> None:
    integers = {name: (f.least, f.max) for name, f in NARROW_FORMATS.items() if f.is_integer}
    assert dict(_narrow.INTEGERS) == integers
    assert {*_narrow.FLOATS} == {*FLOATING_ELEMENTS}


def test_rounding_goes_from_float64_in_one_step() -> None:
    f, x = NARROW_FORMATS["float8_e4m3fn"], 1.0625 * (1 + 2.0**-40)
    assert f.round(x) == 1.125
    assert f.round(np.float32(x)) == 1.0  # what a conversion through float32 gives


def test_infinities_and_nan_stay_what_they_are() -> None:
    for f in NARROW_FORMATS.values():
        assert np.array_equal(f.round([np.inf, -np.inf, np.nan]), [np.inf, -np.inf, np.nan], equal_nan=True)


def test_a_number_is_shown_with_its_code() -> None:
    assert NARROW_FORMATS["float8_e4m3fn"].describe(0.0625, "0.0625") == "0.0625 (code 0x18, bits 0 0011 000)"
    assert NARROW_FORMATS["float4_e2m1fn"].describe(-6.0, "-6") == "-6 (code 0xf, bits 1 11 1)"
    assert NARROW_FORMATS["float8_e4m3fn"].describe(17.0, "17") == "17"  # no number of the format
    assert NARROW_FORMATS["int8"].describe(-3.0, "-3") == "-3"


def test_a_format_is_found_by_its_name() -> None:
    assert [find_format(name).name for name in SCALE_FORMATS] == [*SCALE_FORMATS]
