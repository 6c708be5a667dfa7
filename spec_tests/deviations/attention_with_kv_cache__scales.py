"""What goes wrong with the scales of attention to a cache of few bits."""

from typing import Any

from reference_numpy.attention_with_kv_cache import attention_with_kv_cache

from . import deviation
from ._cache_scales import change_scales, each, of_head, read_as
from ._slot_scales import of_first, of_neighbour

BOTH_LOST = (
    "https://github.com/flashinfer-ai/flashinfer/issues/1023",
    "https://github.com/flashinfer-ai/flashinfer/issues/4979",
    "https://github.com/sgl-project/sglang/pull/24198",
)
VALUES_LOST = ("https://github.com/sgl-project/sglang/pull/34765",)
OTHER_HEAD = ("https://github.com/ROCm/aiter/pull/3894",)
ONE_FOR_ALL = ("https://github.com/sgl-project/sgl-kernel-xpu/pull/252",)


@deviation("reference", "numbers_times_scales", seen=BOTH_LOST)
def scales_ignored(*arrays: Any, **options: Any) -> Any:
    """scales are not used: the numbers of the cache are taken for keys and values.

    Shows: scales other than 1. Hides: a cache in the dtype of the queries.
    """
    return attention_with_kv_cache(*arrays, **change_scales(options, lambda k, v: (None, None)))


@deviation("reference", "numbers_times_scales", seen=VALUES_LOST)
def scale_of_values_ignored(*arrays: Any, **options: Any) -> Any:
    """the scale of the values is not used.

    Shows: a v_scale other than 1. Hides: others.
    """
    return attention_with_kv_cache(*arrays, **change_scales(options, lambda k, v: (k, None)))


@deviation("reference", "numbers_times_scales")
def scale_of_keys_for_values(*arrays: Any, **options: Any) -> Any:
    """values are multiplied by the scale of the keys.

    Shows: two scales that differ. Hides: equal ones.
    """
    return attention_with_kv_cache(*arrays, **change_scales(options, lambda k, v: (k, k)))


@deviation("reference", "numbers_times_scales")
def divided_by_the_scales(*arrays: Any, **options: Any) -> Any:
    """scales divide: they stand for their reciprocals.

    Shows: scales other than 1. Hides: a cache in the dtype of the queries.
    """
    return attention_with_kv_cache(*arrays, **change_scales(options, each(lambda scale: 1.0 / scale)))


@deviation("reference", "numbers_times_scales")
def scale_of_keys_squared(*arrays: Any, **options: Any) -> Any:
    """the scale of the keys multiplies their numbers and the scores, too.

    Shows: a k_scale other than 1. Hides: others.
    """
    return attention_with_kv_cache(*arrays, **change_scales(options, lambda k, v: (k if k is None else k * k, v)))


@deviation("reference", "numbers_times_scales", seen=ONE_FOR_ALL)
def first_scale_for_all_heads(*arrays: Any, **options: Any) -> Any:
    """the scale of the first head is taken for all.

    Shows: heads with scales of their own. Hides: one scale for all, a single head.
    """
    return attention_with_kv_cache(*arrays, **change_scales(options, of_head(0)))


@deviation("reference", "numbers_times_scales", seen=OTHER_HEAD)
def scale_of_the_next_head(*arrays: Any, **options: Any) -> Any:
    """each head has the scale of the next one.

    Shows: heads with scales of their own. Hides: one scale for all, a single head.
    """
    return attention_with_kv_cache(*arrays, **change_scales(options, of_head(1)))


@deviation("reference", "numbers_times_scales")
def read_as_another_format(q: Any, k_cache: Any, v_cache: Any, *arrays: Any, **options: Any) -> Any:
    """numbers of float8_e5m2 are read as those of float8_e4m3fn.

    Shows: such a cache. Hides: other formats.
    """
    if options.get("cache_dtype") != "float8_e5m2":
        return attention_with_kv_cache(q, k_cache, v_cache, *arrays, **options)
    k, v = (read_as(x, "float8_e5m2", "float8_e4m3fn") for x in (k_cache, v_cache))
    return attention_with_kv_cache(q, k, v, *arrays, **options)


# --- a scale for each slot ------------------------------------------------------------------------------------------


@deviation("reference", "scales_of_slots")
def scale_of_the_next_slot(*arrays: Any, **options: Any) -> Any:
    """each slot has the scale of the next one, the last slot that of the first.

    Shows: a scale for each slot. Hides: one for all, or for each head; a single slot.
    """
    return attention_with_kv_cache(*arrays, **change_scales(options, of_neighbour(2)))


@deviation("reference", "scales_of_slots")
def first_scale_for_all_slots(*arrays: Any, **options: Any) -> Any:
    """the scale of the first slot of a head is taken for all its slots.

    Shows: a scale for each slot. Hides: one for all, or for each head; a single slot.
    """
    return attention_with_kv_cache(*arrays, **change_scales(options, of_first(2)))


@deviation("reference", "scales_of_slots")
def first_scale_for_all_heads_of_a_slot(*arrays: Any, **options: Any) -> Any:
    """the scale of the first head of a slot is taken for all heads.

    Shows: a scale for each slot, several heads. Hides: one for all, or for each head; a single head.
    """
    return attention_with_kv_cache(*arrays, **change_scales(options, of_first(1)))


@deviation("reference", "scales_of_slots")
def scales_of_the_first_row(*arrays: Any, **options: Any) -> Any:
    """the scales of the first row of the cache are taken for all rows.

    Shows: a scale for each slot, several rows. Hides: one for all, or for each head; a single row.
    """
    return attention_with_kv_cache(*arrays, **change_scales(options, of_first(0)))


@deviation("reference", "scales_of_slots")
def scale_of_the_slot_before(*arrays: Any, **options: Any) -> Any:
    """each slot has the scale of the one before, the first slot that of the last.

    Shows: a scale for each slot. Hides: one for all, or for each head; a single slot.
    """
    return attention_with_kv_cache(*arrays, **change_scales(options, of_neighbour(2, -1)))
