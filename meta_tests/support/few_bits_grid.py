"""The exhaustive grid of operations on numbers in few bits: all codes, all numbers of sixteen bits, and all midpoints."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from reference_numpy._narrow import spread
from spec_tests.operations._narrow import BLOCKS, list_midpoints, shape_of_scales
from spec_tests.operations.unpack_int4 import ORDERS, join_nibbles
from spec_tests.specification.float_errors import ignored_float_errors
from spec_tests.specification.formats import FORMATS
from spec_tests.specification.narrow_formats import ELEMENT_FORMATS, NARROW_FORMATS, NarrowFormat

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
SCALES = ("float32", "float8_e8m0fnu", "float8_e4m3fn")
TINY = FORMATS["float32"].tiny
OTHER_PAIRS = (
    *(("float8_e4m3fn", "float8_e5m2"), ("float8_e5m2", "float4_e2m1fn")),
    *(("int8", "int4"), ("uint8", "int8"), ("int4", "uint4")),
)
WIDE_PARTNERS = ("float8_e4m3fn", "float8_e4m3fnuz", "float4_e2m1fn", "int8", "int4", "uint4")


def list_calls(operation: str, dtype: str) -> Iterator[Arguments]:
    """Yield the calls of the grid of an operation, in the dtype of its wide arrays."""
    return _CALLS[operation](dtype, np.random.default_rng(0))


def list_sixteen_bits(dtype: str) -> np.ndarray:
    """Return the numbers of all codes of float16, or of bfloat16 in other dtypes, with 0 for what is not finite."""
    codes = np.arange(1 << 16, dtype=np.uint16)
    with ignored_float_errors():
        found = codes.view(np.float16) if dtype == "float16" else (codes.astype(np.uint32) << 16).view(np.float32)
        return np.where(np.isfinite(found), found, 0.0).astype(np.float64)


def list_finite(f: NarrowFormat) -> np.ndarray:
    """Return the finite numbers of all codes."""
    return f.numbers[np.isfinite(f.numbers)]


def list_around_midpoints(f: NarrowFormat, dtype: str) -> np.ndarray:
    """Return every midpoint of a format, and the numbers of the dtype beside it."""
    points = list_midpoints(f)
    return np.concatenate([points * (1 + side * 2.0 ** (1 - FORMATS[dtype].precision)) for side in (-1, 0, 1)])


def lay(numbers: np.ndarray, rng: np.random.Generator, columns: int) -> np.ndarray:
    """Return a matrix of all the numbers in a random order, whose last row repeats some."""
    rows = -(-numbers.size // columns)
    return np.resize(rng.permutation(numbers), (rows, columns))


def powers(rng: np.random.Generator, shape: tuple[int, ...], low: int, high: int) -> np.ndarray:
    return np.asarray(2.0 ** rng.integers(low, high + 1, shape))


def _fitting(f: NarrowFormat) -> tuple[str, ...]:
    """Return the formats of scales that go with a format."""
    return SCALES[:1] if f.is_integer else SCALES


def _optional(f: NarrowFormat, scale_dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield the optional arrays: none, then a zero point or a global scale."""
    yield {}
    if f.is_integer:
        yield {"zero_point": rng.integers(int(f.least), int(f.max), shape, endpoint=f.name != "uint4")}
    elif scale_dtype == "float8_e4m3fn":
        yield {"global_scale": np.asarray(0.5)}


def _list_quantize(dtype: str, rng: np.random.Generator) -> Iterator[Arguments]:
    blocks, most = itertools.cycle(BLOCKS), FORMATS[dtype].max
    for f in map(NARROW_FORMATS.__getitem__, ELEMENT_FORMATS):
        for scale_dtype in _fitting(f):
            all_numbers, around = lay(list_sixteen_bits(dtype), rng, 256), lay(list_around_midpoints(f, dtype), rng, 64)
            codes = lay(list_finite(f), rng, 64)
            for x, scaled in ((all_numbers, False), (around, True), (codes, True)):
                block = next(blocks)
                of_scale = shape_of_scales(x.shape, block)
                scale = powers(rng, of_scale, -3, 3)
                for optional in _optional(f, scale_dtype, of_scale, rng):
                    by = spread(scale, block, x.shape) * optional.get("global_scale", 1.0) if scaled else 1.0
                    given = {"dtype": f.name, "block": block, "scale_dtype": scale_dtype, **optional}
                    yield (FORMATS[dtype].round(np.clip(x * by, -most, most)), scale), given


