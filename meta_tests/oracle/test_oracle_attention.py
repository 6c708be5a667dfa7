"""Test the oracle's attention and slopes against 60 digits (see sixty_digits.py), and its masks against their definitions."""

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from reference_numpy.alibi_bias import alibi_bias
from reference_numpy.alibi_slopes import alibi_slopes
from reference_numpy.causal_mask import causal_mask
from reference_numpy.grouped_query_attention import grouped_query_attention
from reference_numpy.local_attention import local_attention
from reference_numpy.scaled_dot_product_attention import scaled_dot_product_attention
from reference_numpy.sliding_window_mask import sliding_window_mask

from ..support.sixty_digits import DIGITS, TINY, U, assert_within, rng

# --- attention --------------------------------------------------------------------------------------------------------


def attention_in_digits(q: Any, k: Any, v: Any, mask: Any, bias: Any, scale: Any) -> tuple[list[Any], np.ndarray]:
    """Return one head in 60 digits, and the derived error limit of a float64 evaluation.

    Each score errs by (d_k + 3) u sum|q||k| scale + u |bias| + u |score|. The relative error of the weights is twice the
    largest of these, and that of softmax. The sum over m keys errs by m u.
    """
    exact, limits = [], []
    (n, d), m = q.shape, len(k)
    with mpmath.workdps(DIGITS):
        for i in range(n):
            seen = [j for j in range(m) if mask[i, j]]
            s = {j: sum(mpf(a) * mpf(b) for a, b in zip(q[i], k[j], strict=True)) * scale + mpf(bias[i, j]) for j in seen}
            e = {j: mpmath.exp(s[j]) for j in seen}
            p = {j: e[j] / sum(e.values()) for j in seen}
            exact += [sum(p[j] * mpf(v[j, c]) for j in seen) for c in range(v.shape[1])]
            top = float(max(s.values()))
            score = max((d + 3) * np.sum(np.abs(q[i] * k[j])) * float(scale) + abs(bias[i, j]) + abs(float(s[j])) for j in seen)
            for c in range(v.shape[1]):
                terms = (float(p[j]) * abs(v[j, c]) * (2 * score + top - float(s[j]) + 2 * m + 8) for j in seen)
                limits.append(sum(terms) * U)
    return exact, np.array(limits)


@pytest.mark.parametrize("scale", [None, 1.0, 0.0])
@pytest.mark.parametrize("variant", ["plain", "mask", "bias", "mask and bias", "causal", "mask and causal"])
def test_attention(variant: str, scale: float | None) -> None:
    r = rng(10)
    n, m, d_k, d_v = 6, 6 if "causal" in variant else 9, 8, 3
    q, k, v = r.standard_normal((n, d_k)), r.standard_normal((m, d_k)), r.standard_normal((m, d_v))
    mask = (r.random((n, m)) < 0.5) | np.eye(n, m, dtype=bool) if "mask" in variant else None
    bias = 3 * r.standard_normal((n, m)) if "bias" in variant else None
    got = scaled_dot_product_attention(q, k, v, mask, bias, is_causal="causal" in variant, scale=scale)
    seen = np.ones((n, m), dtype=bool) if mask is None else mask
    if "causal" in variant:
        seen = seen & np.tri(n, dtype=bool)
    with mpmath.workdps(DIGITS):
        factor = 1 / mpmath.sqrt(d_k) if scale is None else mpf(scale)
    exact, limit = attention_in_digits(q, k, v, seen, np.zeros((n, m)) if bias is None else bias, factor)
    assert np.max(limit) < 1e-12
    assert_within(got, exact, limit.reshape(n, d_v))


def test_attention_broadcasts_every_batch_axis() -> None:
    r = rng(11)
    q, k, v = r.standard_normal((2, 1, 4, 6)), r.standard_normal((3, 5, 6)), r.standard_normal((1, 5, 2))
    mask, bias = r.random((7, 1, 1, 4, 5)) < 0.8, r.standard_normal((3, 1, 5))
    mask[..., 0] = True
    got = scaled_dot_product_attention(q, k, v, mask, bias)
    assert got.shape == (7, 2, 3, 4, 2)
    for a, b, c in np.ndindex(7, 2, 3):
        alone = scaled_dot_product_attention(q[b, 0], k[c], v[0], mask[a, 0, 0], bias[c])
        assert np.max(np.abs(got[a, b, c] - alone)) <= 64 * U * np.max(np.abs(v))
    assert scaled_dot_product_attention(q[..., :0, :], k, v).shape == (2, 3, 0, 2)
    assert scaled_dot_product_attention(np.zeros((0, 4, 6)), k[:1], v).shape == (0, 4, 2)


