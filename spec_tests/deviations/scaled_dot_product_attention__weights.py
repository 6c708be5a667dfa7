"""What goes wrong with scaled_dot_product_attention between the scores and the result."""

from typing import Any

import numpy as np

from reference_numpy._marks import exact, rounded
from reference_numpy.softmax import softmax

from . import deviation
from .scaled_dot_product_attention import compute_scores, compute_weights, hide_scores, instead_of


def exponentiate(s: Any, mask: Any) -> Any:
    """Return the exponentials of the scores minus their maximum."""
    s = hide_scores(s, mask)
    return np.exp(s - exact(np.max(s, axis=-1, keepdims=True)))


def divide_by_sum(e: Any) -> Any:
    return rounded(e / np.sum(e, axis=-1, keepdims=True))


# --- the scores of a kernel that works in blocks --------------------------------------------------------------------


@deviation("reference", "two_keys")
@instead_of(compute_scores)
def only_64_features(q: Any, k: Any, scale: Any, bias: Any) -> Any:
    """the scores are made of the first 64 features of queries and keys alone.

    Shows: d_k > 64. Hides: heads of 64 features.
    """
    return compute_scores(q[..., :64], k[..., :64], scale, bias)


@deviation("reference", "two_keys")
@instead_of(compute_scores)
def last_features_dropped(q: Any, k: Any, scale: Any, bias: Any) -> Any:
    """features beyond the last multiple of 8 are left out of the scores, where d_k is more than 8.

    Shows: d_k such as 9, 15 or 65. Hides: multiples of 8.
    """
    d = q.shape[-1]
    d = d if d < 8 else d // 8 * 8
    return compute_scores(q[..., :d], k[..., :d], scale, bias)


@deviation("reference", "split_keys", seen=("https://github.com/flagos-ai/FlagGems/pull/424",))
@instead_of(compute_scores)
def scale_grows_with_each_block(q: Any, k: Any, scale: Any, bias: Any) -> Any:
    """the scale is multiplied by log2(e) once more for each block of 64 keys.

    Shows: more than 64 keys. Hides: short sequences.
    """
    block = np.arange(k.shape[-2]) // 64
    s = compute_scores(q, k, scale, None) * (1 / np.log(2.0)) ** block
    return s if bias is None else s + bias


@deviation("reference", "order_of_queries")
@instead_of(compute_scores)
def queries_and_keys_swapped(q: Any, k: Any, scale: Any, bias: Any) -> Any:
    """the scores are k qᵀ, not q kᵀ, where there are as many queries as keys.

    Shows: n = m. Hides: n other than m, where it cannot run.
    """
    return compute_scores(k, q, scale, bias) if q.shape[-2] == k.shape[-2] else compute_scores(q, k, scale, bias)


@deviation("reference", "shift_of_keys", kind="convention")
@instead_of(compute_scores)
def queries_and_keys_normalized(q: Any, k: Any, scale: Any, bias: Any) -> Any:
    """queries and keys are divided by their root mean square before their product.

    Shows: queries and keys far from unit variance. Hides: normalized ones.
    """
    q, k = (x / np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + 1e-6) for x in (q, k))
    return compute_scores(q, k, scale, bias)


@deviation("reference", "large_scores")
@instead_of(compute_weights)
def scores_clamped(s: Any, mask: Any) -> Any:
    """the scores are clamped to ±30 before the softmax.

    Shows: scores beyond 30. Hides: ordinary scores.
    """
    return rounded(softmax(hide_scores(-np.maximum(-np.maximum(s, -30.0), -30.0), mask), axis=-1))


# --- weights --------------------------------------------------------------------------------------------------------


@deviation("reference", "sums_to_one", "constant_values")
@instead_of(compute_weights)
def weights_over_queries(s: Any, mask: Any) -> Any:
    """the softmax runs over the queries, not over the keys.

    Shows: any values, constant ones above all. Hides: nothing but equal scores with n = m.
    """
    return rounded(softmax(hide_scores(s, mask), axis=-2))


@deviation("reference", "one_key", "convex")
@instead_of(compute_weights)
def one_more_in_the_sum(s: Any, mask: Any) -> Any:
    """1 is added to the sum of the exponentials, after the maximum was subtracted.

    Shows: any values, one key above all. Hides: many keys with equal scores.
    """
    e = exponentiate(s, mask)
    return rounded(e / (1 + np.sum(e, axis=-1, keepdims=True)))


@deviation("reference", "sums_to_one", "constant_values")
@instead_of(compute_weights)
def padding_counts_as_score_zero(s: Any, mask: Any) -> Any:
    """keys of zeros pad the last block of 16, and their exponentials of 0 are part of the sum.

    Shows: keys that fill no block of 16, with scores near 0. Hides: a multiple of 16 keys; scores far above 0.
    """
    zero = np.where(True, 0.0, s[..., :1])
    padding = np.repeat(zero, -s.shape[-1] % 16, axis=-1)
    return compute_weights(np.concatenate([hide_scores(s, mask), padding], axis=-1), None)[..., : s.shape[-1]]


@deviation("reference", "two_keys")
@instead_of(compute_weights)
def another_base(s: Any, mask: Any) -> Any:
    """the exponential is 2^(1.44 s), its log2(e) cut to two decimals.

    Shows: float32 and float64; large scores elsewhere. Hides: scores near one another in 16 bits.
    """
    return compute_weights(s * (1.44 * np.log(2)), mask)


@deviation("reference", "order_of_keys")
@instead_of(compute_weights)
def last_block_of_keys_dropped(s: Any, mask: Any) -> Any:
    """keys beyond the last full block of 32 get no weight, where there are more than 32.

    Shows: m such as 33, 65 or 100. Hides: multiples of 32, and fewer keys.
    """
    m = s.shape[-1]
    full = m if m < 32 else m // 32 * 32
    return divide_by_sum(np.where(np.arange(m) < full, exponentiate(s, mask), 0.0))
