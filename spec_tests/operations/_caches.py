"""How caches of numbers in few bits are drawn: their format, their scales, and what they hold."""

from typing import Any

import numpy as np

from reference_numpy._caches import CACHE_DTYPES
from spec_tests.inputs.draw import Draw
from spec_tests.operations._narrow import choose, draw_powers
from spec_tests.specification.narrow_formats import NARROW_FORMATS

SCALES = ("k_scale", "v_scale")
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
    draw: Draw, h_kv: int, low: int = LEAST_EXPONENT, high: int = LARGEST_EXPONENT, *, exact: bool | None = None
) -> dict[str, Any]:
    """Draw the format of a cache, and scales: none, one for all heads, or one for each.

    Beside float16 they are not small, so that products with the numbers themselves stay in its range. exact: powers of two alone,
    as in a half of the examples where it is not given.
    """
    keywords = choose(draw, "cache_dtype", *CACHE_DTYPES)
    exact = draw.one_of((True, False)) if exact is None else exact
    for name in SCALES:
        if draw.operation.accepts(name) and draw.one_of((True, True, True, False)):
            least = max(low, 0) if draw.operation.dtype == "float16" else low
            keywords[name] = draw_scale(draw, draw.one_of(((h_kv,), ())), least, high, exact=exact)
    return keywords


def hold(draw: Draw, x: np.ndarray, keywords: dict[str, Any], name: str, *, head_axis: int) -> np.ndarray:
    """Return vectors as a cache holds them. In some examples all its numbers are as likely as any other, where a dot product of
    the largest ones stays in the range of the dtype.
    """
    if keywords.get("cache_dtype") is None:
        return x
    f, scale = NARROW_FORMATS[keywords["cache_dtype"]], np.asarray(keywords.get(name, 1.0))
    if draw.operation.dtype != "float16" and draw.one_of((False, False, True)):
        return np.asarray(draw.rng.choice(f.numbers[np.isfinite(f.numbers)], x.shape))
    return f.round(x / np.reshape(scale, (-1, *(1,) * (x.ndim - 1 - head_axis))))


def exact_products(draw: Draw, numbers: np.ndarray, scale: Any, *, head_axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers of a cache, and their products with scales that are powers of two. What the dtype lacks is 0 in both."""
    product = numbers * np.reshape(scale, (-1, *(1,) * (numbers.ndim - 1 - head_axis)))
    kept = draw.format.round(product) == product
    return np.where(kept, numbers, 0.0), np.where(kept, product, 0.0)
