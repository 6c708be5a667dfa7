"""What must hold of transformer_block."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .calls.result import Result
from .helpers.assertions import assert_equal, assert_identical, assert_within, exactly
from .helpers.attention_inputs import draw_other_values
from .helpers.heads import select_attention_keywords, silence
from .helpers.keywords import require_accepted
from .inputs.draw import Draw, within_domain
from .operations.rope import require_positions
from .operations.scaled_dot_product_attention import draw_part
from .operations.transformer_block import draw_inputs
from .trials.invariant import invariant

PRE = "CS336 assignment 1, section 3.6"
Weights = dict[str, np.ndarray]


def normalize(x: Any, gain: np.ndarray, eps: float) -> Any:
    """Return rms_norm(x) by the equation, with its error."""
    return x / np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + eps) * gain


# --- what each part does --------------------------------------------------------------------------------------------


@invariant("E", source=PRE)
def test_residual_path(transformer_block: Operation, draw: Draw) -> None:
    """Where both sub-layers give nothing (w_o or w_v zero; w2 or w3 zero) the result is exactly x."""
    x, weights, keywords = draw_inputs(draw, "theta")
    silent = silence(weights, draw.one_of(("w_o", "w_v")), draw.one_of(("w2", "w3")))
    assert_identical(transformer_block(x, silent, **keywords), x)


@invariant("B", source=PRE)
def test_norms_are_their_own(transformer_block: Operation, draw: Draw) -> None:
    """attn_norm stands before attention alone, ffn_norm before the feed-forward alone: a gain of zero silences its sub-layer,
    and where a sub-layer is silent its gain does not matter."""
    x, weights, keywords = draw_inputs(draw, "theta")
    for gain, out in (("attn_norm", "w_o"), ("ffn_norm", "w2")):
        silent = transformer_block(x, silence(weights, out), **keywords)
        assert_equal(transformer_block(x, silence(weights, gain), **keywords), silent)
        other = transformer_block(x, silence(weights, out) | {gain: draw.gain(x.shape[-1])}, **keywords)
        assert_equal(Result(other.value, silent.call), silent)


@invariant("B", source=PRE, cost=1.5)
def test_feed_forward_half(transformer_block: Operation, rms_norm: Operation, swiglu: Operation, draw: Draw) -> None:
    """With w_o = 0 it is x + swiglu(rms_norm(x, ffn_norm)), of the backend's own parts."""
    x, weights, keywords = draw_inputs(draw, "theta")
    normed = rms_norm(x, weights["ffn_norm"], eps=keywords["eps"])
    ffn = swiglu(normed, weights["w1"], weights["w2"], weights["w3"])
    assert_equal(transformer_block(x, silence(weights, "w_o"), **keywords), exactly(x) + ffn)


@invariant("B", source=PRE, cost=1.5)
def test_attention_half(
    transformer_block: Operation, rms_norm: Operation, multihead_self_attention: Operation, draw: Draw
) -> None:
    """With w2 = 0 it is x + attention(rms_norm(x, attn_norm)), of the backend's own parts."""
    x, weights, keywords = draw_inputs(draw, "theta")
    normed = rms_norm(x, weights["attn_norm"], eps=keywords["eps"])
    projections = (weights[name] for name in ("w_q", "w_k", "w_v", "w_o"))
    parts = require_accepted(select_attention_keywords(keywords), multihead_self_attention)
    attention = multihead_self_attention(normed, *projections, **parts)
    assert_equal(transformer_block(x, silence(weights, "w2"), **keywords), exactly(x) + attention)


@invariant("B", source=PRE)
def test_affine_in_w2(transformer_block: Operation, draw: Draw) -> None:
    """The result for w2 = 2a − b is twice that for a, less that for b: the residual path counts once."""
    x, weights, keywords = draw_inputs(draw, "theta")
    a, b = draw.grid(weights["w2"].shape), draw.grid(weights["w2"].shape)
    once, other = (transformer_block(x, weights | {"w2": w}, **keywords) for w in (a, b))
    assert_equal(transformer_block(x, weights | {"w2": 2 * a - b}, **keywords), 2.0 * once - other)


