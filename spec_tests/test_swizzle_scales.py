"""What must hold of swizzle_scales."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_identical
from .inputs.draw import Draw, within_domain
from .operations.swizzle_scales import draw_codes, draw_sides
from .trials.invariant import invariant

CUBLAS = "NVIDIA, cuBLAS, block scaling factors layout"
ENTRIES = 512  # of a tile


def find_places(m: int, c: int) -> np.ndarray:
    """Return the place of each scale in the result, by the formula."""
    r, k = np.arange(m)[:, None], np.arange(c)
    tile = (r // 128) * -(-c // 4) + k // 4
    return tile * ENTRIES + 16 * (r % 32) + 4 * (r % 128 // 32) + k % 4


@invariant("E", source=CUBLAS)
def test_place_of_each_scale(swizzle_scales: Operation, draw: Draw) -> None:
    """Scale (r, c) stands in tile (r div 128, c div 4), at 16 · (r mod 32) + 4 · (r mod 128 div 32) + c mod 4."""
    m, c = draw_sides(draw)
    scales = draw_codes(draw, (m, c))
    assert_identical(swizzle_scales(scales).value[find_places(m, c)], scales)


@invariant("E", source=CUBLAS)
def test_filled_with_zero(swizzle_scales: Operation, draw: Draw) -> None:
    """What fills the last tiles is the code 0, also where a larger call has left other codes in memory."""
    m, c = draw_sides(draw)
    swizzle_scales(np.full((m, c), 255))
    found = swizzle_scales(draw_codes(draw, (m, c))).value
    others = np.ones(found.shape, dtype=bool)
    others[find_places(m, c)] = False
    assert_identical(found[others], np.zeros(int(np.sum(others))))


@invariant("E")
def test_each_scale_once(swizzle_scales: Operation, draw: Draw) -> None:
    """Each scale stands in the result once: there are as many of each code as before."""
    scales = draw_codes(draw, draw_sides(draw))
    found = swizzle_scales(scales).value
    assert_identical(np.sort(found[found != 0]), np.sort(scales.reshape(-1)))


@invariant("E", source=CUBLAS)
def test_tile_by_tile(swizzle_scales: Operation, draw: Draw) -> None:
    """Each 128 rows and four columns give the 512 entries that they give alone. Tiles follow row by row."""
    m, c = draw_sides(draw)
    scales = draw_codes(draw, (m, c))
    whole = swizzle_scales(scales).value
    across = -(-c // 4)
    tile = draw.one_of((0, across - 1, len(whole) // ENTRIES - 1))
    r, k = divmod(tile, across)
    part = np.ascontiguousarray(scales[128 * r : 128 * (r + 1), 4 * k : 4 * (k + 1)])
    within_domain(draw, M=part.shape[0], C=part.shape[1])
    assert_identical(whole[ENTRIES * tile : ENTRIES * (tile + 1)], swizzle_scales(part).value)


@invariant("E")
def test_more_rows(swizzle_scales: Operation, draw: Draw) -> None:
    """Further rows leave the entries of the first ones where they are."""
    m, c = draw_sides(draw)
    more = m + draw.one_of((1, 32, -m % 128 or 128))
    within_domain(draw, M=more)
    scales = draw_codes(draw, (more, c))
    places = find_places(m, c)
    few, many = (swizzle_scales(np.ascontiguousarray(x)).value for x in (scales[:m], scales))
    assert_identical(many[places], few[places])
