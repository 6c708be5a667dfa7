"""What must hold of local attention's gradients."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_all_zero
from .helpers.attention_inputs import draw_cotangent_and_qkv
from .inputs.draw import Draw
from .operations.local_attention import WINDOWS
from .trials.invariant import invariant


@invariant("E", source="Beltagy, Peters and Cohan 2020, section 3.1", cost=2)
def test_outside_the_window(local_attention_vjp: Operation, draw: Draw) -> None:
    """Where one query alone has a cotangent, keys and values outside its window have gradients of exactly 0."""
    c, q, k, v = draw_cotangent_and_qkv(draw, square=True)
    n, window = c.shape[-2], draw.keyword("window", WINDOWS)
    t = draw.integer(0, n - 1)
    c[..., np.arange(n) != t, :] = 0.0
    outside = np.abs(np.arange(n) - t) > window["window"]
    for name in ("k", "v"):
        assert_all_zero(local_attention_vjp(c, q, k, v, **window, wrt=name), (..., outside, slice(None)))
