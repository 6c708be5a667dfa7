"""What goes wrong with alibi_bias."""

import math
from typing import Any

import numpy as np

from reference_numpy.alibi_bias import alibi_bias

from . import deviation


def signed_distance(n: int, m: int | None) -> Any:
    """Return i − j, as floating numbers."""
    return np.arange(n, dtype=float)[:, None] - np.arange(n if m is None else m)


@deviation("reference", "penalty")
def rewarded(slopes: Any, *, n: int, m: int | None = None) -> Any:
    """far keys are rewarded: +slope · |i − j|.

    Shows: two tokens or more. Hides: one.
    """
    return slopes[..., None, None] * np.abs(signed_distance(n, m))


@deviation("reference", "distance_alone", kind="convention")
def signed(slopes: Any, *, n: int, m: int | None = None) -> Any:
    """the distance has its sign, slope · (j − i): later keys are rewarded.

    Shows: keys after the query. Hides: causal attention.
    """
    return slopes[..., None, None] * -signed_distance(n, m)


@deviation("reference", "own_key", kind="convention")
def of_the_key_alone(slopes: Any, *, n: int, m: int | None = None) -> Any:
    """the bias is slope · j, the same for every query.

    Shows: each element. Hides: causal attention, which a constant in each row leaves.
    """
    return slopes[..., None, None] * -(signed_distance(n, m) - np.arange(n)[:, None])


@deviation("reference", "penalty")
def later_keys_free(slopes: Any, *, n: int, m: int | None = None) -> Any:
    """keys after the query have no penalty.

    Shows: keys after the query. Hides: causal attention.
    """
    return slopes[..., None, None] * -np.maximum(signed_distance(n, m), 0)


@deviation("reference", "proportional", kind="convention")
def later_keys_hidden(slopes: Any, *, n: int, m: int | None = None) -> Any:
    """keys after the query have −∞: the causal mask is part of the bias.

    Shows: keys after the query. Hides: causal attention.
    """
    apart = signed_distance(n, m)
    return np.where(apart < 0, -np.inf, slopes[..., None, None] * -np.abs(apart))


@deviation("reference", "own_key")
def own_key_at_one(slopes: Any, *, n: int, m: int | None = None) -> Any:
    """the distance is counted from 1: |i − j| + 1.

    Shows: a query's own key. Hides: attention, which a constant leaves.
    """
    return slopes[..., None, None] * -(np.abs(signed_distance(n, m)) + 1)


@deviation("reference", "proportional")
def squared(slopes: Any, *, n: int, m: int | None = None) -> Any:
    """the penalty grows with the square of the distance.

    Shows: distances of 2 and more. Hides: two tokens.
    """
    return slopes[..., None, None] * -np.square(signed_distance(n, m))


@deviation("reference", "linear_in_slopes")
def slopes_ignored(slopes: Any, *, n: int, m: int | None = None) -> Any:
    """every head has the slope 1.

    Shows: slopes other than 1. Hides: nothing.
    """
    return np.power(slopes, 0.0)[..., None, None] * -np.abs(signed_distance(n, m))


@deviation("reference", "proportional")
def in_bits(slopes: Any, *, n: int, m: int | None = None) -> Any:
    """the bias is in bits, too large by log2(e), as kernels that compute 2^x need it inside.

    Shows: each element. Hides: the order of the keys.
    """
    return alibi_bias(slopes, n=n, m=m) * (1 / math.log(2))


@deviation("reference", "earlier_part", kind="convention")
def last_level_with_last(slopes: Any, *, n: int, m: int | None = None) -> Any:
    """the last query is aligned with the last key: i + m − n replaces i.

    Shows: n ≠ m. Hides: n = m.
    """
    return slopes[..., None, None] * -np.abs(signed_distance(n, m) + (0 if m is None else m - n))


@deviation("no_keys", "reference")
def no_keys_as_none(slopes: Any, *, n: int, m: int | None = None) -> Any:
    """m = 0 is treated as if m were not given, as `m or n` does.

    Shows: m = 0. Hides: every other m.
    """
    return alibi_bias(slopes, n=n, m=m or None)


@deviation("reference", "heads_are_independent")
def steepest_first(slopes: Any, *, n: int, m: int | None = None) -> Any:
    """each head has the mean of its slope and the next one's.

    Shows: two heads or more with different slopes. Hides: one head.
    """
    return alibi_bias((slopes + np.roll(slopes, 1)) / 2, n=n, m=m)
