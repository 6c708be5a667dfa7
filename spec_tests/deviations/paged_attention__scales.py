"""What goes wrong with the scales of paged attention to numbers in few bits."""

from typing import Any

import numpy as np

from reference_numpy._marks import number
from reference_numpy.paged_attention import paged_attention
from spec_tests.specification.narrow_formats import NARROW_FORMATS

from . import deviation
from ._cache_scales import change_scales, each, of_head

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
    held, read = NARROW_FORMATS["float8_e5m2"], NARROW_FORMATS["float8_e4m3fn"]
    caches = (np.nan_to_num(read.decode(held.encode(number(x)))) for x in (k_pages, v_pages))
    k, v = (x.constant(y) if hasattr(x, "constant") else y for x, y in zip((k_pages, v_pages), caches, strict=True))
    return paged_attention(q, k, v, *arrays, **options)
