"""What must hold of rope."""

import numpy as np

from .calls.operation import Operation
from .calls.violation import NotImplementedVariant
from .helpers.assertions import assert_equal, assert_finite, assert_identical, assert_unmoved, exactly
from .helpers.rotations import (
    SHIFTS,
    compute_angles,
    draw_arbitrary_positions,
    draw_inputs,
    join_pairs,
    multiply_pairs,
    split_pairs,
)
from .inputs.draw import BATCHES, THETA, Draw
from .operations.rope import draw_dims, draw_frequencies, draw_options, require_positions
from .trials.invariant import invariant

EQUATION = "CS336 assignment 1, eqs. (8) and (9)"


@invariant("B", source=EQUATION)
def test_isometry(rope: Operation, draw: Draw) -> None:
    """Each pair keeps its length, and with it the row: ‖R_p x‖ = ‖x‖."""
    x, positions, given = draw_inputs(draw)
    y = rope(x, positions, **given)
    assert_equal(multiply_pairs(y, y, given), multiply_pairs(exactly(x), exactly(x), given))
    assert_equal(np.sum(y * y, axis=-1), np.sum(np.square(exactly(x)), axis=-1))


@invariant("E", source=EQUATION)
def test_position_zero(rope: Operation, draw: Draw) -> None:
    """Position 0 is the identity, bit for bit, wherever it stands."""
    x, positions, given = draw_inputs(draw)
    if draw.operation.domain.get("positions", "arbitrary") == "arbitrary":
        positions = np.where(draw.rng.random(positions.shape) < 0.5, 0, positions)
    else:
        positions = np.arange(x.shape[-2])
    first = np.broadcast_to(positions == 0, x.shape[:-1])
    assert_identical(rope(x, positions, **given).value[first], x[first])


