"""What must hold of attention's gradients."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_all_zero, assert_equal
from .helpers.attention_inputs import draw_cotangent_and_qkv
from .inputs.draw import Draw, within_domain
from .trials.invariant import invariant

EQUATION = "CS336 assignment 1, eq. (11), differentiated"


@invariant("E", source=EQUATION, needs=("keyword:mask",), cost=2)
def test_hidden_keys(scaled_dot_product_attention_vjp: Operation, draw: Draw) -> None:
    """A key that the mask hides from every query has gradients of exactly 0, and so has its value."""
    c, q, k, v = draw_cotangent_and_qkv(draw, keys=2)
    hidden = np.arange(k.shape[-2]) % 2 == draw.integer(0, 1)
    mask = np.broadcast_to(~hidden, (q.shape[-2], k.shape[-2])).copy()
    for name in ("k", "v"):
        assert_all_zero(scaled_dot_product_attention_vjp(c, q, k, v, mask=mask, wrt=name), (..., hidden, slice(None)))


@invariant("E", source=EQUATION, needs=("keyword:is_causal",), cost=2)
def test_causal(scaled_dot_product_attention_vjp: Operation, draw: Draw) -> None:
    """With is_causal, ∂y_t/∂k_s = ∂y_t/∂v_s = 0 exactly for s > t."""
    c, q, k, v = draw_cotangent_and_qkv(draw, square=True)
    t = draw.integer(0, c.shape[-2] - 1)
    c[..., t + 1 :, :] = 0.0
    for name in ("q", "k", "v"):
        later = (..., slice(t + 1, None), slice(None))
        assert_all_zero(scaled_dot_product_attention_vjp(c, q, k, v, is_causal=True, wrt=name), later)


@invariant("B", source=EQUATION, cost=2)
def test_equal_values(scaled_dot_product_attention_vjp: Operation, draw: Draw) -> None:
    """Where all values are equal the weights do not matter: the gradients of q and k are 0."""
    c, q, k, v = draw_cotangent_and_qkv(draw)
    v = np.broadcast_to(v[..., :1, :], v.shape).copy()
    for name in ("q", "k"):
        assert_equal(scaled_dot_product_attention_vjp(c, q, k, v, wrt=name), 0.0)


@invariant("B", source=EQUATION, cost=2)
def test_one_key(scaled_dot_product_attention_vjp: Operation, draw: Draw) -> None:
    """A single key has the weight 1: its value gathers the cotangents of all queries, and q and k get 0."""
    c, q, k, v = draw_cotangent_and_qkv(draw)
    within_domain(draw, m=1)
    q, k, v = draw.held(q * draw.one_of((1.0, 8.0))), k[..., :1, :], v[..., :1, :]
    c = draw.grid(c.shape, step=1.0, largest=1)
    assert_equal(scaled_dot_product_attention_vjp(c, q, k, v, wrt="v"), np.sum(c, axis=-2, keepdims=True))
    for name in ("q", "k"):
        assert_equal(scaled_dot_product_attention_vjp(c, q, k, v, wrt=name), 0.0)


@invariant("B", source=EQUATION, needs=("keyword:bias",), cost=2)
def test_bias_of_a_row_sums_to_zero(scaled_dot_product_attention_vjp: Operation, draw: Draw) -> None:
    """The gradient of the bias sums to zero over the keys of each query: a bias common to them changes nothing."""
    c, q, k, v = draw_cotangent_and_qkv(draw)
    bias = draw.normal((*q.shape[:-1], k.shape[-2]))
    dbias: Any = scaled_dot_product_attention_vjp(c, q, k, v, bias=bias, wrt="bias")
    assert_equal(np.sum(dbias, axis=-1), 0.0)


@invariant("B", source=EQUATION, cost=2)
def test_keys_common_shift(scaled_dot_product_attention_vjp: Operation, draw: Draw) -> None:
    """The gradients of all keys sum to zero: a vector added to every key changes nothing."""
    c, q, k, v = draw_cotangent_and_qkv(draw)
    dk: Any = scaled_dot_product_attention_vjp(c, q, k, v, wrt="k")
    assert_equal(np.sum(dk, axis=-2), 0.0)
