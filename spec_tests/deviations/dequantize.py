"""What goes wrong with the numbers of dequantize: how codes are read."""

from typing import Any

import numpy as np

from reference_numpy._narrow import FLOATS, INTEGERS, nearest
from spec_tests.specification.formats import FORMATS
from spec_tests.specification.narrow_formats import NARROW_FORMATS

from . import deviation
from ._dequantized import redequantize
from ._quantized import step_at
from ._steps import make_rounder

TT_METAL = ("https://github.com/tenstorrent/tt-metal/issues/51971",)
CODE_VALUES = ("https://github.com/microsoft/onnxruntime/pull/29350",)


def _read_as(q: Any, dtype: str, other: str) -> Any:
    """Return the numbers that the codes of one format stand for in another."""
    y = NARROW_FORMATS[other].decode(NARROW_FORMATS[dtype].encode(np.where(np.isfinite(q), q, 0.0)))
    return np.where(np.isfinite(q), y, q)


@deviation("reference", "all_codes", seen=TT_METAL)
def subnormals_half_as_large(*arrays: Any, **options: Any) -> Any:
    """subnormal numbers are a binade too small.

    Shows: codes below the smallest normal number. Hides: larger ones; integers.
    """

    def halve(q: Any, dtype: str) -> Any:
        return np.where(np.abs(q) < 2.0 ** FLOATS[dtype][1], 0.5 * q, q) if dtype in FLOATS else q

    return redequantize(*arrays, **options, read=halve)


@deviation("reference", "all_codes")
def subnormals_flushed(*arrays: Any, **options: Any) -> Any:
    """subnormal numbers are read as zero.

    Shows: codes below the smallest normal number. Hides: larger ones; integers.
    """

    def flush(q: Any, dtype: str) -> Any:
        return np.where(np.abs(q) < 2.0 ** FLOATS[dtype][1], 0.0 * q, q) if dtype in FLOATS else q

    return redequantize(*arrays, **options, read=flush)


@deviation("reference", "all_codes", seen=TT_METAL)
def odd_fractions_truncated(*arrays: Any, **options: Any) -> Any:
    """the last bit of the fraction is lost.

    Shows: every second number of a floating format. Hides: the others; integers.
    """

    def clear(q: Any, dtype: str) -> Any:
        if dtype not in FLOATS:
            return q
        return np.where(np.isfinite(q), np.trunc(q / (2 * step_at(q, dtype))) * 2 * step_at(q, dtype), q)

    return redequantize(*arrays, **options, read=clear)


@deviation("reference", "all_codes", seen=CODE_VALUES)
def code_for_the_number(*arrays: Any, **options: Any) -> Any:
    """the code of a four-bit float is taken for its number: 0 to 7, and a sign.

    Shows: float4_e2m1fn. Hides: other formats.
    """

    def read(q: Any, dtype: str) -> Any:
        if dtype != "float4_e2m1fn":
            return q
        return np.copysign(NARROW_FORMATS[dtype].encode(np.abs(q)).astype(float), q)

    return redequantize(*arrays, **options, read=read)


@deviation("reference", "all_codes")
def read_as_fnuz(*arrays: Any, **options: Any) -> Any:
    """float8_e4m3fn is read as float8_e4m3fnuz, whose exponents are one less.

    Shows: float8_e4m3fn. Hides: other formats.
    """
    return redequantize(*arrays, **options, read=lambda q, dtype: 0.5 * q if dtype == "float8_e4m3fn" else q)


@deviation("reference", "all_codes")
def read_as_the_other_float8(*arrays: Any, **options: Any) -> Any:
    """the codes of float8_e5m2 are read as those of float8_e4m3fn.

    Shows: float8_e5m2. Hides: other formats.
    """

    def read(q: Any, dtype: str) -> Any:
        return np.nan_to_num(_read_as(q, dtype, "float8_e4m3fn")) if dtype == "float8_e5m2" else q

    return redequantize(*arrays, **options, read=read)


