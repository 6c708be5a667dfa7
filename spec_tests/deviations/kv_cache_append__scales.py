"""What goes wrong when keys are appended to a cache of few bits: their scales, and how they are rounded."""

from typing import Any

import numpy as np

from reference_numpy._caches import of_slots as with_axes_of_cache
from reference_numpy._caches import written
from reference_numpy._narrow import FLOATS, INTEGERS, nearest
from reference_numpy.kv_cache_append import kv_cache_append

from . import deviation
from ._cache_scales import change_scales, each, of_head
from ._quantized import away_from_zero, requantize, saturate, step_at
from ._slot_scales import of_first, of_neighbour, of_slots

AT_SCALE_ONE = ("https://github.com/sgl-project/sglang/pull/34765",)
BOTH_LOST = (
    "https://github.com/flashinfer-ai/flashinfer/issues/1023",
    "https://github.com/flashinfer-ai/flashinfer/issues/4979",
    "https://github.com/sgl-project/sglang/pull/24198",
)
OTHER_HEAD = ("https://github.com/ROCm/aiter/pull/3894",)
ONE_FOR_ALL = ("https://github.com/sgl-project/sgl-kernel-xpu/pull/252",)
LARGEST_SHORT = 2.0**20  # more than any integer format has


def requantized(
    k_cache: Any, v_cache: Any, k: Any, v: Any, lengths: Any, k_scale: Any = None, v_scale: Any = None,
    *, cache_dtype: Any = None, **parts: Any,
) -> Any:  # fmt: skip
    """Return what kv_cache_append gives, where a part of quantize may be another."""
    if cache_dtype is None:
        return kv_cache_append(k_cache, v_cache, k, v, lengths)
    scales = (with_axes_of_cache(np.ones(()) if scale is None else scale) for scale in (k_scale, v_scale))
    k, v = (requantize(x, scale, dtype=cache_dtype, block=(None, None), **parts) for x, scale in zip((k, v), scales, strict=True))
    return written(k_cache, k, lengths), written(v_cache, v, lengths)


# --- scales ---------------------------------------------------------------------------------------------------------


@deviation("reference", "few_bits_lose_nothing", seen=AT_SCALE_ONE + BOTH_LOST)
def written_at_scale_one(*arrays: Any, **options: Any) -> Any:
    """scales are not used: keys and values are rounded to the format as they are.

    Shows: scales other than 1. Hides: a cache in the dtype of the keys.
    """
    return kv_cache_append(*arrays, **change_scales(options, lambda k, v: (None, None)))


@deviation("reference", "few_bits_lose_nothing")
def scale_of_keys_for_values(*arrays: Any, **options: Any) -> Any:
    """values are divided by the scale of the keys.

    Shows: two scales that differ. Hides: equal ones.
    """
    return kv_cache_append(*arrays, **change_scales(options, lambda k, v: (k, k)))


@deviation("reference", "few_bits_lose_nothing")
def multiplied_by_the_scale(*arrays: Any, **options: Any) -> Any:
    """keys and values are multiplied by their scale: it stands for its reciprocal.

    Shows: scales other than 1. Hides: a cache in the dtype of the keys.
    """
    return kv_cache_append(*arrays, **change_scales(options, each(lambda scale: 1.0 / scale)))


@deviation("reference", "few_bits_lose_nothing", seen=ONE_FOR_ALL)
def first_scale_for_all_heads(*arrays: Any, **options: Any) -> Any:
    """the scale of the first head is taken for all.

    Shows: heads with scales of their own. Hides: one scale for all, a single head.
    """
    return kv_cache_append(*arrays, **change_scales(options, of_head(0)))


@deviation("reference", "few_bits_lose_nothing", seen=OTHER_HEAD)
def scale_of_the_next_head(*arrays: Any, **options: Any) -> Any:
    """each head has the scale of the next one.

    Shows: heads with scales of their own. Hides: one scale for all, a single head.
    """
    return kv_cache_append(*arrays, **change_scales(options, of_head(1)))


# --- rounding -------------------------------------------------------------------------------------------------------


@deviation("reference", "saturation")
def overflow_to_nan(*arrays: Any, **options: Any) -> Any:
    """what rounds beyond the largest number becomes NaN, or an infinity where there is one.

    Shows: quotients beyond the largest number, of floating formats. Hides: others; int8.
    """

    def overflow(t: Any, dtype: str) -> Any:
        beyond = np.abs(t) >= FLOATS[dtype][2] + step_at(FLOATS[dtype][2], dtype) / 2
        return np.where(beyond, np.copysign(np.inf, t) if dtype == "float8_e5m2" else np.nan, nearest(t, dtype))

    return requantized(*arrays, **options, floats=overflow)


