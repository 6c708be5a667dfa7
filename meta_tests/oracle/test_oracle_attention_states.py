"""Test the oracle's attention with weights and with lse, and the merge of states, against 60 digits (see sixty_digits.py)."""

import operator
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from reference_numpy.attention_with_lse import attention_with_lse
from reference_numpy.attention_with_weights import attention_with_weights
from reference_numpy.latent_attention import latent_attention
from reference_numpy.latent_attention_absorbed import latent_attention_absorbed
from reference_numpy.merge_attention_states import merge_attention_states
from reference_numpy.sparse_attention import sparse_attention

from ..support.sixty_digits import DIGITS, U, assert_within, rng

N, M, D_K, D_V, H, H_KV = 5, 5, 4, 3, 4, 2


def attend_in_digits(q: Any, k: Any, v: Any, seen: Any, sink: Any, scale: Any, softcap: Any) -> tuple[list[Any], list[Any]]:
    """Return out and lse of one query in 60 digits."""
    scores = [sum(mpf(a) * mpf(b) for a, b in zip(q, key, strict=True)) * scale for key in k]
    scores = [s if softcap is None else mpf(softcap) * mpmath.tanh(s / mpf(softcap)) for s in scores]
    e = [mpmath.exp(s) if visible else mpf(0) for s, visible in zip(scores, seen, strict=True)]
    total = sum(e) + (mpmath.exp(mpf(sink)) if sink is not None else 0)
    out = [sum(w * mpf(x) for w, x in zip(e, column, strict=True)) / total for column in np.transpose(v)]
    return out, [mpmath.log(total)]


