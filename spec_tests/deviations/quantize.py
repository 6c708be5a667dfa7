"""What goes wrong with the numbers of quantize: how they are rounded, and at the ends of the range."""

from typing import Any

import numpy as np

from reference_numpy._marks import either
from reference_numpy._narrow import FLOATS, nearest, spread
from spec_tests.specification.formats import FORMATS

from . import deviation
from ._quantized import away_from_zero, requantize, round_integers, saturate, step_at
from ._steps import make_rounder

TT_METAL = ("https://github.com/tenstorrent/tt-metal/issues/51971",)
AITER_TIES = ("https://github.com/ROCm/aiter/pull/3992", "https://github.com/ROCm/aiter/pull/4030")
LARGEST_SHORT = 2.0**20  # more than any integer format has


# --- rounding -------------------------------------------------------------------------------------------------------


@deviation("reference", "ties", seen=AITER_TIES)
def ties_away_from_zero(*arrays: Any, **options: Any) -> Any:
    """ties go away from zero.

    Shows: quotients midway between two numbers, as those of 16-bit numbers often are. Hides: any other quotient.
    """
    return requantize(
        *arrays,
        **options,
        floats=lambda t, dtype: saturate(away_from_zero(t / step_at(t, dtype)) * step_at(t, dtype), dtype),
        integers=lambda t, z, low, high: np.clip(away_from_zero(t) + z, low, high),
    )


@deviation("reference", "ties", "odd", "fp4_ties")
def ties_upward(*arrays: Any, **options: Any) -> Any:
    """ties go up: floor(t + 1/2) steps.

    Shows: quotients midway between two numbers, of which the upper one is odd. Hides: any other quotient.
    """
    return requantize(
        *arrays,
        **options,
        floats=lambda t, dtype: saturate(np.floor(t / step_at(t, dtype) + 0.5) * step_at(t, dtype), dtype),
        integers=lambda t, z, low, high: np.clip(np.floor(t + 0.5) + z, low, high),
    )


@deviation("reference", "ties", "half_a_step")
def truncated(*arrays: Any, **options: Any) -> Any:
    """the quotient is truncated: t goes toward zero.

    Shows: any quotient that is no number of the format. Hides: numbers of the format.
    """
    return requantize(
        *arrays,
        **options,
        floats=lambda t, dtype: saturate(np.trunc(t / step_at(t, dtype)) * step_at(t, dtype), dtype),
        integers=lambda t, z, low, high: np.clip(np.trunc(t) + z, low, high),
    )


@deviation("reference")
def zero_point_added_before_rounding(*arrays: Any, **options: Any) -> Any:
    """the zero point is added before the quotient is rounded.

    Shows: a tie, with an odd zero point. Hides: any other quotient; an even zero point or none; numbers of float formats.
    """

    def in_float32(t: Any, z: Any, low: int, high: int) -> Any:
        return np.clip(np.rint(np.asarray(t + z).astype(np.float32).astype(np.float64)), low, high)

    def wide(t: Any, z: Any, low: int, high: int) -> Any:
        return np.clip(np.rint(t + z), low, high)

    return either(*(requantize(*arrays, **options, integers=add) for add in (in_float32, wide)))


@deviation("reference", "round_trip", seen=TT_METAL)
def subnormals_half_as_large(*arrays: Any, **options: Any) -> Any:
    """subnormal numbers are a binade too small.

    Shows: quotients below the smallest normal number. Hides: larger ones; integers.
    """

    def halve(t: Any, dtype: str) -> Any:
        y = nearest(t, dtype)
        return np.where(np.abs(y) < 2.0 ** FLOATS[dtype][1], nearest(y / 2, dtype), y)

    return requantize(*arrays, **options, floats=halve)


@deviation("reference", "round_trip")
def subnormals_flushed(*arrays: Any, **options: Any) -> Any:
    """subnormal numbers become zero.

    Shows: quotients below the smallest normal number. Hides: larger ones; integers.
    """

    def flush(t: Any, dtype: str) -> Any:
        y = nearest(t, dtype)
        return np.where(np.abs(y) < 2.0 ** FLOATS[dtype][1], 0.0 * y, y)

    return requantize(*arrays, **options, floats=flush)


@deviation("reference", "round_trip", seen=TT_METAL)
def odd_fractions_truncated(*arrays: Any, **options: Any) -> Any:
    """a number with an odd fraction loses its last bit.

    Shows: every second number of a floating format. Hides: the others; integers.
    """

    def clear(t: Any, dtype: str) -> Any:
        y = nearest(t, dtype)
        return np.trunc(y / (2 * step_at(y, dtype))) * 2 * step_at(y, dtype)

    return requantize(*arrays, **options, floats=clear)


@deviation("reference", "ties", seen=TT_METAL)
def sticky_bits_dropped(*arrays: Any, **options: Any) -> Any:
    """only the first bit below the last is looked at, so that what lies just above a midpoint counts as a tie.

    Shows: quotients between a midpoint below an odd fraction and the next quarter of a step. Hides: exact midpoints.
    """

    def drop(t: Any, dtype: str) -> Any:
        half = step_at(t, dtype) / 2
        return nearest(np.trunc(t / half) * half, dtype)

    return requantize(*arrays, **options, floats=drop)


