"""What goes wrong with the scales of paged attention to numbers in few bits."""

from typing import Any

import numpy as np

from reference_numpy.paged_attention import paged_attention

from . import deviation
from ._cache_scales import change_scales, each, of_head, read_as
from ._slot_scales import of_first, of_neighbour, of_slots

BOTH_LOST = (
    "https://github.com/flashinfer-ai/flashinfer/issues/1023",
    "https://github.com/flashinfer-ai/flashinfer/issues/4979",
    "https://github.com/sgl-project/sglang/pull/24198",
)
VALUES_LOST = ("https://github.com/sgl-project/sglang/pull/34765",)
OTHER_HEAD = ("https://github.com/ROCm/aiter/pull/3894",)
ONE_FOR_ALL = ("https://github.com/sgl-project/sgl-kernel-xpu/pull/252",)


@deviation("reference", seen=BOTH_LOST)
def scales_ignored(*arrays: Any, **options: Any) -> Any:
    """scales are not used: the numbers of the cache are taken for keys and values.

    Shows: scales other than 1. Hides: a cache in the dtype of the queries.
    """
    return paged_attention(*arrays, **change_scales(options, lambda k, v: (None, None)))


@deviation("reference", seen=VALUES_LOST)
def scale_of_values_ignored(*arrays: Any, **options: Any) -> Any:
    """the scale of the values is not used.

    Shows: a v_scale other than 1. Hides: others.
    """
    return paged_attention(*arrays, **change_scales(options, lambda k, v: (k, None)))


@deviation("reference")
def scale_of_keys_for_values(*arrays: Any, **options: Any) -> Any:
    """values are multiplied by the scale of the keys.

    Shows: two scales that differ. Hides: equal ones.
    """
    return paged_attention(*arrays, **change_scales(options, lambda k, v: (k, k)))


@deviation("reference")
def divided_by_the_scales(*arrays: Any, **options: Any) -> Any:
    """scales divide: they stand for their reciprocals.

    Shows: scales other than 1. Hides: a cache in the dtype of the queries.
    """
    return paged_attention(*arrays, **change_scales(options, each(lambda scale: 1.0 / scale)))


@deviation("reference")
def scale_of_keys_squared(*arrays: Any, **options: Any) -> Any:
    """the scale of the keys multiplies their numbers and the scores, too.

    Shows: a k_scale other than 1. Hides: others.
    """
    return paged_attention(*arrays, **change_scales(options, lambda k, v: (k if k is None else k * k, v)))


@deviation("reference", seen=ONE_FOR_ALL)
def first_scale_for_all_heads(*arrays: Any, **options: Any) -> Any:
    """the scale of the first head is taken for all.

    Shows: heads with scales of their own. Hides: one scale for all, a single head.
    """
    return paged_attention(*arrays, **change_scales(options, of_head(0)))


@deviation("reference", seen=OTHER_HEAD)
def scale_of_the_next_head(*arrays: Any, **options: Any) -> Any:
    """each head has the scale of the next one.

    Shows: heads with scales of their own. Hides: one scale for all, a single head.
    """
    return paged_attention(*arrays, **change_scales(options, of_head(1)))


@deviation("reference")
def read_as_another_format(q: Any, k_pages: Any, v_pages: Any, *arrays: Any, **options: Any) -> Any:
    """numbers of float8_e5m2 are read as those of float8_e4m3fn.

    Shows: such a cache. Hides: other formats.
    """
    if options.get("cache_dtype") != "float8_e5m2":
        return paged_attention(q, k_pages, v_pages, *arrays, **options)
    k, v = (read_as(x, "float8_e5m2", "float8_e4m3fn") for x in (k_pages, v_pages))
    return paged_attention(q, k, v, *arrays, **options)


# --- a scale for each slot ------------------------------------------------------------------------------------------


@deviation("reference", "scales_of_slots")
def scale_of_the_next_slot(*arrays: Any, **options: Any) -> Any:
    """each slot has the scale of the next one, the last slot that of the first.

    Shows: a scale for each slot. Hides: one for all, or for each head; a single slot.
    """
    return paged_attention(*arrays, **change_scales(options, of_neighbour(1)))


@deviation("reference", "scales_of_slots")
def first_scale_for_all_slots(*arrays: Any, **options: Any) -> Any:
    """the scale of the first slot of a page is taken for all its slots.

    Shows: a scale for each slot. Hides: one for all, or for each head; a single slot.
    """
    return paged_attention(*arrays, **change_scales(options, of_first(1)))


@deviation("reference", "scales_of_slots")
def first_scale_for_all_heads_of_a_slot(*arrays: Any, **options: Any) -> Any:
    """the scale of the first head of a slot is taken for all heads.

    Shows: a scale for each slot, several heads. Hides: one for all, or for each head; a single head.
    """
    return paged_attention(*arrays, **change_scales(options, of_first(2)))


@deviation("reference", "scales_of_slots")
def scales_of_logical_pages(
    q: Any, k_pages: Any, v_pages: Any, block_table: Any, lengths: Any, *arrays: Any, **options: Any
) -> Any:
    """the scales of a page are those of its place in the table: the table is left out for scales.

    Shows: a scale for each slot, pages that are not listed in order. Hides: one for all, or for each head; a table 0, 1, 2, ….
    """
    pages, places = k_pages.shape[0], np.asarray(block_table).shape[1]
    table = np.broadcast_to(np.arange(places) % max(pages, 1), np.asarray(block_table).shape)
    return _by_other_table(q, k_pages, v_pages, block_table, table, lengths, *arrays, **options)


@deviation("reference", "scales_of_slots")
def scales_of_the_first_page(
    q: Any, k_pages: Any, v_pages: Any, block_table: Any, lengths: Any, *arrays: Any, **options: Any
) -> Any:
    """the scales of the first page that a row lists are taken for all its pages: their index is that of a slot in its page.

    Shows: a scale for each slot, rows of several pages. Hides: one for all, or for each head; rows of one page.
    """
    table = np.broadcast_to(np.asarray(block_table)[:, :1], np.asarray(block_table).shape)
    return _by_other_table(q, k_pages, v_pages, block_table, table, lengths, *arrays, **options)


def _by_other_table(
    q: Any, k_pages: Any, v_pages: Any, block_table: Any, of_scales: Any, lengths: Any, *arrays: Any, **options: Any
) -> Any:
    """Return attention to a cache in pages whose scales, where each slot has its own, stand in the pages of another table."""
    page_size = k_pages.shape[1]
    needed = np.arange(block_table.shape[1]) * page_size < np.asarray(lengths)[:, None]
    table, of_scales = (np.where(needed, x, 0) for x in (np.asarray(block_table), of_scales))
    own = np.arange(table.size).reshape(table.shape)
    k, v = (x[np.ravel(table)] for x in (k_pages, v_pages))
    moved = of_slots(lambda scale: scale[np.ravel(of_scales)])
    return paged_attention(q, k, v, own, lengths, *arrays, **change_scales(options, moved))


@deviation("reference", "scales_of_slots")
def scale_of_the_slot_before(*arrays: Any, **options: Any) -> Any:
    """each slot has the scale of the one before, the first slot that of the last.

    Shows: a scale for each slot. Hides: one for all, or for each head; a single slot.
    """
    return paged_attention(*arrays, **change_scales(options, of_neighbour(1, -1)))
