"""What must hold of multi-head self-attention's gradients."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_all_zero, assert_identical
from .inputs.draw import Draw
from .operations.multihead_self_attention import draw_inputs
from .trials.invariant import invariant


@invariant("E", cost=2)
def test_causal(multihead_self_attention_vjp: Operation, draw: Draw) -> None:
    """∂y_t/∂x_s = 0 exactly for s > t: tokens after the last one that has a cotangent have none."""
    x, weights, keywords = draw_inputs(draw, "theta")
    c, t = draw.vectors(x.shape), draw.integer(0, x.shape[-2] - 1)
    c[..., t + 1 :, :] = 0.0
    later = (..., slice(t + 1, None), slice(None))
    assert_all_zero(multihead_self_attention_vjp(c, x, *weights, **keywords, wrt="x"), later)


@invariant("E", cost=2)
def test_silent_output_weight(multihead_self_attention_vjp: Operation, draw: Draw) -> None:
    """With w_o = 0 every gradient but its own is exactly 0."""
    x, (w_q, w_k, w_v, w_o), keywords = draw_inputs(draw, "theta", "is_causal")
    c = draw.vectors(x.shape)
    for name in ("x", "w_q", "w_k", "w_v"):
        silent = multihead_self_attention_vjp(c, x, w_q, w_k, w_v, np.zeros_like(w_o), **keywords, wrt=name)
        assert_identical(silent, np.zeros(silent.shape))
