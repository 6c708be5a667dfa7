"""What must hold of transformer_block with its optional parts: norms behind the sub-layers, experts, other gates and scores."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .calls.violation import NotImplementedVariant
from .helpers.assertions import assert_equal, assert_within, exactly
from .helpers.heads import select_attention_keywords, silence
from .helpers.keywords import accepted, accepted_keywords, require_accepted
from .inputs.draw import Draw
from .operations.mixture_of_experts import GATE, draw_own_gate
from .operations.multihead_self_attention import NORMS, OPTIONAL_ARRAYS, SERVED, draw_served
from .operations.transformer_block import (
    FFN_BIASES,
    POST_NORMS,
    ROUTER,
    choose_weights,
    draw_inputs,
    draw_k_of,
    draw_optional_weights,
)
from .trials.invariant import invariant

PRE = "CS336 assignment 1, section 3.6"
BEHIND = "Gemma Team 2024, arXiv:2408.00118, section 2"
EXPERTS = "Jiang et al. 2024, arXiv:2401.04088, section 2.1"


def require_weights(draw: Draw, *names: str) -> tuple[str, ...]:
    """Return those of the optional weights that the backend's domain lists. It must list one."""
    listed = tuple(name for name in names if name in draw.operation.domain.get("weights", ()))
    if not listed:
        raise NotImplementedVariant(f"its domain lists none of the weights {', '.join(names)}")
    return listed


@invariant("B", source=BEHIND)
def test_norms_behind_the_sub_layers(transformer_block: Operation, draw: Draw) -> None:
    """A norm behind a sub-layer is inside the residual path, and has a gain of its own: a gain of zero silences the sub-layer,
    and with gains of 1 what the sub-layer adds has a mean square of at most 1."""
    name = draw.one_of(require_weights(draw, *POST_NORMS))
    x, weights, keywords = draw_inputs(draw, "theta")
    own, other = ("w_o", "w2") if name == "attn_post_norm" else ("w2", "w_o")
    gain = {name: np.ones(x.shape[-1])}
    silent = transformer_block(x, silence(weights, own), **keywords)
    assert_equal(transformer_block(x, silence(weights | gain, name), **keywords), silent)
    alone: Any = transformer_block(x, silence(weights, other) | gain, **keywords) - exactly(x)
    assert_within(np.mean(np.square(alone), axis=-1), 0.0, 1.0)


@invariant("B", source=BEHIND, cost=1.5)
def test_attention_half_with_options(
    transformer_block: Operation, rms_norm: Operation, multihead_self_attention: Operation, draw: Draw
) -> None:
    """With w2 = 0 it is x + attention(rms_norm(x, attn_norm)), of the backend's own parts, with all optional arrays and keywords
    of attention."""
    listed = require_weights(draw, *OPTIONAL_ARRAYS, "sinks")
    x, weights, keywords = draw_inputs(draw, "theta")
    h = keywords["num_heads"]
    weights |= draw_optional_weights(draw, weights, h, names={*listed})
    served = draw_served(draw, {*accepted(transformer_block, *SERVED[1:])}, h, x.shape[-2])
    projections = (weights[name] for name in ("w_q", "w_k", "w_v", "w_o"))
    options = served | {name: weights[name] for name in listed} | {"eps": keywords["eps"]}
    given = require_accepted(select_attention_keywords(keywords) | options, multihead_self_attention)
    normed = rms_norm(x, weights["attn_norm"], eps=keywords["eps"])
    attention = multihead_self_attention(normed, *projections, **given)
    assert_equal(transformer_block(x, silence(weights, "w2"), **keywords, **served), exactly(x) + attention)


@invariant("B", source=EXPERTS)
def test_equal_experts(transformer_block: Operation, draw: Draw) -> None:
    """Where all experts are equal, the block is the one with their network, whatever the router says."""
    require_weights(draw, "router")
    x, weights, keywords = draw_inputs(draw, "theta", "norm")
    experts = draw_optional_weights(draw, weights, keywords["num_heads"], names={"router"})
    equal = {name: np.broadcast_to(weights[name], experts[name].shape).copy() for name in ("w1", "w2", "w3")}
    y = transformer_block(x, weights, **keywords)
    assert_equal(transformer_block(x, weights | experts | equal, **keywords, **draw_k_of(draw, experts)), y)