@pytest.mark.parametrize("sinks", [False, True])
@pytest.mark.parametrize("softcap", [None, 0.5, 30.0])
@pytest.mark.parametrize("hidden", [{}, {"is_causal": True}, {"left_window": 1}, {"left_window": 2, "right_window": 1}, "mask"])
def test_attention_with_lse(hidden: Any, softcap: float | None, sinks: bool) -> None:
    r = rng(21)
    q, k, v = r.standard_normal((H, N, D_K)), r.standard_normal((H_KV, M, D_K)), r.standard_normal((H_KV, M, D_V))
    sink = 2 * r.standard_normal(H) if sinks else None
    i, j = np.arange(N)[:, None], np.arange(M)
    options = {} if hidden == "mask" else hidden
    mask = (r.random((N, M)) < 0.5) | np.eye(N, dtype=bool) if hidden == "mask" else None
    near = (j >= i - options.get("left_window", M)) & (j <= i + options.get("right_window", M))
    seen = near & ((j <= i) | ("is_causal" not in options)) & (True if mask is None else mask)
    out, lse = attention_with_lse(q, k, v, mask, sink, softcap=softcap, **options)
    exact_out, exact_lse = [], []
    with mpmath.workdps(DIGITS):
        for h, n in np.ndindex(H, N):
            s = None if sink is None else sink[h]
            a, b = attend_in_digits(q[h, n], k[h // 2], v[h // 2], seen[n], s, 1 / mpmath.sqrt(D_K), softcap)
            exact_out += a
            exact_lse += b
    limit = 200 * U * (1 + np.max(np.abs(v)))  # scores, weights and sums of a handful of terms of size 1
    assert_within(out, exact_out, np.full(out.shape, limit))
    assert_within(lse, exact_lse, np.full(lse.shape, limit))


def test_weights_are_those_of_attention() -> None:
    r = rng(22)
    q, k, v = r.standard_normal((2, N, D_K)), r.standard_normal((2, M, D_K)), r.standard_normal((2, M, D_V))
    out, weights = attention_with_weights(q, k, v, is_causal=True)
    exact = []
    with mpmath.workdps(DIGITS):
        for b, n in np.ndindex(2, N):
            for m in range(M):
                one = np.eye(M)[m][:, None]
                exact += attend_in_digits(q[b, n], k[b], one, np.arange(M) <= n, None, 1 / mpmath.sqrt(D_K), None)[0]
    assert_within(weights, exact, np.full(weights.shape, 200 * U))
    assert np.max(np.abs(weights @ v - out)) <= 8 * U * np.max(np.abs(v))


@pytest.mark.parametrize("gap", [0.0, 1.5, -40.0, 800.0])
def test_merge(gap: float) -> None:
    r = rng(23)
    a, b, s_a = r.standard_normal((3, D_V)), r.standard_normal((3, D_V)), 10 * r.standard_normal(3)
    out, lse = merge_attention_states(a, s_a, b, s_a + gap)
    exact_out, exact_lse = [], []
    with mpmath.workdps(DIGITS):
        for row in range(3):
            e_a, e_b = mpmath.exp(mpf(s_a[row])), mpmath.exp(mpf(s_a[row] + gap))
            exact_out += [(e_a * mpf(x) + e_b * mpf(y)) / (e_a + e_b) for x, y in zip(a[row], b[row], strict=True)]
            exact_lse.append(mpmath.log(e_a + e_b))
    assert_within(out, exact_out, np.full(out.shape, 16 * U * (1 + abs(gap))))
    assert_within(lse, exact_lse, np.full(lse.shape, 16 * U * (1 + np.max(np.abs(s_a)) + abs(gap))))


def test_empty_parts() -> None:
    a, b, nothing = np.array([[1.0, -2.0]]), np.full((1, 2), np.nan), np.array([-np.inf])
    for states in ((a, np.array([3.0]), b, nothing), (b, nothing, a, np.array([3.0]))):
        out, lse = merge_attention_states(*states)
        assert np.array_equal(out, a)
        assert np.array_equal(lse, [3.0])
    with np.errstate(all="ignore"):
        out, lse = merge_attention_states(b, nothing, b, nothing)
    assert np.isnan(out).all()
    assert np.isneginf(lse).all()


@pytest.mark.parametrize("block_size", [1, 2])
def test_sparse_attention(block_size: int) -> None:
    r = rng(24)
    q, k, v = r.standard_normal((H, 3, D_K)), r.standard_normal((H_KV, M, D_K)), r.standard_normal((H_KV, M, D_V))
    indices = np.array([[1, -1, -1], [-1, 0, 1], [2, 0, -1]])
    out, lse = sparse_attention(q, k, v, indices, block_size=block_size)
    exact_out, exact_lse = [], []
    with mpmath.workdps(DIGITS):
        for h, n in np.ndindex(H, 3):
            seen = [j // block_size in indices[n] and j <= n + M - 3 for j in range(M)]
            a, b = attend_in_digits(q[h, n], k[h // 2], v[h // 2], seen, None, 1 / mpmath.sqrt(D_K), None)
            exact_out += a
            exact_lse += b
    assert_within(out, exact_out, np.full(out.shape, 200 * U * (1 + np.max(np.abs(v)))))
    assert_within(lse, exact_lse, np.full(lse.shape, 200 * U))


def test_latent_attention() -> None:
    """Its absorbed form, too: rows up to a length, and the columns of the cache that are values."""
    r, n, rank, d_r = rng(25), 3, 5, 2
    q_nope, q_rope = r.standard_normal((2, n, D_K)), r.standard_normal((2, n, d_r))
    latent, k_rope = r.standard_normal((M, rank)), r.standard_normal((M, d_r))
    w_uk, w_uv = r.standard_normal((2, D_K, rank)), r.standard_normal((2, D_V, rank))
    out, lse = latent_attention(q_nope, q_rope, latent, k_rope, w_uk, w_uv, np.array(4))
    exact_out, exact_lse = [], []
    with mpmath.workdps(DIGITS):
        for h, i in np.ndindex(2, n):
            keys, values = (
                [[sum(map(operator.mul, map(mpf, w), map(mpf, c))) for w in weight[h]] for c in latent] for weight in (w_uk, w_uv)
            )
            keys = [[*key, *rotated] for key, rotated in zip(keys, k_rope, strict=True)]
            seen = [j <= i + 4 - n for j in range(M)]
            query = [*q_nope[h, i], *q_rope[h, i]]
            a, b = attend_in_digits(query, keys, values, seen, None, 1 / mpmath.sqrt(D_K + d_r), None)
            exact_out += a
            exact_lse += b
    limit = 2000 * U * (1 + np.max(np.abs(latent))) * rank  # products of handfuls of numbers of size 1
    assert_within(out, exact_out, np.full(out.shape, limit))
    assert_within(lse, exact_lse, np.full(lse.shape, limit))
    absorbed = np.concatenate([q_nope @ w_uk, q_rope], axis=-1), np.concatenate([latent, k_rope], axis=-1)
    in_latents, other = latent_attention_absorbed(*absorbed, np.array(4), rank=rank, scale=(D_K + d_r) ** -0.5)
    assert np.max(np.abs(in_latents @ np.swapaxes(w_uv, -1, -2) - out)) <= limit
    assert np.max(np.abs(other - lse)) <= limit


def test_latents_in_pages() -> None:
    """A page that two rows share, a last page that is not full, and entries of the table that are no page."""
    r = rng(26)
    q, pages = r.standard_normal((2, 3, 2, 5)), r.standard_normal((4, 2, 5))
    lengths, table = np.array([5, 3]), np.array([[2, 0, 3], [0, 1, -1]])
    cache = np.stack([np.concatenate([pages[2], pages[0], pages[3]]), np.concatenate([pages[0], pages[1], 0 * pages[0]])])
    own = latent_attention_absorbed(q, cache, lengths, rank=3, scale=0.7)
    for one, in_rows in zip(latent_attention_absorbed(q, pages, lengths, table, rank=3, scale=0.7), own, strict=True):
        assert np.array_equal(one, in_rows)


def test_latents_without_a_rotated_part() -> None:
    r, nothing = rng(27), np.zeros((2, 3, 0))
    q, latent, w_uk, w_uv = (r.standard_normal(shape) for shape in ((2, 3, 4), (5, 6), (2, 4, 6), (2, 3, 6)))
    none = latent_attention(q, nothing, latent, np.zeros((5, 0)), w_uk, w_uv)
    zeros = latent_attention(q, np.zeros((2, 3, 1)), latent, np.zeros((5, 1)), w_uk, w_uv, scale=0.5)
    for one, other in zip(none, zeros, strict=True):
        assert np.max(np.abs(one - other)) <= 200 * U * (1 + np.max(np.abs(latent)))
