"""What must hold of rope where tokens have positions of time, height and width, each of which turns a section of the pairs."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_unmoved
from .helpers.rotations import draw_arbitrary_positions, join_pairs, multiply_pairs
from .inputs.draw import BATCHES, Draw
from .operations.rope import SECTION_LAYOUTS, draw_dims, draw_options, draw_sections
from .trials.invariant import invariant

CHUNKED = "Wang et al. 2024, arXiv:2409.12191, section 2.1"


def draw_images(draw: Draw) -> tuple[np.ndarray, np.ndarray, dict[str, Any], dict[str, Any]]:
    """Draw tokens, their positions of three axes, theta and layout, and sections."""
    n, d_k = draw_dims(draw, 65)
    batch = draw.batch(BATCHES)
    shape = draw.shape.one_of(((3, n), (3, *batch, n)))
    positions = draw_arbitrary_positions(draw, shape, draw.one_of((40, 8, 4096)))
    return draw.vectors((*batch, n, d_k)), positions, draw_options(draw), draw_sections(draw, d_k)


def pairs_of_axis(sections: tuple[int, int, int], axis: int, section_layout: str) -> np.ndarray:
    """Return the pairs that turn by the positions of an axis, as numbers."""
    pairs = sum(sections)
    if section_layout == "interleaved":
        others = [np.arange(a, pairs, 3)[: sections[a]] for a in (1, 2)]
        return others[axis - 1] if axis else np.setdiff1d(np.arange(pairs), np.concatenate(others))
    start = sum(sections[:axis])
    return np.arange(start, start + sections[axis])


@invariant("B", source=CHUNKED, needs=("keyword:sections",), cost=2)
def test_sections(rope: Operation, draw: Draw) -> None:
    """Moving the tokens along one axis moves the pairs of its section, as rope at these positions does, and no other pair."""
    x, positions, given, chosen = draw_images(draw)
    axis = draw.integer(0, 2)
    moved = positions.copy()
    moved[axis] = draw_arbitrary_positions(draw, positions.shape[1:], draw.one_of((40, 8, 4096)))
    layouts = draw.operation.domain.get("section_layout", SECTION_LAYOUTS)
    own = np.zeros(x.shape[-1] // 2, dtype=bool)
    own[pairs_of_axis(chosen["sections"], axis, chosen.get("section_layout", layouts[0]))] = True
    features = join_pairs(own, own, **given)
    y = rope(x, moved, **(given | chosen))
    assert_equal(y[..., features], rope(x, np.ascontiguousarray(moved[axis]), **given)[..., features])
    assert_unmoved(y, rope(x, positions, **(given | chosen)), (..., ~features))


@invariant("B", source=CHUNKED, needs=("keyword:sections",))
def test_sections_of_text(rope: Operation, draw: Draw) -> None:
    """Three equal positions, or a section of time that has all pairs, turn a token as one position does."""
    x, positions, given, chosen = draw_images(draw)
    plain = rope(x, np.ascontiguousarray(positions[0]), **given)
    text = np.ascontiguousarray(np.broadcast_to(positions[0], positions.shape))
    assert_equal(rope(x, text, **(given | chosen)), plain)
    assert_equal(rope(x, positions, **(given | chosen | {"sections": (x.shape[-1] // 2, 0, 0)})), plain)


@invariant("B", source=CHUNKED, needs=("keyword:sections",), cost=2)
def test_sections_relative_position(rope: Operation, draw: Draw) -> None:
    """⟨R_i q, R_j k⟩ depends on the difference of the positions alone, along each axis: a shift of each changes nothing."""
    q, i, given, chosen = draw_images(draw)
    k, j = draw.vectors(q.shape), draw_arbitrary_positions(draw, i.shape, draw.one_of((40, 8, 4096)))
    shift = draw.rng.choice((1, 7, 300, 4096), (3, *[1] * (i.ndim - 1)))
    here, there = (
        multiply_pairs(rope(q, i + at, **(given | chosen)), rope(k, j + at, **(given | chosen)), given)
        for at in (0 * shift, shift)
    )
    assert_equal(here, there)