@deviation("reference", "half_a_step", kind="arithmetic", dtypes=("float32",))
def quotient_in_bfloat16(*arrays: Any, **options: Any) -> Any:
    """the quotient is rounded to bfloat16 before it is rounded to the format.

    Shows: float32, beside midpoints. Hides: quotients of few bits; fp4 mostly.
    """
    hold = make_rounder(FORMATS["bfloat16"])
    return requantize(
        *arrays,
        **options,
        floats=lambda t, dtype: nearest(hold(t), dtype),
        integers=lambda t, z, low, high: round_integers(hold(t), z, low, high),
    )


@deviation("reference", kind="arithmetic")
def scale_in_bfloat16(*arrays: Any, **options: Any) -> Any:
    """scales are rounded to bfloat16.

    Shows: float32 scales. Hides: scales of few bits.
    """
    hold = make_rounder(FORMATS["bfloat16"])
    return requantize(*arrays, **options, spread_scale=lambda scale, block, shape: spread(hold(scale), block, shape))


# --- the ends of the range ------------------------------------------------------------------------------------------


@deviation("reference", "saturation", seen=("https://github.com/huggingface/transformers/pull/42775",))
def overflow_to_zero(*arrays: Any, **options: Any) -> Any:
    """what rounds beyond the largest number becomes 0, as where an overflow gives NaN and NaN is replaced afterwards.

    Shows: floats beyond the largest number. Hides: others; integers.
    """

    def overflow(t: Any, dtype: str) -> Any:
        step = step_at(FLOATS[dtype][2], dtype)
        return np.where(np.rint(np.abs(t) / step) * step > FLOATS[dtype][2], 0.0, nearest(t, dtype))

    return requantize(*arrays, **options, floats=overflow)


@deviation("reference", "saturation")
def overflow_to_nan(*arrays: Any, **options: Any) -> Any:
    """what rounds beyond the largest number of a format with NaN becomes NaN, or an infinity where there is one.

    Shows: quotients beyond the largest number. Hides: others. PyTorch 2.13 does so with float8_e5m2 and the formats in uz.
    """

    def overflow(t: Any, dtype: str) -> Any:
        if not dtype.startswith("float8"):
            return nearest(t, dtype)
        beyond = np.abs(t) >= FLOATS[dtype][2] + step_at(FLOATS[dtype][2], dtype) / 2
        other = np.copysign(np.inf, t) if dtype == "float8_e5m2" else np.nan
        return np.where(beyond, other, nearest(t, dtype))

    return requantize(*arrays, **options, floats=overflow)


@deviation("reference", "saturation")
def integers_wrap_around(*arrays: Any, **options: Any) -> Any:
    """integers beyond the range wrap around: no clamp.

    Shows: quotients beyond the range. Hides: others; floating formats.
    """

    def wrap(t: Any, z: Any, low: int, high: int) -> Any:
        whole = np.rint(np.clip(t, -LARGEST_SHORT, LARGEST_SHORT)) + z
        return (whole - low) % (high - low + 1) + low

    return requantize(*arrays, **options, integers=wrap)


@deviation("reference", "saturation", "round_trip")
def largest_of_another_format(*arrays: Any, **options: Any) -> Any:
    """float8_e4m3fn ends at 240, as float8_e4m3fnuz does.

    Shows: float8_e4m3fn, quotients beyond 240. Hides: smaller ones; other formats.
    """

    def limit(t: Any, dtype: str) -> Any:
        y = nearest(t, dtype)
        return np.clip(y, -240.0, 240.0) if dtype == "float8_e4m3fn" else y

    return requantize(*arrays, **options, floats=limit)


@deviation("reference", "ties")
def minus_zero_is_nan(*arrays: Any, **options: Any) -> Any:
    """the sign of a negative number that rounds to zero is kept in a format whose code of −0 is NaN.

    Shows: float8_e4m3fnuz and float8_e5m2fnuz, −0 and small negative quotients. Hides: other formats.
    """

    def keep(t: Any, dtype: str) -> Any:
        y = nearest(t, dtype)
        return np.where((y == 0) & np.signbit(t), np.nan, y) if dtype.endswith("uz") else y

    return requantize(*arrays, **options, floats=keep)


@deviation("signed_zero")
def sign_of_zero_lost(*arrays: Any, **options: Any) -> Any:
    """−0, and what rounds to it, becomes 0.

    Shows: the sign of the result's zeros. Hides: its value.
    """
    return requantize(*arrays, **options, floats=lambda t, dtype: nearest(t, dtype) + 0.0)


@deviation("infinite")
def infinity_stays(*arrays: Any, **options: Any) -> Any:
    """infinities stay infinities in float8_e5m2, which has them.

    Shows: infinite x. Hides: finite x; other formats.
    """

    def keep(t: Any, dtype: str) -> Any:
        return np.where(np.isinf(t) & (dtype == "float8_e5m2"), t, nearest(t, dtype))

    return requantize(*arrays, **options, floats=keep)