@invariant("B", source=EXPERTS, cost=1.5)
def test_experts_half(transformer_block: Operation, rms_norm: Operation, mixture_of_experts: Operation, draw: Draw) -> None:
    """With w_o = 0 it is x + mixture_of_experts(rms_norm(x, ffn_norm)), of the backend's own parts."""
    listed = require_weights(draw, "router", "b_router", *FFN_BIASES)
    x, weights, keywords = draw_inputs(draw, "theta")
    names = {"router", *(listed if draw.one_of((True, False)) else ())}
    weights |= draw_optional_weights(draw, weights, keywords["num_heads"], names=names)
    options = draw_k_of(draw, weights) | draw_own_gate(
        draw, {*accepted(transformer_block, *GATE)} if draw.one_of((True, False)) else set()
    )
    biases = {name: weights[name] for name in ("b_router", *FFN_BIASES) if name in weights}
    given = require_accepted(options | biases, mixture_of_experts)
    normed = rms_norm(x, weights["ffn_norm"], eps=keywords["eps"])
    experts = mixture_of_experts(normed, *(weights[name] for name in ("router", "w1", "w2", "w3")), **given)
    assert_equal(transformer_block(x, silence(weights, "w_o"), **keywords, **options), exactly(x) + experts)


@invariant("B", source=BEHIND, cost=1.5)
def test_gated_half(
    transformer_block: Operation, rms_norm: Operation, linear: Operation, gated_activation: Operation, draw: Draw
) -> None:
    """With w_o = 0 it is x + w2 gated_activation(w1 u, w3 u) for u = rms_norm(x, ffn_norm), of the backend's own parts."""
    accepted_keywords(draw, *GATE)
    x, weights, keywords = draw_inputs(draw, "theta")
    gate = require_accepted(draw_own_gate(draw, {*GATE}), gated_activation)
    normed = rms_norm(x, weights["ffn_norm"], eps=keywords["eps"])
    packed = np.concatenate([linear(normed, weights["w1"]), linear(normed, weights["w3"])], axis=-1)
    ffn = linear(gated_activation(packed, **gate), weights["w2"])
    assert_equal(transformer_block(x, silence(weights, "w_o"), **keywords, **gate), exactly(x) + ffn)


@invariant("B", source=PRE, cost=2)
def test_composition(
    transformer_block: Operation, rms_norm: Operation, multihead_self_attention: Operation, swiglu: Operation, draw: Draw
) -> None:
    """It is the backend's own parts in order. pre: h = x + attention(norm₁(x)), y = h + swiglu(norm₂(h)).
    post: h = norm₁(x + attention(x)), y = norm₂(h + swiglu(h)). A norm behind a sub-layer comes before the sum."""
    x, weights, keywords = draw_inputs(draw, "theta", "norm")
    names = {*draw.operation.domain.get("weights", ())} if draw.one_of((False, False, True)) else choose_weights(draw)
    weights |= draw_optional_weights(draw, weights, keywords["num_heads"], names=names - {*ROUTER})
    keywords |= draw_served(draw, draw.variants(*SERVED[1:], seldom=True), keywords["num_heads"], x.shape[-2])
    of_attention = {name: weights[name] for name in (*OPTIONAL_ARRAYS, "sinks") if name in weights}
    of_attention |= {"eps": keywords["eps"]} if {*NORMS} & weights.keys() else {}
    biases = require_accepted({name: weights[name] for name in FFN_BIASES if name in weights}, swiglu)

    def norm(h: Any, name: str) -> Any:
        return rms_norm(h, weights[name], eps=keywords["eps"]) if name in weights else h

    def attention(h: Any) -> Any:
        projections = (weights[w] for w in ("w_q", "w_k", "w_v", "w_o"))
        options = require_accepted(select_attention_keywords(keywords) | of_attention, multihead_self_attention)
        return norm(multihead_self_attention(h, *projections, **options), "attn_post_norm")

    def ffn(h: Any) -> Any:
        return norm(swiglu(h, weights["w1"], weights["w2"], weights["w3"], **biases), "ffn_post_norm")

    if keywords.get("norm") == "post":
        h = norm(exactly(x) + attention(x), "attn_norm")
        y = norm(h + ffn(h), "ffn_norm")
    else:
        h = exactly(x) + attention(norm(x, "attn_norm"))
        y = h + ffn(norm(h, "ffn_norm"))
    assert_equal(transformer_block(x, weights, **keywords), y)
