"""What goes wrong with the positions of multihead_self_attention."""

from collections.abc import Callable
from typing import Any

import numpy as np

from reference_numpy._marks import float64, rounded
from reference_numpy.rope import rope
from spec_tests.specification.formats import FORMATS

from . import deviation
from ._steps import make_rounder
from .multihead_self_attention import instead_of, rotate, rotate_queries_and_keys

Rotation = dict[str, Any]


@deviation("reference")
@instead_of(rotate_queries_and_keys)
def values_turned(q: Any, k: Any, v: Any, positions: Any, rotation: Rotation) -> Any:
    """values are turned by RoPE as well, where they have pairs of features.

    Shows: positions other than 0. Hides: no theta; d_v odd.
    """
    q, k, v = rotate_queries_and_keys(q, k, v, positions, rotation)
    return (q, k, v) if rotation["theta"] is None or v.shape[-1] % 2 else (q, k, rotate(v, positions, rotation))


@deviation("reference", "equal_positions", "shift_of_positions")
@instead_of(rotate_queries_and_keys)
def keys_not_turned(q: Any, k: Any, v: Any, positions: Any, rotation: Rotation) -> Any:
    """queries alone are turned by RoPE.

    Shows: positions other than 0. Hides: no theta.
    """
    return rotate_queries_and_keys(q, k, v, positions, rotation)[0], k, v


@deviation("reference", "equal_positions", "shift_of_positions")
@instead_of(rotate_queries_and_keys)
def keys_turned_back(q: Any, k: Any, v: Any, positions: Any, rotation: Rotation) -> Any:
    """keys are turned by RoPE in the other direction: scores depend on the sum of positions.

    Shows: positions other than 0. Hides: no theta.
    """
    n = k.shape[-2]
    backward = -float64(np.arange(n) if positions is None else positions)
    return rotate_queries_and_keys(q, k, v, positions, rotation)[0], rotate_queries_and_keys(q, k, v, backward, rotation)[1], v


@deviation("reference", "equal_positions", like=("places-for-positions",))
@instead_of(rotate_queries_and_keys)
def positions_ignored(q: Any, k: Any, v: Any, positions: Any, rotation: Rotation) -> Any:
    """the positions are 0, …, n - 1, whatever is given.

    Shows: any other positions but a shift of them. Hides: consecutive ones.
    """
    return rotate_queries_and_keys(q, k, v, None, rotation)


@deviation("reference", "positions_of_each_sequence")
@instead_of(rotate_queries_and_keys)
def positions_of_the_first_sequence(q: Any, k: Any, v: Any, positions: Any, rotation: Rotation) -> Any:
    """every sequence of the batch has the positions of the first.

    Shows: a batch whose sequences differ in their positions. Hides: a batch of one, positions that all share.
    """
    if positions is not None and positions.ndim > 1:
        positions = positions[(0,) * (positions.ndim - 1)]
    return rotate_queries_and_keys(q, k, v, positions, rotation)


@deviation("positions_of_each_sequence")
@instead_of(rotate_queries_and_keys)
def positions_for_heads(q: Any, k: Any, v: Any, positions: Any, rotation: Rotation) -> Any:
    """head i is turned at the positions of sequence i: positions (batch, n) are broadcast against (batch, heads, n, d_k).

    Shows: sequences that differ in their positions.
    Where these are not as many as the heads, it raises. Hides: positions that all share.
    """
    if rotation["theta"] is None or positions is None:
        return rotate_queries_and_keys(q, k, v, positions, rotation)
    positions = float64(positions)
    if np.broadcast_shapes(positions.shape, q.shape[:-1]) != q.shape[:-1]:
        raise ValueError("the positions do not fit the heads")
    return (*(rounded(rope(y, positions, **rotation)) for y in (q, k)), v)


@deviation("reference", "default_positions")
@instead_of(rotate_queries_and_keys)
def no_rope_without_positions(q: Any, k: Any, v: Any, positions: Any, rotation: Rotation) -> Any:
    """without positions there is no RoPE, even if theta is given.

    Shows: theta alone. Hides: positions given.
    """
    return (q, k, v) if positions is None else rotate_queries_and_keys(q, k, v, positions, rotation)


