"""What must hold of l2_norm's gradient."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, exactly
from .helpers.lengths import divisor
from .helpers.rows import draw_row_shape
from .inputs.draw import EPS, Draw
from .trials.invariant import invariant

SOURCE = "l2norm of flash-linear-attention, differentiated"


def draw_cotangent_and_rows(draw: Draw) -> tuple[np.ndarray, np.ndarray]:
    """Draw a cotangent, and ordinary rows."""
    shape = draw_row_shape(draw, d=300)
    return draw.vectors(shape), draw.normal(shape, draw.one_of((1.0, 4.0, 0.25)))


@invariant("B", source=SOURCE, needs=("keyword:eps",), cost=2)
def test_orthogonal(l2_norm_vjp: Operation, draw: Draw) -> None:
    """At ε = 0 each dx is orthogonal to x: scaling a row changes nothing."""
    c, x = draw_cotangent_and_rows(draw)
    assert_equal(np.sum(exactly(x) * l2_norm_vjp(c, x, eps=0.0, wrt="x"), axis=-1), 0.0)


@invariant("B", source=SOURCE, needs=("keyword:eps",), cost=2)
def test_along_the_row(l2_norm_vjp: Operation, draw: Draw) -> None:
    """At ε = 0 a cotangent along x gives 0: all of it is projected away."""
    _, x = draw_cotangent_and_rows(draw)
    assert_equal(l2_norm_vjp(x, x, eps=0.0, wrt="x"), 0.0)


@invariant("B", source=SOURCE, cost=2)
def test_across_the_row(l2_norm_vjp: Operation, draw: Draw) -> None:
    """A cotangent that is orthogonal to x is divided by what x is divided by: x = (a, a, …), c = (b, −b, …)."""
    a, b = (draw.held(draw.rng.uniform(1, 2, (5, 1)) * draw.rng.choice((1.0, -1.0), (5, 1))) for _ in "ab")
    d = draw.size("d", (2, 4, 8, 64, 300))
    signs = np.where(np.arange(d) % 2 == 0, 1.0, -1.0)
    x, c, eps = np.repeat(a, d, axis=-1), b * signs, draw.keyword("eps", EPS)
    if d % 2:  # a domain may have odd sizes alone
        c[..., -1] = 0.0
    assert_equal(l2_norm_vjp(c, x, **eps, wrt="x"), exactly(c) / divisor(l2_norm_vjp, x, eps.get("eps", 1e-6)))
