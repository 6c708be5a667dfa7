"""What attentions of servers are drawn with: sinks, caps, windows, and masks that leave each query a key."""

from types import MappingProxyType
from typing import Any

import numpy as np

from spec_tests.inputs.draw import Draw, single

SCALES = single(1.0, 0.125, 0.0, 0.3, 0.0, 1.7, -0.6)

SOFTCAPS = single(30.0, 50.0, 5.0, 1.0, 0.5, 1000.0)

# By the bits of the dtype: c·tanh(s/c) is within s³/3c² of s, less than the error of tanh, and s/c is no subnormal number.
LARGE_CAPS = MappingProxyType({53: 2.0**30, 24: 2.0**15})

WINDOWS = ("left_window", "right_window")

SQUARE = frozenset({"is_causal", *WINDOWS})  # which are defined for n = m


def draw_sinks(draw: Draw, h: int) -> np.ndarray:
    """Draw a logit for each head, near the scores or apart from them. In few examples some are −∞, which is no sink."""
    sinks = draw.rng.standard_normal(h) * draw.one_of((1.0, 4.0)) + draw.one_of((0.0, 0.0, -10.0, 5.0))
    absent = draw.rng.random(h) < draw.one_of((0.0, 0.0, 0.0, 0.5))
    return np.where(absent, -np.inf, draw.held(sinks))


def draw_window(draw: Draw, name: str, n: int) -> dict[str, Any]:
    """Draw how far a window reaches: nowhere, to about the half, to the first or last key, or one less or more."""
    return draw.keyword(name, (draw.near(0, n // 2, n - 1, low=0, high=n + 1),))


def draw_options(draw: Draw, used: set[str], n: int) -> dict[str, Any]:
    """Draw the keywords of the family that are used, but for those that are arrays."""
    keywords: dict[str, Any] = {"is_causal": True} if "is_causal" in used else {}
    keywords |= draw.keyword("scale", (*SCALES, None)) if "scale" in used else {}
    keywords |= draw.keyword("softcap", SOFTCAPS) if "softcap" in used else {}
    for name in WINDOWS:
        keywords |= draw_window(draw, name, n) if name in used else {}
    return keywords


def draw_seeing_mask(draw: Draw, heads: tuple[tuple[int, ...], ...], n: int, m: int, used: set[str]) -> np.ndarray:
    """Draw a mask for one of these batches. Each query keeps a key that causality and windows leave: its own."""
    mask = draw.mask(draw.shape.one_of(heads), n, m)
    if not used & SQUARE:
        return mask
    return mask | np.eye(n, dtype=bool) if mask.ndim > 1 and mask.shape[-2] == n else np.ones(mask.shape, dtype=bool)


def maybe_blind_queries(draw: Draw, mask: np.ndarray, n: int, m: int) -> np.ndarray:
    """Return the mask as it is, or with queries that see no key. Without a sink, what those give is a convention."""
    if not draw.one_of((False, False, False, True)):
        return mask
    return np.broadcast_to(mask, (*mask.shape[:-2], n, m)) & (draw.rng.random((n, 1)) < 0.5)