def test_grouped_and_local_attention_are_attention() -> None:
    r = rng(12)
    q, k, v = r.standard_normal((2, 6, 4, 8)), r.standard_normal((2, 3, 5, 8)), r.standard_normal((2, 3, 5, 2))
    mask = np.tri(4, 5, 1, dtype=bool)
    shared = grouped_query_attention(q, k, v, mask, scale=0.5)
    for head in range(6):
        alone = scaled_dot_product_attention(q[:, head], k[:, head // 2], v[:, head // 2], mask, scale=0.5)
        assert np.max(np.abs(shared[:, head] - alone)) <= 64 * U * np.max(np.abs(v))
    for is_causal in (True, False):
        near = local_attention(q[:, :3], k, v, window=2, is_causal=is_causal, scale=1.0)
        for row in range(4):
            keys = [j for j in range(5) if abs(row - j) <= 2 and (j <= row or not is_causal)]
            few = k[:, :, keys], v[:, :, keys]
            alone = scaled_dot_product_attention(q[:, :3, row : row + 1], *few, scale=1.0)
            assert np.max(np.abs(near[:, :, row : row + 1] - alone)) <= 256 * U * np.max(np.abs(v))


@pytest.mark.parametrize("d_k", [16, 64])
def test_the_variance_of_a_score_is_d_k_and_one_after_scaling(d_k: int) -> None:
    """This holds for q, k ~ N(0, 1). With the keys k and 0 and v = identity, the log of the ratio of weights is the score."""
    draws = 20000
    q, k = rng(13).standard_normal((draws, 1, d_k)), rng(14).standard_normal((draws, 1, d_k))
    # Given q, scores are |q_i| Z_i with Z_i ~ N(0, 1), and their sum of squares a chi-square of weights a_i = |q_i|^2.
    # Laurent and Massart (2000): with probability 2 e^-t at most it leaves sum(a) by more than 2 |a| sqrt(t) +
    # 2 max(a) t; likewise sum(a), a chi-square of draws * d_k degrees of freedom, leaves its mean by more than
    # 2 sqrt(draws d_k t) + 2 t. Together 4 e^-t < 1e-9.
    t = math.log(4.1e9)
    a = np.sum(np.square(q), axis=(1, 2))
    free = 2 * math.sqrt(float(np.sum(np.square(a))) * t) + 2 * float(np.max(a)) * t
    limit = (free + 2 * math.sqrt(draws * d_k * t) + 2 * t) / (draws * d_k)
    assert limit < 0.1
    keys = np.concatenate([k, np.zeros_like(k)], axis=1)
    for scale, variance in ((1.0, d_k), (None, 1)):
        p = scaled_dot_product_attention(q, keys, np.eye(2), scale=scale)
        score = np.log(p[..., 0]) - np.log(p[..., 1])
        assert abs(np.mean(np.square(score)) / variance - 1) <= limit


# --- masks and slopes -------------------------------------------------------------------------------------------------


def test_masks_are_their_definitions() -> None:
    for n in range(5):
        for m in range(5):
            cells = [(i, j) for i in range(n) for j in range(m)]
            for aligned, shift in (("bottom-right", m - n), ("top-left", 0)):
                mask = causal_mask(n=n, m=m, aligned=aligned)
                assert mask.dtype == bool
                assert mask.shape == (n, m)
                assert all(mask[i, j] == (j <= i + shift) for i, j in cells)
            for window in range(6):
                mask = sliding_window_mask(n=n, m=m, window=window, is_causal=False)
                assert mask.dtype == bool
                assert mask.shape == (n, m)
                assert all(mask[i, j] == (abs(i - j) <= window) for i, j in cells)
                mask = sliding_window_mask(n=n, m=m, window=window)
                assert all(mask[i, j] == (abs(i - j) <= window and j <= i) for i, j in cells)
    assert np.array_equal(causal_mask(n=3), np.tri(3, dtype=bool))


@pytest.mark.parametrize("heads", range(1, 130))
def test_alibi_slopes(heads: int) -> None:
    """A slope is exact where the exponent is an integer. Elsewhere it errs by at most one unit in the last place."""
    p = 2 ** math.floor(math.log2(heads))
    exponents = [Fraction(-8 * (i + 1), p) for i in range(p)]
    exponents += [Fraction(-8 * (i + 1), 2 * p) for i in range(0, 2 * p, 2)][: heads - p]
    slopes = alibi_slopes(num_heads=heads)
    assert slopes.dtype == np.float64
    assert slopes.shape == (heads,)
    with mpmath.workdps(DIGITS):
        exact = [mpf(2) ** (mpf(e.numerator) / e.denominator) for e in exponents]
    exactly = np.array([e.denominator == 1 for e in exponents])
    assert_within(slopes, exact, np.where(exactly, TINY, 2 * U * slopes))
    assert all(float(s) == e for s, e, plain in zip(slopes, exact, exactly, strict=True) if plain)


def test_alibi_bias() -> None:
    bias = alibi_bias(alibi_slopes(num_heads=8), n=3, m=5)
    assert all(bias[h, i, j] == -(2.0 ** -(h + 1)) * abs(i - j) for h, i, j in np.ndindex(8, 3, 5))
    assert not np.any(np.signbit(bias[:, range(3), range(3)]))
    assert alibi_bias([0.5, 0.25], n=4).shape == (2, 4, 4)
    assert alibi_bias([0.5, 0.25], n=4, m=0).shape == (2, 4, 0)
