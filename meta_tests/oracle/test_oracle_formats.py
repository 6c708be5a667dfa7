"""The equations of numbers in few bits, against exact rationals."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from reference_numpy._narrow import count_blocks, spread
from reference_numpy.dequantize import dequantize
from reference_numpy.dynamic_quantize import dynamic_quantize
from reference_numpy.quantize import quantize
from reference_numpy.scaled_matmul import scaled_matmul
from reference_numpy.swizzle_scales import swizzle_scales
from reference_numpy.unpack_int4 import unpack_int4
from spec_tests.specification.narrow_formats import ELEMENT_FORMATS, NARROW_FORMATS

from ..support.sixty_digits import rng

BLOCKS = [(None, None), (1, None), (1, 4), (2, 3), (128, 128), (None, 1)]


def round_exactly(t: Fraction, dtype: str, zero_point: int) -> float:
    """Return the nearest of all numbers of the format, the even one of two, by comparing it with each of them."""
    f = NARROW_FORMATS[dtype]
    if f.is_integer:
        return float(min(max(round(t) + zero_point, int(f.least)), int(f.max)))  # Python rounds halves to even
    finite = [float(y) for y in np.unique(f.numbers[np.isfinite(f.numbers)])]
    return min(finite, key=lambda y: (abs(Fraction(y) - t), int(f.encode(y)) % 2))


def find_block(place: int, size: int | None) -> int:
    return 0 if size is None else place // size


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("dtype", ELEMENT_FORMATS)
def test_quantize_is_that_of_rationals(dtype: str, block: Any) -> None:
    f, shape = NARROW_FORMATS[dtype], (3, 7)
    draws = rng(5)
    blocks = tuple(count_blocks(n, size) for n, size in zip(shape, block, strict=True))
    scale = np.where(draws.random(blocks) < 0.5, 2.0 ** draws.integers(-3, 4, blocks), draws.uniform(0.1, 3, blocks)).astype(
        np.float32
    )
    finite = np.unique(f.numbers[np.isfinite(f.numbers)])
    t = draws.choice(np.concatenate([finite, (finite[1:] + finite[:-1]) / 2, [2 * f.max, -2 * f.max]]), shape)
    x = (t * spread(scale, block, shape)).astype(np.float32)
    z = draws.integers(int(f.least), int(f.max) + 1, blocks) if f.is_integer else None
    g = np.asarray(2.0) if not f.is_integer else None
    found = quantize(x, scale, z, g, dtype=dtype, block=block)
    for i, j in itertools.product(range(shape[0]), range(shape[1])):
        at = (find_block(i, block[0]), find_block(j, block[1]))
        exact = Fraction(float(x[i, j])) / (Fraction(float(scale[at])) * (1 if g is None else 2))
        assert found[i, j] == round_exactly(exact, dtype, 0 if z is None else int(z[at])), (i, j)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("dtype", ELEMENT_FORMATS)
def test_dequantize_is_that_of_rationals(dtype: str, block: Any) -> None:
    f, shape = NARROW_FORMATS[dtype], (3, 7)
    draws = rng(6)
    blocks = tuple(count_blocks(n, size) for n, size in zip(shape, block, strict=True))
    scale = draws.uniform(0.1, 3, blocks).astype(np.float32)
    q = draws.choice(f.numbers[np.isfinite(f.numbers)], shape)
    z = draws.integers(int(f.least), int(f.max) + 1, blocks) if f.is_integer else None
    b = draws.uniform(-9, 9, blocks).astype(np.float32) if f.is_integer else None
    g = None if f.is_integer else np.asarray(1.75)
    found = dequantize(q, scale, z, b, g, q_dtype=dtype, block=block)
    for i, j in itertools.product(range(shape[0]), range(shape[1])):
        at = (find_block(i, block[0]), find_block(j, block[1]))
        exact = (Fraction(float(q[i, j])) - (0 if z is None else int(z[at]))) * Fraction(float(scale[at]))
        exact = exact * Fraction(7, 4) if b is None else exact + Fraction(float(b[at]))
        assert abs(Fraction(float(found[i, j])) - exact) <= abs(exact) * Fraction(1, 2**50) + Fraction(1, 2**44), (i, j)


def find_scale(numbers: list[Fraction], dtype: str, kind: str, rule: str) -> Fraction:
    """Return the scale of a block, by trying all that there are in its format."""
    f, size = NARROW_FORMATS[dtype], max(map(abs, numbers))
    quotient = size / Fraction(f.max)
    if kind == "float32":
        return quotient
    if kind == "float8_e4m3fn":
        return Fraction(round_exactly(quotient, kind, 0))
    powers = [Fraction(2) ** s for s in range(-20, 21)]
    if rule == "rceil":
        return min(p for p in powers if quotient <= p)
    if rule == "even":  # half up, to as many bits as the format has
        step = max(p for p in powers if p <= size) * Fraction(2) ** (1 - f.precision)
        size = (size / step + Fraction(1, 2)).__floor__() * step
    return max(p for p in powers if p <= size) / 2**f.emax


@pytest.mark.rotating(one_in=4)
@pytest.mark.parametrize("block", BLOCKS[1:4])
@pytest.mark.parametrize("dtype", [name for name in ELEMENT_FORMATS if NARROW_FORMATS[name].is_signed])
@pytest.mark.parametrize("kind", ["float32", "rceil", "floor", "even", "float8_e4m3fn"])
def test_dynamic_quantize_is_that_of_rationals(dtype: str, kind: str, block: Any) -> None:
    f, shape = NARROW_FORMATS[dtype], (3, 7)
    if f.is_integer and kind != "float32":
        pytest.skip("scales of integers are float32")
    rule, scale_dtype = (kind, "float8_e8m0fnu") if kind in ("rceil", "floor", "even") else ("rceil", kind)
    draws = rng(8)
    x = (draws.standard_normal(shape) * 2.0 ** draws.integers(-2, 3, shape) * f.max / 8).astype(np.float32)
    x[0, 0], x[1, 1], x[2, 2] = f.max, 2.0 ** (f.emax + 1), 2.0 ** (f.emax + 1) * (1 - 2.0 ** -(f.precision + 1))
    q, scale = dynamic_quantize(x, dtype=dtype, block=block, scale_dtype=scale_dtype, scale_rounding=rule)
    for place in np.ndindex(scale.shape):
        inside = [(i, j) for i, j in np.ndindex(shape) if (find_block(i, block[0]), find_block(j, block[1])) == place]
        exact = find_scale([Fraction(float(x[at])) for at in inside], dtype, scale_dtype, rule)
        assert abs(Fraction(float(scale[place])) - exact) <= exact * Fraction(1, 2**51) * (kind == "float32"), place
        for at in inside:
            t = min(max(Fraction(float(x[at])) / exact, Fraction(-f.max)), Fraction(f.max))
            assert q[at] == round_exactly(t, dtype, 0), at


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint4"])
def test_zero_points_are_those_of_rationals(dtype: str, block: Any) -> None:
    f, shape = NARROW_FORMATS[dtype], (3, 7)
    x = (rng(9).standard_normal(shape) + 0.5).astype(np.float32)
    q, scale, zero_point = dynamic_quantize(x, dtype=dtype, block=block, symmetric=False)
    for place in np.ndindex(scale.shape):
        inside = [(i, j) for i, j in np.ndindex(shape) if (find_block(i, block[0]), find_block(j, block[1])) == place]
        numbers = [Fraction(float(x[at])) for at in inside] + [Fraction(0)]
        exact = (max(numbers) - min(numbers)) / int(f.max - f.least)
        z = min(max(int(f.least) - round(min(numbers) / exact), int(f.least)), int(f.max))
        assert abs(Fraction(float(scale[place])) - exact) <= exact * Fraction(1, 2**50), place
        assert zero_point[place] == z, place
        for at in inside:
            assert q[at] == round_exactly(Fraction(float(x[at])) / exact, dtype, z), at


def test_wrong_arguments_of_dynamic_quantize_are_named() -> None:
    for options, words in (({"dtype": "fp8"}, "dtype='fp8'"), ({"dtype": "int8", "scale_rounding": "up"}, "scale_rounding='up'")):
        with pytest.raises(ValueError, match=words):
            dynamic_quantize(np.ones((1, 2)), block=(1, None), **options)


@pytest.mark.parametrize("blocks", [*itertools.product(BLOCKS[:4], BLOCKS[:4])])
@pytest.mark.parametrize("pair", [("float8_e4m3fn", "float8_e5m2"), ("int8", "uint4"), ("bfloat16", "int4")])
def test_scaled_matmul_is_that_of_rationals(pair: tuple[str, str], blocks: Any) -> None:
    draws, operands = rng(7), []
    for shape, dtype, block in zip(((3, 9), (4, 9)), pair, blocks, strict=True):
        f = NARROW_FORMATS.get(dtype)
        if f is None:
            operands.append((draws.integers(-64, 64, shape) / 16, None, None, block))
            continue
        of_scale = tuple(count_blocks(n, size) for n, size in zip(shape, block, strict=True))
        z = draws.integers(int(f.least), int(f.max), of_scale) if f.is_integer else None
        q = draws.choice(f.numbers[np.isfinite(f.numbers)], shape)
        operands.append((q, draws.uniform(0.1, 3, of_scale).astype(np.float32), z, block))
    (a, s_a, z_a, block_a), (b, s_b, z_b, block_b) = operands
    bias, g = draws.integers(-9, 9, 4) / 2, None if "int" in pair[1] else np.asarray(1.75)
    options = {"a_dtype": pair[0], "b_dtype": pair[1], "block_a": None if s_a is None else block_a, "block_b": block_b}
    found = scaled_matmul(a, b, s_a, s_b, z_a, z_b, bias, None, g, **options)

    def exactly(operand: Any, i: int, k: int) -> Fraction:
        q, scale, z, block = operand
        at = (find_block(i, block[0]), find_block(k, block[1]))
        y = Fraction(float(q[i, k])) - (0 if z is None else int(z[at]))
        return y if scale is None else y * Fraction(float(scale[at]))

    for i, j in itertools.product(range(3), range(4)):
        terms = [exactly(operands[0], i, k) * exactly(operands[1], j, k) for k in range(9)]
        exact = sum(terms) * (1 if g is None else Fraction(7, 4)) + Fraction(float(bias[j]))
        size = sum(map(abs, terms)) + abs(Fraction(float(bias[j])))
        assert abs(Fraction(float(found[i, j])) - exact) <= 2 * size * Fraction(1, 2**48), (i, j)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"a_dtype": "float8", "b_dtype": "int8", "block_b": (1, None)}, "a_dtype='float8' is unknown"),
        ({"a_dtype": "int8", "b_dtype": "bfloat16", "block_b": (1, None)}, "b_dtype='bfloat16' is unknown"),
        ({"a_dtype": "int8", "b_dtype": "int8", "dtype": "int8", "block_b": (1, None)}, "dtype='int8' is unknown"),
        ({"a_dtype": "float32", "b_dtype": "int8", "block_b": (1, 2)}, r"b has 2 x 2 blocks of \(1, 2\)"),
    ],
)
def test_wrong_arguments_of_scaled_matmul_are_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        scaled_matmul(np.ones((3, 4)), np.ones((2, 4)), None, np.ones((1, 1)), **options)


@pytest.mark.parametrize(
    ("options", "scales", "words"),
    [
        ({"q_dtype": "float8", "block": (1, None)}, (1, 1), "q_dtype='float8' is unknown"),
        ({"q_dtype": "int8", "dtype": "float64", "block": (1, None)}, (2, 1), "dtype='float64' is unknown"),
        ({"q_dtype": "int8", "block": (1, 2)}, (1, 1), r"scale has shape \(1, 1\); q has 2 x 2 blocks of \(1, 2\)"),
    ],
)
def test_wrong_arguments_of_dequantize_are_named(options: dict[str, Any], scales: tuple[int, int], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        dequantize(np.ones((2, 4)), np.ones(scales), **options)


def test_the_empty_batch_and_one_element() -> None:
    assert quantize(np.zeros((0, 2, 3)), np.ones((0, 1, 1)), dtype="int8", block=(None, None)).shape == (0, 2, 3)
    assert quantize([[3.4]], [[1.0]], dtype="int4", block=(1, 32)).tolist() == [[3.0]]


def test_what_is_no_number_or_infinite() -> None:
    x = [[np.nan, np.inf, -np.inf, -0.0]]
    q = quantize(x, [[1.0]], dtype="float8_e5m2", block=(1, None))
    assert np.isnan(q[0, 0])
    assert q[0, 1:3].tolist() == [57344.0, -57344.0]
    assert np.signbit(q[0, 3])


@pytest.mark.parametrize(
    ("options", "scales", "words"),
    [
        ({"dtype": "float8", "block": (1, None)}, (1, 1), "dtype='float8' is unknown"),
        ({"dtype": "int8", "block": (1, 2)}, (1, 1), r"scale has shape \(1, 1\); x has 2 x 2 blocks of \(1, 2\)"),
    ],
)
def test_wrong_arguments_are_named(options: dict[str, Any], scales: tuple[int, int], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        quantize(np.ones((2, 4)), np.ones(scales), **options)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("order", ["sequential", "awq"])
def test_unpacked_numbers_are_those_that_were_packed(order: str, signed: bool) -> None:
    numbers = rng(7).integers(-8 if signed else 0, 8 if signed else 16, (3, 5, 8))
    packing = [0, 2, 4, 6, 1, 3, 5, 7] if order == "awq" else range(8)  # AutoAWQ packs number packing[j] at place j
    words = [[sum((int(w[i]) & 15) << 4 * j for j, i in enumerate(packing)) for w in row] for row in numbers]
    packed = np.array(words, dtype=np.int64).astype(np.uint32).view(np.int32)
    assert unpack_int4(packed, order=order, signed=signed).tolist() == numbers.reshape(3, 40).tolist()


@pytest.mark.parametrize(("m", "c"), [(1, 1), (128, 4), (129, 5), (300, 9)])
def test_swizzled_scales_stand_where_the_formula_says(m: int, c: int) -> None:
    scales = rng(8).integers(1, 256, (m, c)).astype(np.uint8)
    across = -(-c // 4)
    expected = np.zeros(512 * across * -(-m // 128), dtype=np.uint8)
    for r, k in itertools.product(range(m), range(c)):
        tile = r // 128 * across + k // 4
        expected[512 * tile + 16 * (r % 32) + 4 * (r % 128 // 32) + k % 4] = scales[r, k]
    assert np.array_equal(swizzle_scales(scales), expected)


def test_an_unknown_order_is_named() -> None:
    with pytest.raises(ValueError, match="order='gptq' is unknown; there are sequential and awq"):
        unpack_int4([0], order="gptq")
