"""What must hold of gated_activation's gradient."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical
from .helpers.packed_halves import draw_halves, draw_plain_options, pack, require
from .inputs.draw import Draw
from .operations.gated_activation import draw_options
from .trials.invariant import invariant

EQUATION = "differentiation of Shazeer 2020, eqs. 5 and 6"


@invariant("E", source=EQUATION, cost=2)
def test_beyond_the_limit(gated_activation_vjp: Operation, draw: Draw) -> None:
    """A g above the limit, and a u beyond it on either side, have a gradient of exactly 0."""
    options, (g, u) = draw_options(draw), draw_halves(draw)
    require(draw, "limit")
    limit = draw.one_of((7.0, 1.0, 0.5))
    options |= {"limit": limit}
    g = np.where(np.abs(g) < limit / 2, 2 * limit, g)
    u = np.where(np.abs(u) < limit / 2, draw.rng.choice((-2.0, 2.0), u.shape) * limit, u)
    dx = gated_activation_vjp(draw.vectors(g.shape), pack(g, u, options), wrt="x", **options)
    beyond = pack(g > limit, np.abs(u) > limit, options)
    assert_identical(dx.value[beyond], np.zeros(np.sum(beyond)))


@invariant("E", source=EQUATION, cost=2)
def test_silent_signal(gated_activation_vjp: Operation, draw: Draw) -> None:
    """Where u = 0, and without an offset, nothing passes the gate, and g's gradient is exactly 0."""
    options, (g, u) = draw_plain_options(draw), draw_halves(draw)
    dx = gated_activation_vjp(draw.vectors(g.shape), pack(g, 0 * u, options), wrt="x", **options)
    of_gate = pack(np.ones(g.shape, dtype=bool), np.zeros(g.shape, dtype=bool), options)
    assert_identical(dx.value[of_gate], np.zeros(g.size))


@invariant("B", source=EQUATION, cost=2)
def test_gradient_of_what_is_gated(gated_activation_vjp: Operation, gated_activation: Operation, draw: Draw) -> None:
    """Without limit and offset, u's gradient for a cotangent c is the result itself with c in u's place."""
    options, (g, u) = draw_plain_options(draw), draw_halves(draw)
    c = draw.grid(g.shape)
    dx = gated_activation_vjp(c, pack(g, u, options), wrt="x", **options)
    of_signal = pack(np.zeros(g.shape, dtype=bool), np.ones(g.shape, dtype=bool), options)
    y = gated_activation(pack(g, c, options), **options)
    assert_equal(dx[of_signal], y[np.ones(g.shape, dtype=bool)])