@invariant("B", source=PRE)
def test_order_of_hidden_units(transformer_block: Operation, draw: Draw) -> None:
    """Permuting the rows of w1 and w3 and the columns of w2 together does not change the result."""
    x, weights, keywords = draw_inputs(draw, "theta", "norm")
    order = draw.rng.permutation(len(weights["w1"]))
    permuted = {"w1": weights["w1"][order], "w3": weights["w3"][order], "w2": weights["w2"][:, order]}
    assert_equal(transformer_block(x, weights | permuted, **keywords), transformer_block(x, weights, **keywords))


# --- tokens and positions -------------------------------------------------------------------------------------------


@invariant("B", source=PRE)
def test_causal_prefix(transformer_block: Operation, draw: Draw) -> None:
    """The result of a prefix is the prefix of the result, whatever follows, large finite tokens too."""
    x, weights, keywords = draw_inputs(draw, "theta", "norm")
    t = draw_part(draw, x.shape[-2], "n")
    place = keywords.get("positions")
    early = keywords | ({} if place is None else {"positions": place[..., :t]})
    prefix = transformer_block(x[..., :t, :], weights, **early)
    for tokens in (x, draw_other_values(draw, x.shape, draw.format.max**0.5 / (64 * x.shape[-1]))):
        longer = np.concatenate([x[..., :t, :], tokens[..., t:, :]], axis=-2)
        y = transformer_block(longer, weights, **keywords)
        assert_equal(Result(y.value[..., :t, :], prefix.call), prefix)


@invariant("B", source=PRE, needs=("keyword:theta", "keyword:positions"))
def test_shift_of_positions(transformer_block: Operation, draw: Draw) -> None:
    """Adding one number to all positions does not change the result, and without positions they are 0, …, n − 1."""
    x, weights, keywords = draw_inputs(draw, rotated=True)
    require_positions(draw, "offset")
    positions = np.arange(x.shape[-2]) + draw.one_of((1, 62, 127, 2047, 4095))  # across the ends of usual tables
    shifted = transformer_block(x, weights, **(keywords | {"positions": positions}))
    assert_equal(shifted, transformer_block(x, weights, **{k: v for k, v in keywords.items() if k != "positions"}))


@invariant("B", source="the book's exercise 8", needs=("keyword:num_kv_heads",))
def test_shared_heads_are_repeated_weights(transformer_block: Operation, draw: Draw) -> None:
    """Fewer heads of keys and values are as many, each repeated for its group."""
    x, weights, keywords = draw_inputs(draw, "theta", "norm")
    h = keywords["num_heads"]
    h_kv = keywords["num_kv_heads"] or h
    within_domain(draw, h_kv=h)
    repeated = {
        name: np.repeat(weights[name].reshape(h_kv, -1, x.shape[-1]), h // h_kv, axis=0).reshape(-1, x.shape[-1])
        for name in ("w_k", "w_v")
    }
    y = transformer_block(x, weights | repeated, **(keywords | {"num_kv_heads": h}))
    assert_equal(transformer_block(x, weights, **keywords), y)


# --- post-norm ------------------------------------------------------------------------------------------------------


@invariant("B", source="Vaswani et al. 2017, section 5.4", needs=("keyword:norm",))
def test_post_norm_is_normalized(transformer_block: Operation, draw: Draw) -> None:
    """norm = "post": with gain 1 the mean of y² is at most 1 in each row."""
    x, weights, keywords = draw_inputs(draw, "theta")
    ones = {"ffn_norm": np.ones(x.shape[-1])}
    y: Any = transformer_block(x, weights | ones, **keywords, norm="post")
    assert_within(np.mean(np.square(y), axis=-1), 0.0, 1.0)


@invariant("B", needs=("keyword:norm",))
def test_post_norm_of_silent_parts(transformer_block: Operation, draw: Draw) -> None:
    """norm = "post": where both sub-layers give nothing the result is norm₂(norm₁(x)), first with attn_norm."""
    x, weights, keywords = draw_inputs(draw, "theta")
    silent, eps = silence(weights, "w_o", "w2"), keywords["eps"]
    y = transformer_block(x, silent, **keywords, norm="post")
    once = normalize(exactly(x), weights["attn_norm"], eps)
    assert_equal(y, normalize(once, weights["ffn_norm"], eps))
