"""Test the oracle's networks and models against 60 digits (see sixty_digits.py) and against their parts."""

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from reference_numpy.d_ff import d_ff
from reference_numpy.embedding import embedding
from reference_numpy.feed_forward import feed_forward
from reference_numpy.glu import glu
from reference_numpy.linear import linear
from reference_numpy.multihead_self_attention import multihead_self_attention
from reference_numpy.parameter_count import parameter_count
from reference_numpy.rms_norm import rms_norm
from reference_numpy.rope import rope
from reference_numpy.scaled_dot_product_attention import scaled_dot_product_attention
from reference_numpy.swiglu import swiglu
from reference_numpy.transformer_block import transformer_block
from reference_numpy.transformer_lm import transformer_lm

from ..support.sixty_digits import DIGITS, U, assert_within, rng
from ..support.tiny_model import D_K, H_KV, VOCAB, D, F, H, block_weights, count_numbers, model_weights


@pytest.mark.parametrize("layers", [0, 1, 3])
def test_parameter_count_is_the_size_of_the_arrays(layers: int) -> None:
    weights = model_weights(layers, rng(15))
    options = {"num_heads": H, "num_kv_heads": H_KV, "vocab_size": VOCAB}
    assert parameter_count(d_model=D, d_ff=F, num_layers=layers, **options) == count_numbers(weights)
    logits = transformer_lm([[3, 1, 2]], weights, num_heads=H, num_kv_heads=H_KV, theta=100.0, eps=1e-5)
    assert logits.shape == (1, 3, VOCAB)


def test_parameter_count_of_the_exercise() -> None:
    for d, heads, f, layers, total in ((256, 4, 1024, 24, 18_954_240), (1024, 16, 4096, 6, 75_577_344)):
        arrays = [(3 * d, d), (3 * d,), (d, d), (d,), (f, d), (f,), (d, f), (d,), (d,), (d,), (d,), (d,)]
        assert layers * sum(map(math.prod, arrays)) == total
        options = {"d_model": d, "d_ff": f, "num_layers": layers, "num_heads": heads, "style": "encoder"}
        assert parameter_count(**options) == total
        assert parameter_count(**options, vocab_size=7) == total + 7 * d


def test_d_ff_is_the_nearest_multiple_of_64() -> None:
    """Halfway cases are rounded up."""
    for d in range(1, 5000):
        width = d_ff(d)
        assert width % 64 == 0
        assert width >= 64
        assert 3 * width - 8 * d <= 3 * 32 or width == 64
        assert 8 * d - 3 * width < 3 * 32


def test_multihead_attention_by_hand() -> None:
    """Compute every head alone, by slices. The results agree up to the roundings of products of d terms."""
    r = rng(16)
    n, w, positions = 5, block_weights(r), np.array([[4, 0, 7, 7, -3], [0, 1, 2, 3, 4]])
    x = r.standard_normal((2, n, D))
    got = multihead_self_attention(
        x, w["w_q"], w["w_k"], w["w_v"], w["w_o"], positions, num_heads=H, num_kv_heads=H_KV, theta=100.0, layout="half"
    )
    total, size = np.zeros_like(x), np.zeros_like(x)
    for b, h in np.ndindex(2, H):
        own, g = slice(h * D_K, (h + 1) * D_K), h // (H // H_KV)
        shared = slice(g * D_K, (g + 1) * D_K)
        q = rope(x[b] @ w["w_q"][own].T, positions[b], theta=100.0, layout="half")
        k = rope(x[b] @ w["w_k"][shared].T, positions[b], theta=100.0, layout="half")
        head = scaled_dot_product_attention(q, k, x[b] @ w["w_v"][shared].T, np.tri(n, dtype=bool))
        total[b] += head @ w["w_o"][:, own].T
        size[b] += np.abs(head) @ np.abs(w["w_o"][:, own].T) + 1
    assert np.all(np.abs(got - total) <= (D + 64) * U * size)


def test_the_model_is_the_composition_of_its_parts() -> None:
    w, ids, eps = model_weights(2, rng(17)), np.array([3, 0, 10, 3]), 1e-5
    heads = {"num_heads": H, "num_kv_heads": H_KV, "theta": 50.0}

    def attention(h: Any, layer: Any) -> Any:
        return multihead_self_attention(h, *(layer[key] for key in ("w_q", "w_k", "w_v", "w_o")), **heads)

    x = embedding(ids, w["token_embedding"])
    assert np.array_equal(x, w["token_embedding"][ids])
    for layer in w["layers"]:
        f = layer["w1"], layer["w2"], layer["w3"]
        post = rms_norm(x + attention(x, layer), layer["attn_norm"], eps=eps)
        post = rms_norm(post + swiglu(post, *f), layer["ffn_norm"], eps=eps)
        assert np.array_equal(transformer_block(x, layer, eps=eps, norm="post", **heads), post)
        x = x + attention(rms_norm(x, layer["attn_norm"], eps=eps), layer)
        x = x + swiglu(rms_norm(x, layer["ffn_norm"], eps=eps), *f)
    assert np.array_equal(transformer_lm(ids, w, eps=eps, **heads), rms_norm(x, w["final_norm"], eps=eps) @ w["lm_head"].T)


def test_linear_and_the_feed_forward_networks() -> None:
    """Compare with sums in 60 digits. Products of d terms err by d u times the sum of the terms' sizes."""
    r = rng(18)
    x, w1, w2, w3 = (
        r.standard_normal(5),
        r.standard_normal((7, 5)),
        r.standard_normal((5, 7)),
        r.standard_normal((7, 5)),
    )
    b1, b2 = r.standard_normal(7), r.standard_normal(5)

    def product(w: Any, a: Any, b: Any = None) -> list[Any]:
        rows = [sum(mpf(float(c)) * e for c, e in zip(row, a, strict=True)) for row in w]
        return rows if b is None else [e + mpf(float(c)) for e, c in zip(rows, b, strict=True)]

    with mpmath.workdps(DIGITS):
        xs = [mpf(a) for a in x]
        first, third = product(w1, xs), product(w3, xs)
        gates = [1 / (1 + mpmath.exp(-a)) for a in first]
        gated = [a * s * c for a, s, c in zip(first, gates, third, strict=True)]
        biased = product(w1, xs, b1)
        normal = [a * mpmath.erfc(-a / mpmath.sqrt(2)) / 2 for a in biased]
        exact = {
            "linear": biased,
            "glu": [s * c for s, c in zip(gates, third, strict=True)],
            "swiglu": product(w2, gated),
            "relu": product(w2, [max(a, mpf(0)) for a in biased], b2),
            "gelu": product(w2, normal, b2),
        }
    size = 1 + np.abs(w1) @ np.abs(x) + np.abs(b1)  # at least the sizes of everything hidden, and their sensitivity
    wide = size * (1 + np.abs(w3) @ np.abs(x))
    assert_within(linear(x, w1, b1), exact["linear"], 6 * U * size)
    assert_within(glu(x, w1, w3), exact["glu"], 20 * U * wide)
    assert_within(swiglu(x, w1, w2, w3), exact["swiglu"], 30 * U * (np.abs(w2) @ wide))
    for name in ("relu", "gelu"):
        limit = 30 * U * (np.abs(w2) @ np.square(size) + np.abs(b2))
        assert_within(feed_forward(x, w1, w2, b1, b2, activation=name), exact[name], limit)
