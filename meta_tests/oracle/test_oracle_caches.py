"""Test the oracle's attention to caches, to pages and to packed sequences against 60 digits (see sixty_digits.py)."""

from typing import Any

import mpmath
import numpy as np
import pytest

from reference_numpy.attention_with_kv_cache import attention_with_kv_cache
from reference_numpy.kv_cache_append import kv_cache_append
from reference_numpy.paged_attention import paged_attention
from reference_numpy.variable_length_attention import variable_length_attention

from ..support.sixty_digits import DIGITS, U, assert_within, rng
from .test_oracle_attention_states import attend_in_digits

D_K, D_V, H, H_KV = 4, 3, 4, 2

OPTIONS: list[dict[str, Any]] = [
    {},
    {"is_causal": False},
    {"is_causal": True, "softcap": 0.5},
    {"left_window": 1, "scale": -0.6},
    {"is_causal": False, "left_window": 2, "right_window": 1},
]


def attend_row(q: Any, k: Any, v: Any, sinks: Any, options: dict[str, Any]) -> list[Any]:
    """Return attention of n queries, the last of which is level with the last of m keys, head by head in 60 digits."""
    n, m, exact = q.shape[1], k.shape[1], []
    scale = options.get("scale")
    scale = 1 / mpmath.sqrt(D_K) if scale is None else mpmath.mpf(scale)
    for h, i in np.ndindex(H, n):
        position = m - n + i
        near = [position - options.get("left_window", m) <= j <= position + options.get("right_window", m) for j in range(m)]
        seen = [near[j] and (j <= position or not options["is_causal"]) for j in range(m)]
        sink = None if sinks is None else sinks[h]
        exact += attend_in_digits(q[h, i], k[h // 2], v[h // 2], seen, sink, scale, options.get("softcap"))[0]
    return exact


def draw_sinks(sinks: bool) -> Any:
    return 2 * rng(31).standard_normal(H) if sinks else None


def limits(out: Any, v: Any) -> Any:
    """Return the largest error of scores, weights and sums of a handful of terms of size 1."""
    return np.full(out.shape, 200 * U * (1 + np.max(np.abs(v))))


@pytest.mark.parametrize("sinks", [False, True])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_attention_with_kv_cache(options: dict[str, Any], sinks: bool) -> None:
    r, lengths, n, slots = rng(32), np.array([2, 7, 5]), 2, 7
    q, k, v = (r.standard_normal((3, *shape)) for shape in ((H, n, D_K), (H_KV, slots, D_K), (H_KV, slots, D_V)))
    sink = draw_sinks(sinks)
    out = attention_with_kv_cache(q, k, v, lengths, sink, **options)
    exact, own = [], {"is_causal": True, **options}
    with mpmath.workdps(DIGITS):
        for row, length in enumerate(lengths):
            exact += attend_row(q[row], k[row, :, :length], v[row, :, :length], sink, own)
    assert_within(out, exact, limits(out, v))


@pytest.mark.parametrize("sinks", [False, True])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_paged_attention(options: dict[str, Any], sinks: bool) -> None:
    """A page is shared by two rows, one occurs twice in a row, a last page is full, and entries beyond the lengths are stale."""
    r, n = rng(33), 2
    lengths, table = np.array([6, 4, 8]), np.array([[4, 1, 0], [2, 4, 3], [0, 3, 0]])
    q, k, v = (r.standard_normal(shape) for shape in ((3, H, n, D_K), (5, 3, H_KV, D_K), (5, 3, H_KV, D_V)))
    sink = draw_sinks(sinks)
    out = paged_attention(q, k, v, table, lengths, sink, **options)
    exact, own = [], {"is_causal": True, **options}
    with mpmath.workdps(DIGITS):
        for row, length in enumerate(lengths):
            places = [(table[row, slot // 3], slot % 3) for slot in range(length)]
            keys, values = (np.stack([x[place] for place in places], axis=1) for x in (k, v))
            exact += attend_row(q[row], keys, values, sink, own)
    assert_within(out, exact, limits(out, v))


@pytest.mark.parametrize("sinks", [False, True])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_variable_length_attention(options: dict[str, Any], sinks: bool) -> None:
    """Members have one query, none, and as many queries as keys; the last keys belong to a member without queries."""
    r, ends_q, ends_k = rng(34), np.array([0, 1, 1, 4, 4]), np.array([0, 4, 4, 7, 9])
    q, k, v = (r.standard_normal(shape) for shape in ((4, H, D_K), (9, H_KV, D_K), (9, H_KV, D_V)))
    sink = draw_sinks(sinks)
    out = variable_length_attention(q, k, v, ends_q, ends_k, sink, **options)
    exact, own = [], {"is_causal": False, **options}
    with mpmath.workdps(DIGITS):
        for a, b, c, d in zip(ends_q, ends_q[1:], ends_k, ends_k[1:], strict=False):
            arrays = (np.swapaxes(x, 0, 1) for x in (q[a:b], k[c:d], v[c:d]))
            exact += list(
                np.reshape(np.array(attend_row(*arrays, sink, own), dtype=object), (H, b - a, D_V)).swapaxes(0, 1).ravel()
            )
    assert_within(out, exact, limits(out, v))


SCALES = ((), (H_KV,), "each slot")


def draw_scales(shape: Any, slots: tuple[int, ...], seed: int) -> Any:
    """Return scales of this shape, or one for each slot of each head, as such and as they multiply the cache."""
    scale = 2.0 ** rng(seed).uniform(-2, 2, slots if shape == "each slot" else shape)
    if shape == "each slot":
        return scale, scale[..., None]
    return scale, scale[..., None, None] if slots[-1] != H_KV else np.expand_dims(scale, -1)


@pytest.mark.parametrize("shape", SCALES, ids=str)
def test_scales_of_a_cache(shape: Any) -> None:
    """Numbers of int8 times their scales, in rows and in pages."""
    r, n, lengths = rng(35), 2, np.array([5, 6, 3])
    q = r.standard_normal((3, H, n, D_K))
    k, v = (r.integers(-128, 128, (3, H_KV, 6, d)).astype(float) for d in (D_K, D_V))
    (k_scale, k_wide), (v_scale, v_wide) = (draw_scales(shape, (3, H_KV, 6), seed) for seed in (36, 37))
    found = attention_with_kv_cache(q, k, v, lengths, k_scale=k_scale, v_scale=v_scale, scale=0.01, cache_dtype="int8")
    whole = attention_with_kv_cache(q, k * k_wide, v * v_wide, lengths, scale=0.01)
    np.testing.assert_array_equal(found, whole)
    table = np.array([[4, 1, 0], [2, 4, 3], [0, 3, 0]])
    k, v = (r.integers(-128, 128, (5, 2, H_KV, d)).astype(float) for d in (D_K, D_V))
    (k_scale, k_wide), (v_scale, v_wide) = (draw_scales(shape, (5, 2, H_KV), seed) for seed in (38, 39))
    scales = {"k_scale": k_scale, "v_scale": v_scale}
    found = paged_attention(q, k, v, table, lengths, **scales, scale=0.01, cache_dtype="int8")
    np.testing.assert_array_equal(found, paged_attention(q, k * k_wide, v * v_wide, table, lengths, scale=0.01))


@pytest.mark.parametrize("shape", SCALES, ids=str)
def test_new_keys_are_quantized(shape: Any) -> None:
    """The slot of each new key has the number that is nearest to its quotient, and others keep theirs."""
    r, lengths = rng(40), np.array([0, 3])
    caches = [r.integers(-128, 128, (2, H_KV, 5, d)).astype(float) for d in (D_K, D_V)]
    new = [100 * r.standard_normal((2, H_KV, 2, d)) for d in (D_K, D_V)]
    scales = [draw_scales(shape, (2, H_KV, 5), seed) for seed in (41, 42)]
    found = kv_cache_append(*caches, *new, lengths, *(scale for scale, _ in scales), cache_dtype="int8")
    for held, cache, x, (_, wide) in zip(found, caches, new, scales, strict=True):
        for b, h, slot, i in np.ndindex(cache.shape):
            token = slot - lengths[b]
            s = np.broadcast_to(wide, cache.shape)[b, h, slot, i]
            expected = round(min(max(x[b, h, token, i] / s, -128), 127)) if 0 <= token < 2 else cache[b, h, slot, i]
            assert held[b, h, slot, i] == expected


@pytest.mark.parametrize(
    ("options", "words"), [({"cache_dtype": "int4"}, "is unknown"), ({"k_scale": 1.0}, "without cache_dtype")]
)
def test_wrong_formats_of_caches_are_named(options: dict[str, Any], words: str) -> None:
    q, cache, lengths = np.ones((1, 1, 1, 1)), np.ones((1, 1, 1, 1)), np.zeros(1, dtype=int)
    with pytest.raises(ValueError, match=words):
        attention_with_kv_cache(q, cache, cache, lengths, **options)
    with pytest.raises(ValueError, match=words):
        kv_cache_append(cache, cache, q, q, lengths, **options)