@invariant("B", source=EQUATION)
def test_frequencies(rope: Operation, draw: Draw) -> None:
    """Pair k turns by p θ^(−2k/d), counterclockwise: (1, 0) at position p becomes (cos, sin), for p up to a million."""
    n, d_k = draw_dims(draw)
    positions, given = draw.positions((), n), draw_options(draw)
    one = np.ones((n, d_k // 2))
    angle = compute_angles(positions, d_k, **given)
    cos, sin = split_pairs(rope(join_pairs(one, 0 * one, **given), positions, **given), **given)
    assert_equal(cos, np.cos(angle))
    assert_equal(sin, np.sin(angle))


@invariant("B", source=EQUATION)
def test_calls_are_independent(rope: Operation, draw: Draw) -> None:
    """A call knows nothing of the one before, of the same shape, with other frequencies and layout, or with other positions."""
    n, d_k = draw_dims(draw)
    one = np.ones((n, d_k // 2))
    first, second = ((draw.positions((), n), draw_options(draw)) for _ in range(2))
    if rope.accepts("inverse_frequencies") and draw.one_of((False, True)):
        for _, given in (first, second):
            given |= draw_frequencies(draw, d_k)
    for positions, given in (first, (first[0], second[1]), second):
        angle = compute_angles(positions, d_k, **given)
        cos, sin = split_pairs(rope(join_pairs(0 * one, -one, **given), positions, **given), **given)
        assert_equal(cos, np.sin(angle))
        assert_equal(sin, -np.cos(angle))


@invariant("B", source=EQUATION)
def test_relative_position(rope: Operation, draw: Draw) -> None:
    """⟨R_i q, R_j k⟩ depends on i − j alone, in each pair: shifting both by s, up to a million, does not change it."""
    require_positions(draw, "offset")
    n, d_k = draw_dims(draw)
    q, k, given = draw.vectors((n, d_k)), draw.vectors((n, d_k)), draw_options(draw)
    if "positions" in draw.operation.domain:
        i, j = np.arange(n) + draw.integer(0, 40), np.arange(n) + draw.integer(0, 40)
    else:
        i, j = (draw_arbitrary_positions(draw, (n,), draw.one_of((8, 300, 4096))) for _ in "ij")
    s = draw.one_of(SHIFTS)
    here, there = (multiply_pairs(rope(q, i + at, **given), rope(k, j + at, **given), given) for at in (0, s))
    assert_equal(here, there)
    assert_equal(np.sum(here, axis=-1), np.sum(there, axis=-1))


@invariant("B", source=EQUATION)
def test_distance_alone(rope: Operation, draw: Draw) -> None:
    """The same query and the same key at every position: their product is the same along each diagonal i − j."""
    n = draw.size("n", (5, 2, 3, 17, 33))
    d_k = draw.size("d_k", (2, 4, 6, 16, 64))
    positions, given = np.arange(n), draw_options(draw)
    q, k = (np.repeat(draw.normal((1, d_k)), n, axis=0) for _ in "qk")
    u, v = rope(q, positions, **given), rope(k, positions, **given)
    product = multiply_pairs(u[:, None], v[None], given)
    assert_equal(product[1:, 1:], product[:-1, :-1])


@invariant("B", source=EQUATION)
def test_composition(rope: Operation, draw: Draw) -> None:
    """R_i R_j = R_(i+j)."""
    n, d_k = draw_dims(draw)
    x, given = draw.vectors((*draw.batch(BATCHES), n, d_k)), draw_options(draw)
    i, j = (draw_arbitrary_positions(draw, (n,), draw.one_of((8, 300, 4096, 500_000))) for _ in "ij")
    assert_equal(rope(rope(x, j, **given), i, **given), rope(x, i + j, **given))


@invariant("B", source=EQUATION)
def test_inverse(rope: Operation, draw: Draw) -> None:
    """R_(−i) undoes R_i, and is its transpose: ⟨R_i x, y⟩ = ⟨x, R_(−i) y⟩."""
    n, d_k = draw_dims(draw)
    x, y, given = draw.vectors((n, d_k)), draw.vectors((n, d_k)), draw_options(draw)
    i = draw_arbitrary_positions(draw, (n,), draw.one_of((8, 300, 4096, 1_000_000)))
    turned = rope(x, i, **given)
    assert_equal(multiply_pairs(turned, exactly(y), given), multiply_pairs(exactly(x), rope(y, -i, **given), given))
    assert_equal(rope(turned, -i, **given), x)


@invariant("B", source=EQUATION)
def test_linear(rope: Operation, draw: Draw) -> None:
    """R is linear: R(x + z) = R x + R z, R(αx) = α R x."""
    n, d_k = draw_dims(draw)
    batch = draw.batch(BATCHES)
    x, z = draw.grid((*batch, n, d_k)), draw.grid((*batch, n, d_k))
    positions, given = draw.positions(batch, n), draw_options(draw)
    y, alpha = rope(x, positions, **given), draw.one_of((-1.0, 2.0, 2.0**-6, 64.0))
    assert_equal(rope(x + z, positions, **given), y + rope(z, positions, **given))
    assert_equal(rope(alpha * x, positions, **given), alpha * y)


@invariant("E", source=EQUATION)
def test_pairs_are_independent(rope: Operation, draw: Draw) -> None:
    """Pair k depends on its own two coordinates alone: (2k, 2k+1) interleaved, (k, k + d/2) half; a pair of zeros stays."""
    x, positions, given = draw_inputs(draw)
    k, other = draw.integer(0, x.shape[-1] // 2 - 1), x.copy()
    for coordinate in split_pairs(other, **given):
        coordinate[..., k] = draw.one_of((0.0, -30.0, 1.0))
    others = np.ones(x.shape[-1], dtype=bool)
    for coordinate in split_pairs(others, **given):
        coordinate[k] = False
    assert_unmoved(rope(other, positions, **given), rope(x, positions, **given), (..., others))
    for coordinate in split_pairs(other, **given):
        coordinate[..., k] = 0.0
    for after in split_pairs(rope(other, positions, **given).value, **given):
        assert_identical(after[..., k], np.zeros(x.shape[:-1]))


@invariant("B", source="CS336 assignment 1, eq. (8), and the book's exercise 3", needs=("keyword:layout",))
def test_layouts(rope: Operation, draw: Draw) -> None:
    """half is interleaved under the fixed permutation that puts the even features before the odd ones."""
    x, positions, given = draw_inputs(draw)
    theta = {name: value for name, value in given.items() if name != "layout"}
    if len(set(draw.operation.domain.get("layout", ("interleaved", "half")))) < 2:
        raise NotImplementedVariant("its domain has one layout alone")
    order = np.concatenate([np.arange(0, x.shape[-1], 2), np.arange(1, x.shape[-1], 2)])
    y = rope(x, positions, **theta, layout="interleaved")
    assert_equal(rope(x[..., order], positions, **theta, layout="half"), y[..., order])


@invariant("B", source=EQUATION, needs=("keyword:theta",))
def test_theta(rope: Operation, draw: Draw) -> None:
    """θ² turns pair k as θ turns pair 2k; the first pair turns by one radian a position whatever θ is."""
    n, d_k = draw_dims(draw)
    positions, given = draw.positions((), n), draw_options(draw)
    allowed = draw.operation.domain.get("theta")
    squared = tuple(t for t in (THETA if allowed is None else allowed) if allowed is None or t**2 in allowed)
    if not squared:
        raise NotImplementedVariant("its domain lacks the square of every theta")
    theta = draw.one_of(squared)
    one = np.ones((n, d_k // 2))
    x = join_pairs(one, 0 * one, **given)
    slow, fast = (split_pairs(rope(x, positions, **{**given, "theta": t}), **given) for t in (theta, theta**2))
    for a, b in zip(slow, fast, strict=True):
        few = (d_k // 2 + 1) // 2
        assert_equal(b[..., :few], a[..., ::2])
    assert_equal(slow[0][..., 0], np.cos(exactly(positions)))


@invariant("B", source=EQUATION)
def test_positions_of_each_batch_entry(rope: Operation, draw: Draw) -> None:
    """Each entry of the batch is turned by its own positions; positions of fewer dimensions, or of size one, are shared."""
    require_positions(draw)
    size = draw.batch(((2,), (3,), (2, 3), (3, 1), (2, 1, 3)))
    n, d_k = draw_dims(draw, 65)
    x, given = draw.vectors((*size, n, d_k)), draw_options(draw)
    shape = draw.shape.one_of((size, size[1:], (1, *size[1:]), (*size[:-1], 1)))
    positions = draw_arbitrary_positions(draw, (*shape, n), draw.one_of((8, 300, 4096)))
    y, each = rope(x, positions, **given), np.broadcast_to(positions, (*size, n))
    index = tuple(draw.integer(0, s - 1) for s in size)
    place = tuple(slice(i, i + 1) for i in index)
    assert_equal(rope(x[place], np.ascontiguousarray(each[place]), **given), y[place])
    assert_equal(rope(x, np.ascontiguousarray(each), **given), y)


@invariant("B", source=EQUATION)
def test_order_of_tokens(rope: Operation, draw: Draw) -> None:
    """A token is turned by its position, not by its place: permuting or repeating tokens and positions does so to the result."""
    require_positions(draw)
    n, d_k = draw_dims(draw)
    batch = draw.batch(BATCHES)
    x, positions, given = (
        draw.vectors((*batch, n, d_k)),
        draw_arbitrary_positions(draw, (n,), draw.one_of((8, 300, 4096))),
        draw_options(draw),
    )
    order = draw.one_of((draw.rng.permutation(n), draw.rng.integers(0, n, n), np.arange(n)[::-1]))
    assert_equal(rope(x[..., order, :], positions[order], **given), rope(x, positions, **given)[..., order, :])


@invariant("B", source="CS336 assignment 1, section 3.5.5, the head dimension is a batch dimension")
def test_heads(rope: Operation, draw: Draw) -> None:
    """Equal tokens at equal positions are turned alike in every head and every entry of the batch."""
    n, d_k = draw_dims(draw)
    batch = draw.batch(tuple(b for b in BATCHES if np.prod(b) > 1))
    x, positions, given = draw.vectors((n, d_k)), draw.positions((), n), draw_options(draw)
    y = rope(np.broadcast_to(x, (*batch, n, d_k)).copy(), positions, **given)
    assert_equal(y, y[(slice(0, 1),) * len(batch)])
    assert_equal(multiply_pairs(y, y, given), multiply_pairs(exactly(x), exactly(x), given))


@invariant("F", source=EQUATION)
def test_no_overflow(rope: Operation, draw: Draw) -> None:
    """A rotation makes nothing larger: the result is finite for values up to half of the dtype's largest."""
    x, positions, given = draw_inputs(draw)
    top = 0.5 * draw.format.max
    assert_finite(rope(draw.held(draw.rng.choice((top, -top, 0.25 * top), x.shape)), positions, **given))