def _list_dequantize(dtype: str, rng: np.random.Generator) -> Iterator[Arguments]:
    blocks = itertools.cycle(BLOCKS)
    for f in map(NARROW_FORMATS.__getitem__, ELEMENT_FORMATS):
        codes, given = list_finite(f), {"q_dtype": f.name, "dtype": dtype}
        top = int(np.floor(np.log2(FORMATS[dtype].max / (4 * f.max))))
        for scale_dtype in _fitting(f):
            q, block = lay(codes, rng, 64), next(blocks)
            of_scale = shape_of_scales(q.shape, block)
            for optional in _optional(f, scale_dtype, of_scale, rng):
                yield (
                    (q, powers(rng, of_scale, -6, min(top, 3))),
                    {**given, "scale_dtype": scale_dtype, "block": block, **optional},
                )
            numbers = NARROW_FORMATS[scale_dtype].numbers if scale_dtype != "float32" else powers(rng, (32,), -20, 20) * 1.375
            scales = numbers[(numbers > 0) & (numbers <= 2.0**top)][:, None]  # each with every code
            yield (np.tile(codes, (scales.size, 1)), scales), {**given, "scale_dtype": scale_dtype, "block": (1, None)}
        if f.is_integer:
            zeros = np.arange(int(f.least), int(f.max) + (f.name != "uint4"))[:, None]  # each with every code
            scale, q = np.full(zeros.shape, 0.375), np.tile(codes, (zeros.size, 1))
            bias = np.linspace(-3, 3, zeros.size).astype(np.float32).astype(np.float64)[:, None]
            for optional in ({"zero_point": zeros}, {"bias": bias}, {"zero_point": zeros, "bias": bias}):
                yield (q, scale), {**given, "scale_dtype": "float32", "block": (1, None), **optional}


def _list_rules(f: NarrowFormat) -> Iterator[dict[str, Any]]:
    """Yield what dynamic_quantize takes with a format: formats and rules of scales, floors, and whether there is a zero point."""
    if f.is_integer:
        yield from ({"symmetric": value} for value in {"int8": (True, False), "int4": (True,)}.get(f.name, (False,)))
        return
    yield {"scale_dtype": "float32"}
    yield {"scale_dtype": "float32", "eps": 2.0**-4}
    yield from ({"scale_dtype": "float8_e8m0fnu", "scale_rounding": rule} for rule in ("rceil", "floor", "even"))
    yield {"scale_dtype": "float8_e4m3fn"}
    yield {"scale_dtype": "float8_e4m3fn", "global_scale": np.asarray(0.5)}


def _list_dynamic_quantize(dtype: str, rng: np.random.Generator) -> Iterator[Arguments]:
    blocks = itertools.cycle(BLOCKS)
    numbers = list_sixteen_bits(dtype)
    size = np.log2(np.maximum(np.abs(numbers), TINY * TINY))
    for f in map(NARROW_FORMATS.__getitem__, ELEMENT_FORMATS):
        for rule in _list_rules(f):
            near = numbers[np.argsort(size + rng.uniform(0, 4, size.size))].reshape(256, 256)  # of one size in each row
            yield (near,), {"dtype": f.name, "block": (1, 32) if next(blocks)[0] == 1 else (4, 64), **rule}
            inside = list_around_midpoints(f, dtype)
            low = f.least if rule.get("symmetric") is False else -f.max
            x = lay(inside[(inside > low) & (inside < f.max)], rng, 62)
            x = np.hstack([np.full((len(x), 1), low), x, np.full((len(x), 1), f.max)])  # so that scales are powers of two
            x = x * powers(rng, (len(x), 1), -3, 3 if dtype != "float16" else 0)
            yield (FORMATS[dtype].round(x),), {"dtype": f.name, "block": (1, None), **rule}
            y = np.zeros((9, 40))
            y[2:, 5:] = FORMATS[dtype].round(rng.uniform(-8, 8, (7, 35)))
            yield (y,), {"dtype": f.name, "block": next(blocks), **rule}