@deviation("reference", "every_argument_counts")
@instead_of(rotate_queries_and_keys)
def rope_ignored(q: Any, k: Any, v: Any, positions: Any, rotation: Rotation) -> Any:
    """there is no RoPE, even if theta is given.

    Shows: theta and two tokens or more. Hides: no theta.
    """
    return q, k, v


@deviation("no_theta_no_positions")
@instead_of(rotate_queries_and_keys)
def rope_without_theta(q: Any, k: Any, v: Any, positions: Any, rotation: Rotation) -> Any:
    """positions without theta mean RoPE with theta 10000, where d_k is even.

    Shows: positions given, but no theta. Hides: both or neither; d_k odd.
    """
    if rotation["theta"] is None and positions is not None and q.shape[-1] % 2 == 0:
        rotation = {**rotation, "theta": 10000.0}
    return rotate_queries_and_keys(q, k, v, positions, rotation)


@deviation("reference", "inverse_frequencies")
@instead_of(rotate_queries_and_keys)
def theta_fixed(q: Any, k: Any, v: Any, positions: Any, rotation: Rotation) -> Any:
    """theta is 10000 whatever is given.

    Shows: any other theta with d_k > 2. Hides: 10000; d_k = 2; no theta.
    """
    return rotate_queries_and_keys(q, k, v, positions, rotation if rotation["theta"] is None else {**rotation, "theta": 10000.0})


@deviation("reference")
@instead_of(rotate_queries_and_keys)
def heads_turned_together(q: Any, k: Any, v: Any, positions: Any, rotation: Rotation) -> Any:
    """all heads are turned by RoPE as one vector of h d_k features, so that later heads turn more slowly.

    Shows: two heads or more. Hides: one head.
    """
    if rotation["theta"] is None:
        return q, k, v
    positions = np.arange(q.shape[-2]) if positions is None else positions
    return (*(_rotate_heads_together(y, positions, rotation) for y in (q, k)), v)


def _rotate_heads_together(y: Any, positions: Any, rotation: Rotation) -> Any:
    wide = np.swapaxes(y, -2, -3)
    flat = np.reshape(wide, (*wide.shape[:-2], wide.shape[-2] * wide.shape[-1]))
    return rounded(np.swapaxes(np.reshape(rope(flat, positions, **rotation), wide.shape), -2, -3))


# Queries and keys are turned alike, so the scores do not change.
@deviation("reference", "default_positions", like=("no-rope-without-positions",))
@instead_of(rotate_queries_and_keys)
def heads_for_tokens(q: Any, k: Any, v: Any, positions: Any, rotation: Rotation) -> Any:
    """each head is turned by its own number, not by the token's position, where no positions are given.

    Shows: theta alone. Hides: positions given.
    """
    if rotation["theta"] is None or positions is not None:
        return rotate_queries_and_keys(q, k, v, positions, rotation)
    q, k = (np.swapaxes(rounded(rope(np.swapaxes(y, -2, -3), np.arange(y.shape[-3]), **rotation)), -2, -3) for y in (q, k))
    return q, k, v


@deviation("reference", kind="arithmetic", dtypes=("bfloat16",))
@instead_of(rotate_queries_and_keys)
def positions_in_bfloat16(q: Any, k: Any, v: Any, positions: Any, rotation: Rotation) -> Any:
    """positions are rounded to bfloat16.

    Shows: positions beyond 256. Hides: short sequences that start at 0.
    """
    held = make_rounder(FORMATS["bfloat16"])
    return rotate_queries_and_keys(q, k, v, None if positions is None else held(float64(positions)), rotation)


@deviation("every_argument_counts", kind="fault")
def positions_remembered(
    right: Callable[..., Any], x: Any, *weights: Any, memory: dict[Any, Any], positions: Any = None, **keywords: Any
) -> Any:
    """the positions of a sequence of n tokens are kept for later calls of as many.

    Shows: two calls of one length with other positions. Hides: positions 0, …, n - 1.
    """
    if positions is not None:
        positions = memory.setdefault(np.shape(positions), positions)
    return right(x, *weights, positions=positions, **keywords)
