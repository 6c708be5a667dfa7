"""How caches of numbers in few bits are drawn: their format, their scales, and what they hold."""

from typing import Any

import numpy as np

from reference_numpy._caches import CACHE_DTYPES
from spec_tests.implementation.domain import SCALES
from spec_tests.inputs.draw import Draw
from spec_tests.operations._narrow import choose, draw_powers
from spec_tests.specification.narrow_formats import NARROW_FORMATS

LEAST_EXPONENT, LARGEST_EXPONENT = -6, 3  # of the scales of an attention


def has_narrow_caches(draw: Draw) -> bool:
    """Whether caches may hold numbers in few bits: nobody keeps those beside queries in float64."""
    return draw.operation.accepts("cache_dtype") and draw.operation.dtype != "float64"


def draw_scale(draw: Draw, shape: tuple[int, ...], low: int, high: int, *, exact: bool) -> np.ndarray:
    """Draw scales between two powers of two. exact: powers of two alone."""
    if exact:
        return draw_powers(draw, shape, low, high)
    return np.asarray((2.0 ** draw.rng.uniform(low, high, shape)).astype(np.float32), dtype=np.float64)


def draw_format(
    draw: Draw,
    slots: tuple[int, ...],
    low: int = LEAST_EXPONENT,
    high: int = LARGEST_EXPONENT,
    *,
    head_axis: int = 1,
    exact: bool | None = None,
    of_slots: bool | None = None,
) -> dict[str, Any]:
    """Draw the format of a cache, and scales: none, one for all heads, one for each, or one for each slot of each.

    Beside float16 they are not small, so that products with the numbers themselves stay in its range. slots: the shape of the
    cache without its last axis. exact: powers of two alone, as in a half of the examples where it is not given. of_slots: whether
    each slot has scales of its own, if it is not drawn; it is where the backend states that it takes them.
    """
    keywords = choose(draw, "cache_dtype", *CACHE_DTYPES)
    exact = draw.one_of((True, False)) if exact is None else exact
    if of_slots is None:
        of_slots = bool(draw.operation.domain.get("slot_scales")) and draw.one_of((False, False, True))
    for name in SCALES:
        if draw.operation.accepts(name) and draw.one_of((True, True, True, False)):
            least = max(low, 0) if draw.operation.dtype == "float16" else low
            shape = slots if of_slots else draw.one_of(((slots[head_axis],), ()))
            keywords[name] = draw_scale(draw, shape, least, high, exact=exact)
    return keywords


def scale_of(keywords: dict[str, Any], name: str, *, head_axis: int = 1) -> np.ndarray:
    """Return the scales of keys or values, 1 if there are none, with axes that broadcast to those of the cache."""
    scale = np.asarray(keywords.get(name, 1.0))
    return scale[..., None] if scale.ndim > 1 else np.reshape(scale, (-1, *(1,) * (3 - head_axis)))


def scale_of_new(keywords: dict[str, Any], name: str, lengths: np.ndarray, n: int) -> np.ndarray:
    """Return the scales of the slots that n new keys, or values, are written to."""
    scale = scale_of(keywords, name)
    places = (lengths[:, None] + np.arange(n))[:, None, :, None]
    return scale if scale.ndim < 4 else np.take_along_axis(scale, places, axis=2)


def hold(draw: Draw, x: np.ndarray, keywords: dict[str, Any], scale: np.ndarray) -> np.ndarray:
    """Return vectors as a cache holds them. In some examples all its numbers are as likely as any other, where a dot product of
    the largest ones stays in the range of the dtype.
    """
    if keywords.get("cache_dtype") is None:
        return x
    f = NARROW_FORMATS[keywords["cache_dtype"]]
    if draw.operation.dtype != "float16" and draw.one_of((False, False, True)):
        return np.asarray(draw.rng.choice(f.numbers[np.isfinite(f.numbers)], x.shape))
    return f.round(x / scale)


def hold_both(draw: Draw, keywords: dict[str, Any], *arrays: np.ndarray, head_axis: int = 1) -> list[np.ndarray]:
    """Return keys and values as a cache holds them."""
    scales = (scale_of(keywords, name, head_axis=head_axis) for name in SCALES)
    return [hold(draw, x, keywords, scale) for x, scale in zip(arrays, scales, strict=True)]


def draw_products(draw: Draw, keywords: dict[str, Any], *arrays: np.ndarray, head_axis: int = 1) -> list[Any]:
    """Return keys and values as a cache holds them, each with its products with scales that are powers of two."""
    scales = [scale_of(keywords, name, head_axis=head_axis) for name in SCALES]
    held = hold_both(draw, keywords, *arrays, head_axis=head_axis)
    return [exact_products(draw, x, scale) for x, scale in zip(held, scales, strict=True)]


def draw_new_products(draw: Draw, keywords: dict[str, Any], lengths: np.ndarray, *arrays: np.ndarray) -> list[Any]:
    """Return new keys and values as a cache will hold them, each with its products with scales that are powers of two."""
    scales = [scale_of_new(keywords, name, lengths, arrays[0].shape[2]) for name in SCALES]
    held = [hold(draw, x, keywords, scale) for x, scale in zip(arrays, scales, strict=True)]
    if keywords["cache_dtype"] == "int8":
        held = [np.maximum(x, -127.0) for x in held]  # some code has no -128
    return [exact_products(draw, x, scale) for x, scale in zip(held, scales, strict=True)]


def exact_products(draw: Draw, numbers: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers of a cache, and their products with scales that are powers of two. What the dtype lacks is 0 in both."""
    product = numbers * scale
    kept = draw.format.round(product) == product
    return np.where(kept, numbers, 0.0), np.where(kept, product, 0.0)
