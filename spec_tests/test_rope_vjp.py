"""What must hold of rope's gradient."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_unmoved, exactly
from .inputs.draw import Draw
from .operations.rope import draw_dims, draw_frequencies, draw_options, draw_sections, require_positions
from .trials.invariant import invariant

EQUATION = "Su et al. 2021, eq. 15"


def draw_arrays(draw: Draw) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw a cotangent, x and positions."""
    n, d_k = draw_dims(draw)
    batch = draw.batch()
    return draw.vectors((*batch, n, d_k)), draw.vectors((*batch, n, d_k)), draw.positions(batch, n)


@invariant("B", source=EQUATION, cost=2)
def test_turns_back(rope_vjp: Operation, rope: Operation, draw: Draw) -> None:
    """The gradient at position p is the cotangent turned by the angle of −p."""
    c, x, positions = draw_arrays(draw)
    keywords = draw_options(draw)
    if rope.accepts("inverse_frequencies") and draw.one_of((False, True)):
        keywords |= draw_frequencies(draw, x.shape[-1])
    require_positions(draw)
    assert_equal(rope_vjp(c, x, positions, **keywords, wrt="x"), rope(c, -positions, **keywords))


@invariant("B", source=EQUATION, cost=2)
def test_isometry(rope_vjp: Operation, draw: Draw) -> None:
    """The gradient is as long as the cotangent."""
    c, x, positions = draw_arrays(draw)
    dx: Any = rope_vjp(c, x, positions, **draw_options(draw), wrt="x")
    assert_equal(np.sum(np.square(dx), axis=-1), np.sum(np.square(exactly(c)), axis=-1))


@invariant("B", source=EQUATION, cost=2)
def test_ignores_x(rope_vjp: Operation, draw: Draw) -> None:
    """The gradient does not depend on x, in which the equation is linear."""
    c, x, positions = draw_arrays(draw)
    keywords = draw_options(draw)
    one, other = (rope_vjp(c, y, positions, **keywords, wrt="x") for y in (x, draw.normal(x.shape)))
    assert_unmoved(other, one)


@invariant("B", source=EQUATION, needs=("keyword:sections",), cost=2)
def test_turns_back_by_sections(rope_vjp: Operation, rope: Operation, draw: Draw) -> None:
    """With sections each pair turns back by the position of its own axis."""
    n, d_k = draw_dims(draw)
    c, x = draw.vectors((n, d_k)), draw.vectors((n, d_k))
    require_positions(draw)
    positions, keywords = draw.rng.integers(0, 40, (3, n)), draw_options(draw) | draw_sections(draw, d_k)
    assert_equal(rope_vjp(c, x, positions, **keywords, wrt="x"), rope(c, -positions, **keywords))