@deviation("reference", "all_codes")
def sign_of_integers_lost(*arrays: Any, **options: Any) -> Any:
    """signed integers are read as unsigned ones.

    Shows: int8 and int4 below 0. Hides: other numbers.
    """

    def read(q: Any, dtype: str) -> Any:
        low, high = INTEGERS.get(dtype, (0, 0))
        return np.where(q < 0, q + (high - low + 1), q) if low < 0 else q

    return redequantize(*arrays, **options, read=read)


@deviation("reference", "all_codes")
def unsigned_integers_signed(*arrays: Any, **options: Any) -> Any:
    """unsigned integers are read as signed ones.

    Shows: uint8 from 128 on, uint4 from 8 on. Hides: other numbers.
    """

    def read(q: Any, dtype: str) -> Any:
        low, high = INTEGERS.get(dtype, (-1, 0))
        return np.where(q > high // 2, q - (high + 1), q) if low == 0 else q

    return redequantize(*arrays, **options, read=read)


@deviation("reference", "all_codes")
def nibbles_exchanged(*arrays: Any, **options: Any) -> Any:
    """the two numbers of each byte are exchanged: the first is taken from the upper half.

    Shows: formats of four bits. Hides: others; neighbours that are equal.
    """

    def exchange(q: Any, dtype: str) -> Any:
        if NARROW_FORMATS[dtype].bits != 4:
            return q
        n = q.shape[-1]
        places = np.arange(n) ^ 1
        return np.take(q, np.where(places < n, places, np.arange(n)), axis=-1)

    return redequantize(*arrays, **options, read=exchange)


@deviation("reference", "all_codes", "odd")
def sign_and_magnitude(*arrays: Any, **options: Any) -> Any:
    """the highest bit of a signed integer is taken for a sign, and the others for its size, where they are its two's complement.

    Shows: int4 and int8 below 0. Hides: others; −4 of int4, which both read alike.
    """

    def read(q: Any, dtype: str) -> Any:
        least = INTEGERS[dtype][0] if dtype in INTEGERS else 0
        return np.where(q < 0, least - q, q)

    return redequantize(*arrays, **options, read=read)


@deviation("reference", seen=("https://github.com/kekzl/imp/pull/722",))
def lower_halves_first(*arrays: Any, **options: Any) -> Any:
    """the lower halves of the bytes of a block hold its first numbers, and the upper halves its others, as in GGML's Q4_0.

    Shows: formats of four bits. Hides: others; blocks of two numbers.
    """
    block = options["block"]

    def read(q: Any, dtype: str) -> Any:
        if NARROW_FORMATS[dtype].bits != 4:
            return q
        n = q.shape[-1]
        size = min(block[1] or n, n)
        places = np.arange(n)
        at, half = places % size, -(-size // 2)
        taken = places - at + np.where(at < half, 2 * at, 2 * (at - half) + 1)
        return np.take(q, np.where(taken < n, taken, places), axis=-1)

    return redequantize(*arrays, **options, read=read)


@deviation("reference", "all_codes", "odd")
def sign_bit_dropped(*arrays: Any, **options: Any) -> Any:
    """a table of the numbers from 0 up is indexed without the sign bit.

    Shows: negative floats. Hides: others.
    """
    return redequantize(*arrays, **options, read=lambda q, dtype: np.abs(q) if dtype in FLOATS else q)


@deviation("reference", "odd")
def twos_complement_floats(*arrays: Any, **options: Any) -> Any:
    """negative floats are read as the two's complement of their code.

    Shows: negative floats. Hides: others; integers.
    """

    def read(q: Any, dtype: str) -> Any:
        if dtype not in FLOATS:
            return q
        f = NARROW_FORMATS[dtype]
        negative = np.signbit(q) & (q != 0) & np.isfinite(q)
        size = (1 << f.bits) - f.encode(np.where(negative, q, -1.0)).astype(int)
        return np.where(negative, -np.nan_to_num(f.numbers[size], nan=f.max, posinf=f.max), q)

    return redequantize(*arrays, **options, read=read)


@deviation("reference", "all_codes")
def largest_numbers_are_nan(*arrays: Any, **options: Any) -> Any:
    """the largest exponent is read as that of infinities and NaN, which float8_e4m3fn has not.

    Shows: float8_e4m3fn from 256 on. Hides: smaller numbers; other formats.
    """

    def read(q: Any, dtype: str) -> Any:
        return np.where(np.abs(q) >= 256, np.nan, q) if dtype == "float8_e4m3fn" else q

    return redequantize(*arrays, **options, read=read)


@deviation("reference", kind="arithmetic", dtypes=("float32",))
def product_in_bfloat16(*arrays: Any, **options: Any) -> Any:
    """the product is rounded to bfloat16 before it is returned in float32.

    Shows: float32, scales that are no powers of two. Hides: products of few bits; bfloat16.
    """
    hold = make_rounder(FORMATS["bfloat16"])

    def multiply(x: Any, *factors: Any, roundings: int) -> Any:
        y = x
        for factor in factors:
            y = hold(y * factor)
        return y

    return redequantize(*arrays, **options, multiply=multiply)


@deviation("reference", kind="arithmetic")
def through_another_format(*arrays: Any, **options: Any) -> Any:
    """numbers are rounded to float8_e4m3fn on the way, whatever their format is.

    Shows: formats of a wider range or of more bits. Hides: float8_e4m3fn and float4_e2m1fn.
    """

    def read(q: Any, dtype: str) -> Any:
        return nearest(q, "float8_e4m3fn")

    return redequantize(*arrays, **options, read=read)


# --- levels ---------------------------------------------------------------------------------------------------------


@deviation("signed_zero")
def sign_of_zero_lost(*arrays: Any, **options: Any) -> Any:
    """−0 becomes 0.

    Shows: the sign of the result's zeros. Hides: its value.
    """
    return redequantize(*arrays, **options, read=lambda q, dtype: q + 0.0)


@deviation("signed_zero")
def zero_is_negative(*arrays: Any, **options: Any) -> Any:
    """0 becomes −0: the sign bit of zeros is read wrongly.

    Shows: the sign of the result's zeros. Hides: its value.
    """

    def read(q: Any, dtype: str) -> Any:
        return np.where(q == 0, -0.0, q)

    return redequantize(*arrays, **options, read=read)


@deviation("infinite")
def infinity_saturates(*arrays: Any, **options: Any) -> Any:
    """the code of infinity is read as the next number above the largest.

    Shows: float8_e5m2, codes of infinities. Hides: finite codes.
    """
    return redequantize(*arrays, **options, read=lambda q, dtype: np.clip(q, -65536.0, 65536.0))


@deviation("infinite")
def infinity_is_nan(*arrays: Any, **options: Any) -> Any:
    """the code of infinity is read as NaN.

    Shows: float8_e5m2, codes of infinities. Hides: finite codes.
    """
    return redequantize(*arrays, **options, read=lambda q, dtype: np.where(np.abs(q) == np.inf, np.nan, q))


@deviation("nan_codes")
def nan_is_a_number(*arrays: Any, **options: Any) -> Any:
    """the code of NaN is read as the number that would follow the largest: 480 in float8_e4m3fn.

    Shows: codes of NaN. Hides: all others.
    """

    def read(q: Any, dtype: str) -> Any:
        return np.where(np.isnan(q), 480.0, q)

    return redequantize(*arrays, **options, read=read)


@deviation("nan_codes")
def nan_is_zero(*arrays: Any, **options: Any) -> Any:
    """NaN, of a code or of a scale, becomes zero.

    Shows: codes of NaN. Hides: all others.
    """

    def read(q: Any, dtype: str) -> Any:
        return np.where(np.isnan(q), 0.0, q)

    return redequantize(*arrays, **options, read=read)