def _list_scaled_matmul(dtype: str, rng: np.random.Generator) -> Iterator[Arguments]:
    pairs = [*((name, name) for name in ELEMENT_FORMATS), *OTHER_PAIRS, *((dtype, name) for name in WIDE_PARTNERS)]
    for of_a, of_b in pairs:
        a, b = NARROW_FORMATS.get(of_a), NARROW_FORMATS[of_b]
        left = FORMATS[dtype].round(rng.normal(0, 1, 300)) if a is None else list_finite(a)
        yield _multiply(left[:, None], list_finite(b)[:, None], (of_a, of_b), dtype, ((1, None), (None, None)), rng)
        for blocks in (((1, 16), (2, 3)), ((2, 3), (1, 32)), ((None, None), (1, None)), ((7, 5), (4, 64)), ((1, 1), (3, 1))):
            for more in range(3):
                small = [rng.integers(-2 if f is None or f.is_signed else 0, 3, (9, 70)) for f in (a, b)]
                halves = [x / 2 if f is None or not f.is_integer else x for x, f in zip(small, (a, b), strict=True)]
                yield _multiply(*halves, (of_a, of_b), dtype, blocks, rng, more=more)


def _multiply(
    a: np.ndarray, b: np.ndarray, names: tuple[str, str], dtype: str, blocks: Any, rng: np.random.Generator, more: int = 0
) -> Arguments:
    """Return a product, whose scales are powers of two. more: with zero points or global scales, and then with a bias too."""
    given: dict[str, Any] = {"a_dtype": names[0], "b_dtype": names[1], "dtype": dtype, "block_a": None, "block_b": blocks[1]}
    for side, x, name, block in zip("ab", (a, b), names, blocks, strict=True):
        f = NARROW_FORMATS.get(name)
        if f is None:
            continue
        low = -int(np.log2(max(1.0, np.max(np.abs(x)))))
        of_scale = shape_of_scales(x.shape, block)
        scale_dtype = SCALES[0] if f.is_integer else SCALES[1 + (more + (side == "a")) % 2] if low >= -4 else SCALES[0]
        given |= {f"scale_{side}": powers(rng, of_scale, max(low - 1, -6), max(low - 1, -6) + 2), f"block_{side}": block}
        given[f"scale_dtype_{side}"] = scale_dtype
        if more and f.is_integer:
            given[f"zero_point_{side}"] = rng.integers(0, 3, of_scale)
        elif more and scale_dtype == "float8_e4m3fn":
            given[f"global_scale_{side}"] = np.asarray(0.5)
    if more == 2:
        given["bias"] = FORMATS[dtype].round(rng.normal(0, 2, len(b)))
    return (a, b), given


def _list_unpack_int4(dtype: str, rng: np.random.Generator) -> Iterator[Arguments]:
    nibbles = np.concatenate([np.where(np.arange(8) == place, value, 0)[None] for place in range(8) for value in range(16)])
    for order, signed in itertools.product(ORDERS, (False, True)):
        for words in (join_nibbles(nibbles).reshape(4, 32), join_nibbles(rng.integers(0, 16, (3, 5, 7, 8)))):
            yield (words,), {"order": order, "signed": signed}


def _list_swizzle_scales(dtype: str, rng: np.random.Generator) -> Iterator[Arguments]:
    for shape in ((1, 1), (31, 3), (33, 4), (128, 4), (129, 5), (127, 9), (256, 8), (300, 13)):
        yield (rng.integers(1, 256, shape),), {}


_CALLS: Mapping[str, Callable[[str, np.random.Generator], Iterator[Arguments]]] = MappingProxyType(
    {
        "quantize": _list_quantize,
        "dequantize": _list_dequantize,
        "dynamic_quantize": _list_dynamic_quantize,
        "scaled_matmul": _list_scaled_matmul,
        "unpack_int4": _list_unpack_int4,
        "swizzle_scales": _list_swizzle_scales,
    }
)
OPERATIONS = tuple(_CALLS)
