"""What the gradients of elementwise functions share."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..bounds.bounded import Bounded
from ..calls.operation import Operation
from ..inputs.draw import Draw
from .assertions import assert_equal, assert_zero


def points(draw: Draw) -> np.ndarray:
    (d,) = draw.dims(d=1025)
    return draw.points((d,))


def assert_elementwise(vjp: Operation, draw: Draw, **keywords: Any) -> None:
    """Where only one element has a cotangent, every other has a gradient of exactly 0."""
    x = points(draw)
    c = np.zeros(x.shape)
    c[draw.integer(0, len(x) - 1)] = 1.0
    assert_zero(vjp(c, x, **keywords, wrt="x"), c == 0)


def opposite(vjp: Operation, draw: Draw, **keywords: Any) -> tuple[np.ndarray, Bounded, Bounded]:
    """A cotangent, and the gradients at x and at −x."""
    x = points(draw)
    c = draw.vectors(x.shape)
    return c, vjp(c, x, **keywords, wrt="x"), vjp(c, -x, **keywords, wrt="x")


def assert_at_zero(vjp: Operation, draw: Draw, slope: float, **keywords: Any) -> None:
    (d,) = draw.dims(d=65)
    c = draw.normal((d,))
    assert_equal(vjp(c, np.zeros(d), **keywords, wrt="x"), slope * c)
