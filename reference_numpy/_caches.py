"""Caches of numbers in few bits: keys and values are such numbers times the scale of their head, or of their slot."""

from typing import Any

import numpy as np

from ._marks import float64, product, rounded
from .quantize import quantize

CACHE_DTYPES = ("float8_e4m3fn", "float8_e5m2", "int8")


def check_cache(operation: str, cache_dtype: str | None, *scales: Any) -> None:
    """Raise ValueError where cache_dtype is no format of a cache, or where scales are given without it."""
    if cache_dtype is not None and cache_dtype not in CACHE_DTYPES:
        raise ValueError(f"{operation}: cache_dtype={cache_dtype!r} is unknown; there are {', '.join(CACHE_DTYPES)}.")
    if cache_dtype is None and any(scale is not None for scale in scales):
        raise ValueError(f"{operation}: k_scale and v_scale are given without cache_dtype, the format that they belong to.")


def of_slots(scale: Any) -> Any:
    """Return scales with the axes of a cache (b, h_kv, M, d): one for all slots, one for each head, or one for each slot."""
    scale = float64(scale)
    return np.expand_dims(scale, -1 if scale.ndim > 1 else (-2, -1))


def dequantized(cache: Any, scale: Any) -> Any:
    """Return what a cache holds. Code may multiply numbers, scores or the result by the scale."""
    cache = float64(cache)
    return cache if scale is None else rounded(product(cache, of_slots(scale), roundings=2))


def quantized(x: Any, scale: Any, lengths: Any, cache_dtype: str | None) -> Any:
    """Return new keys as a cache holds them: as they are, or divided by the scale of their slot and rounded to the format."""
    if cache_dtype is None:
        return float64(x)
    divisor = of_slots(np.ones(()) if scale is None else scale)
    if divisor.ndim < 4:
        return quantize(x, divisor, dtype=cache_dtype, block=(None, None))
    places = np.asarray(lengths)[:, None] + np.arange(x.shape[-2])
    divisor = np.take_along_axis(divisor, places[:, None, :, None], axis=2)
    return quantize(x, divisor, dtype=cache_dtype, block=(1, None))


def written(cache: Any, new: Any, lengths: Any) -> Any:
    """Return a cache with new keys in the slots behind those that each row holds."""
    n, slots = new.shape[-2], cache.shape[-2]
    if n == 0:
        return float64(cache)
    place = (np.arange(slots) - np.asarray(lengths)[:, None])[:, None, :, None]
    return np.where((place >= 0) & (place < n), np.take_along_axis(new, np.clip(place, 0, n - 1), axis=2), float64(cache))
