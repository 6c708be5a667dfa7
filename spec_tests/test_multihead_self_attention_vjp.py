"""What must hold of multi-head self-attention's gradients."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_all_zero, assert_equal, assert_identical, exactly
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


@invariant("B", cost=2, needs=("keyword:b_o",))
def test_output_bias_gains_the_sum(multihead_self_attention_vjp: Operation, draw: Draw) -> None:
    """The gradient of b_o is the sum of the cotangents of all tokens."""
    x, weights, keywords = draw_inputs(draw, "theta", "is_causal")
    c, b_o = draw.vectors(x.shape), draw.gain(x.shape[-1])
    flat: Any = exactly(c.reshape(-1, x.shape[-1]))
    total: Any = np.sum(flat, axis=0)
    assert_equal(multihead_self_attention_vjp(c, x, *weights, b_o=b_o, **keywords, wrt="b_o"), total)
