"""The formats: rounding to nearest even, gaps, what may be flushed, and which classes store what."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from spec_tests.specification.formats import FORMATS, PRECISIONS, Arithmetic, Format, JoinedFormat, at_least_float32

NUMPY = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
DRAWN = np.random.default_rng(0)


def numbers(f: Format) -> np.ndarray:
    """Return numbers of all sizes, with the ties and the neighbours of numbers of the format."""
    wide = DRAWN.standard_normal(4000) * 2.0 ** DRAWN.integers(f.emin - f.precision - 2, f.emax + 2, 4000).astype(float)
    held = np.ldexp(DRAWN.integers(1 << (f.precision - 1), 1 << f.precision, 500).astype(float), 1 - f.precision)
    ties = held * (1 + 0.0) + np.ldexp(1.0, -f.precision)
    ends = np.array(
        [0.0, -0.0, f.tiny, f.quantum, f.quantum / 2, f.quantum * 0.75, f.max, f.max * (1 + f.u), math.inf, -math.inf]
    )
    return np.concatenate([wide, held, ties, np.nextafter(ties, 0), np.nextafter(ties, 9), ends, -ends])


@pytest.mark.parametrize("name", NUMPY)
def test_rounding_is_that_of_the_dtype(name: str) -> None:
    f = FORMATS[name]
    x = numbers(f)
    with np.errstate(all="ignore"):
        if name == "bfloat16":
            x = x.astype(np.float32).astype(np.float64)  # so that ml_dtypes rounds once
        expected = x.astype(NUMPY[name]).astype(np.float64)
    assert np.array_equal(f.round(x), expected)


@pytest.mark.parametrize("bits", [4, 8, 12, 24])
def test_rounding_in_other_formats_is_to_the_nearest_and_to_even(bits: int) -> None:
    f = Format(f"{bits} bits", bits, -40, 40)  # which NumPy lacks
    x = numbers(f)
    x = x[np.isfinite(x) & (np.abs(x) <= f.max)]
    found = f.round(x)
    assert np.array_equal(f.round(found), found)
    spacing = np.maximum(2.0 ** (np.floor(np.log2(np.maximum(np.abs(x), f.quantum))) - bits + 1), f.quantum)
    assert np.all(np.abs(found - x) <= spacing / 2)
    is_tie = np.abs(found - x) == spacing / 2
    assert is_tie.any()
    assert np.all(np.mod(found / spacing, 2)[is_tie] == 0)


@pytest.mark.parametrize(("x", "expected"), [(2.0**41 * 0.9999, math.inf), (math.nan, math.nan), (-math.inf, -math.inf)])
def test_rounding_at_the_ends(x: float, expected: float) -> None:
    assert np.array_equal(Format("8 bits", 8, -40, 40).round(np.array([x])), [expected], equal_nan=True)


@pytest.mark.parametrize(
    ("name", "u", "tiny", "largest"),
    [
        ("float64", 2.0**-53, 2.0**-1022, float(np.finfo(np.float64).max)),
        ("float32", 2.0**-24, 2.0**-126, float(np.finfo(np.float32).max)),
        ("float16", 2.0**-11, 2.0**-14, 65504.0),
        ("bfloat16", 2.0**-8, 2.0**-126, float(ml_dtypes.finfo(ml_dtypes.bfloat16).max)),
    ],
)
def test_the_constants_of_a_format(name: str, u: float, tiny: float, largest: float) -> None:
    f = FORMATS[name]
    assert (f.u, f.tiny, f.max) == (u, tiny, largest)
    assert f.quantum == 2 * tiny * u
    assert f.flush == (f.quantum / 2 if name == "float16" else f.tiny)


@pytest.mark.parametrize("name", ["float32", "float16"])
def test_half_a_gap_is_half_of_numpys_spacing(name: str) -> None:
    f, dtype = FORMATS[name], NUMPY[name]
    x = f.round(np.abs(numbers(f)))
    x = x[(x > 0) & (x < f.max)]
    up = np.nextafter(x.astype(dtype), dtype(math.inf)).astype(np.float64)
    assert np.array_equal(f.half_gap(x, np.full(x.shape, math.inf)), (up - x) / 2)
    down = np.nextafter(x.astype(dtype), dtype(0)).astype(np.float64)
    assert np.array_equal(f.half_gap(x, np.zeros(x.shape)), (x - down) / 2)


def test_a_vector_of_several_formats_has_each_in_its_place() -> None:
    joined, x = JoinedFormat([2, 0, 3], [FORMATS["bfloat16"], FORMATS["float64"], FORMATS["float32"]]), np.full(5, 1 / 3)
    narrow, wide = float(FORMATS["bfloat16"].round(1 / 3)), float(np.float32(1 / 3))
    assert joined.round(x).tolist() == [narrow, narrow, wide, wide, wide]
    assert joined.u.tolist() == [2.0**-8] * 2 + [2.0**-24] * 3
    assert [joined.at((i,)).name for i in range(5)] == ["bfloat16"] * 2 + ["float32"] * 3
    gaps = joined.half_gap(np.ones(5), np.full(5, 2.0))
    assert gaps.tolist() == [2.0**-8] * 2 + [2.0**-24] * 3


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("dtype", FORMATS)
def test_which_class_stores_what(dtype: str, precision: str) -> None:
    made, f = Arithmetic.of(dtype, precision), FORMATS[dtype]
    is_narrow = dtype in ("bfloat16", "float16")
    assert made.compute == (FORMATS["float32"] if is_narrow else f) == at_least_float32(f)
    assert made.precision == (precision if is_narrow else "fused")
    assert made.rounded_storage == (f if is_narrow and precision != "fused" else None)
    assert made.step_storage == (f if is_narrow and precision == "eager" else None)
    wide = Arithmetic(made.storage, made.compute, made.precision, wide=True)
    assert wide.step_storage is None
    assert wide.rounded_storage == made.rounded_storage
    assert Arithmetic.of(dtype, precision, widens=True).widens is is_narrow
