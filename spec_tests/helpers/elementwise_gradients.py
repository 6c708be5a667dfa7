"""What the laws of the gradients of activations share."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..bounds.bounded import Bounded
from ..calls.operation import Operation
from ..inputs.draw import Draw
from .assertions import assert_equal, assert_zero


def draw_gradient_points(draw: Draw) -> np.ndarray:
    """Draw a row of numbers of every regime, at which gradients are tried."""
    (d,) = draw.dims(d=1025)
    return draw.points((d,))


def assert_gradient_elementwise(vjp: Operation, draw: Draw, **keywords: Any) -> None:
    """Where only one element has a cotangent, every other has a gradient of exactly 0."""
    x = draw_gradient_points(draw)
    c = np.zeros(x.shape)
    c[draw.integer(0, len(x) - 1)] = 1.0
    assert_zero(vjp(c, x, **keywords, wrt="x"), c == 0)


def differentiate_at_opposite_points(vjp: Operation, draw: Draw, **keywords: Any) -> tuple[np.ndarray, Bounded, Bounded]:
    """Return a cotangent, and its gradients at x and at −x."""
    x = draw_gradient_points(draw)
    c = draw.vectors(x.shape)
    return c, vjp(c, x, **keywords, wrt="x"), vjp(c, -x, **keywords, wrt="x")


def assert_slope_at_zero(vjp: Operation, draw: Draw, slope: float, **keywords: Any) -> None:
    """At 0 the gradient is `slope` times the cotangent."""
    (d,) = draw.dims(d=65)
    c = draw.normal((d,))
    assert_equal(vjp(c, np.zeros(d), **keywords, wrt="x"), slope * c)
