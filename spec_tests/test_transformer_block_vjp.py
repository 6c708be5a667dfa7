"""What must hold of a transformer block's gradients."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_all_zero, assert_identical
from .inputs.draw import Draw
from .operations.transformer_block import draw_inputs
from .trials.invariant import invariant


@invariant("E", cost=2)
def test_causal(transformer_block_vjp: Operation, draw: Draw) -> None:
    """∂y_t/∂x_s = 0 exactly for s > t: tokens after the last one that has a cotangent have none."""
    x, weights, keywords = draw_inputs(draw, "theta", "norm")
    c, t = draw.vectors(x.shape), draw.integer(0, x.shape[-2] - 1)
    c[..., t + 1 :, :] = 0.0
    assert_all_zero(transformer_block_vjp(c, x, weights, **keywords, wrt="x"), (..., slice(t + 1, None), slice(None)))


@invariant("E", source="CS336 assignment 1, section 3.5", cost=2)
def test_residual_path(transformer_block_vjp: Operation, draw: Draw) -> None:
    """Where both sub-layers are silent, w_o = 0 and w2 = 0, the gradient of x is exactly the cotangent."""
    x, weights, keywords = draw_inputs(draw, "theta")
    c = draw.vectors(x.shape)
    silent = weights | {name: np.zeros_like(weights[name]) for name in ("w_o", "w2")}
    assert_identical(transformer_block_vjp(c, x, silent, **keywords, wrt="x"), c)