@deviation("reference", "saturation")
def integers_wrap_around(*arrays: Any, **options: Any) -> Any:
    """integers beyond the range wrap around: no clamp.

    Shows: int8, quotients beyond the range. Hides: others; floating formats.
    """
    low, high = INTEGERS["int8"]

    def wrap(t: Any, z: Any, least: int, largest: int) -> Any:
        return (np.rint(np.clip(t, -LARGEST_SHORT, LARGEST_SHORT)) - low) % (high - low + 1) + low

    return requantized(*arrays, **options, integers=wrap)


@deviation("reference")
def ties_away_from_zero(*arrays: Any, **options: Any) -> Any:
    """ties go away from zero.

    Shows: quotients midway between two numbers. Hides: any other quotient.
    """
    return requantized(
        *arrays,
        **options,
        floats=lambda t, dtype: saturate(away_from_zero(t / step_at(t, dtype)) * step_at(t, dtype), dtype),
        integers=lambda t, z, low, high: np.clip(away_from_zero(t), low, high),
    )


@deviation("reference")
def truncated(*arrays: Any, **options: Any) -> Any:
    """the quotient is truncated: t goes toward zero.

    Shows: any quotient that is no number of the format. Hides: numbers of the format.
    """
    return requantized(
        *arrays,
        **options,
        floats=lambda t, dtype: saturate(np.trunc(t / step_at(t, dtype)) * step_at(t, dtype), dtype),
        integers=lambda t, z, low, high: np.clip(np.trunc(t), low, high),
    )


# --- a scale for each slot ------------------------------------------------------------------------------------------


@deviation("reference", "scales_of_slots")
def scale_of_the_next_slot(*arrays: Any, **options: Any) -> Any:
    """each slot has the scale of the next one, the last slot that of the first.

    Shows: a scale for each slot. Hides: one for all, or for each head; a single slot.
    """
    return kv_cache_append(*arrays, **change_scales(options, of_neighbour(2)))


@deviation("reference", "scales_of_slots")
def first_scale_for_all_slots(*arrays: Any, **options: Any) -> Any:
    """the scale of the first slot of a head is taken for all its slots.

    Shows: a scale for each slot. Hides: one for all, or for each head; a single slot.
    """
    return kv_cache_append(*arrays, **change_scales(options, of_first(2)))


@deviation("reference", "scales_of_slots")
def first_scale_for_all_heads_of_a_slot(*arrays: Any, **options: Any) -> Any:
    """the scale of the first head of a slot is taken for all heads.

    Shows: a scale for each slot, several heads. Hides: one for all, or for each head; a single head.
    """
    return kv_cache_append(*arrays, **change_scales(options, of_first(1)))


@deviation("reference", "scales_of_slots")
def scales_of_the_first_row(*arrays: Any, **options: Any) -> Any:
    """the scales of the first row of the cache are taken for all rows.

    Shows: a scale for each slot, several rows. Hides: one for all, or for each head; a single row.
    """
    return kv_cache_append(*arrays, **change_scales(options, of_first(0)))


@deviation("reference", "scales_of_slots")
def scales_of_the_first_slots(k_cache: Any, v_cache: Any, k: Any, v: Any, lengths: Any, *scales: Any, **options: Any) -> Any:
    """new keys have the scales of slots 0, 1, …, in place of those that they are written to.

    Shows: a scale for each slot, rows that hold keys. Hides: one for all, or for each head; empty rows.
    """
    place = np.asarray(lengths)[:, None, None]
    moved = of_slots(
        lambda scale: np.take_along_axis(scale, np.maximum(np.arange(scale.shape[2]) - place, 0) + 0 * place, axis=2)
    )
    return kv_cache_append(k_cache, v_cache, k, v, lengths, *scales, **change_scales(options, moved))


@deviation("reference", "scales_of_slots")
def scale_of_the_slot_before(*arrays: Any, **options: Any) -> Any:
    """each slot has the scale of the one before, the first slot that of the last.

    Shows: a scale for each slot. Hides: one for all, or for each head; a single slot.
    """
    return kv_cache_append(*arrays, **change_scales(options, of_neighbour(2, -1)))
