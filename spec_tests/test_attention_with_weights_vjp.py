"""What must hold of the gradients of attention that returns its weights."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_zero
from .helpers.attention_inputs import draw_qkv
from .inputs.draw import Draw
from .trials.invariant import invariant

SOURCE = "the exercise on attention, differentiated"


@invariant("B", source=SOURCE, cost=2)
def test_weights_alone(attention_with_weights_vjp: Operation, draw: Draw) -> None:
    """Where the weights alone have a cotangent values get 0; a cotangent common to all keys gives nothing to q and k."""
    (q, k, v), b = draw_qkv(draw)
    w = np.broadcast_to(draw.grid((*b, q.shape[-2], 1)), (*b, q.shape[-2], k.shape[-2])).copy()
    assert_zero(attention_with_weights_vjp((None, w), q, k, v, wrt="v"))
    for name in ("q", "k"):
        assert_equal(attention_with_weights_vjp((None, w), q, k, v, wrt=name), 0.0)


@invariant("B", source=SOURCE, cost=2)
def test_one_weight_among_others(attention_with_weights_vjp: Operation, draw: Draw) -> None:
    """A cotangent of the weights acts as one of out does through values: w = c vᵀ gives q and k the same as c."""
    (q, k, v), b = draw_qkv(draw)
    v, c = draw.grid(v.shape, 0.5, 2), draw.grid((*b, q.shape[-2], v.shape[-1]), 0.5, 2)
    w = c @ np.swapaxes(v, -1, -2)
    for name in ("q", "k"):
        through_weights = attention_with_weights_vjp((None, w), q, k, v, wrt=name)
        assert_equal(through_weights, attention_with_weights_vjp((c, None), q, k, v, wrt=name))
