"""What must hold of alibi_slopes.

The slopes of the book's exercise 4, 2^(−i/H) for i = 0 … H − 1, are a named variant of ALiBi and not this operation: they start
at 1, where these start at 2^(−8/H), and end near ½, where these end at 1/256.
"""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_true, assert_within, exactly
from .inputs.draw import Draw
from .operations.alibi_slopes import HEAD_COUNTS, POWERS_OF_TWO
from .trials.invariant import invariant

PAPER = "Press, Smith and Lewis 2021, arXiv:2108.12409, section 3"


def draw_power_of_two(draw: Draw) -> int:
    """Draw a number of heads that is a power of two, within the domain."""
    allowed = draw.operation.domain.get("num_heads", POWERS_OF_TWO)
    return int(draw.one_of(tuple(h for h in allowed if h & (h - 1) == 0) or POWERS_OF_TWO[:1]))


def allows_head_counts(draw: Draw, *counts: int) -> bool:
    """Whether the domain has all these numbers of heads."""
    return all(count in draw.operation.domain.get("num_heads", counts) for count in counts)


@invariant("B", source=PAPER)
def test_geometric(alibi_slopes: Operation, draw: Draw) -> None:
    """For H a power of two each slope is the one before times the first, and the last is 2⁻⁸."""
    slopes = alibi_slopes(num_heads=draw_power_of_two(draw))
    assert_equal(slopes[1:], slopes[:-1] * slopes[:1])
    assert_equal(slopes[-1], 2.0**-8)


@invariant("B", source=PAPER)
def test_eight_heads(alibi_slopes: Operation, draw: Draw) -> None:
    """Eight heads have the slopes ½, ¼, …, 1/256."""
    if allows_head_counts(draw, 8):
        assert_equal(alibi_slopes(num_heads=8), 0.5 ** np.arange(1, 9))


@invariant("B", source=PAPER)
def test_start(alibi_slopes: Operation, draw: Draw) -> None:
    """The first slope is 2^(−8/P), P the power of two not above H; it is not 1, where the exercise's 2^(−i/H) start."""
    (heads,) = draw.keyword("num_heads", HEAD_COUNTS).values()
    below = 1 << (heads.bit_length() - 1)
    two: Any = exactly(2.0)
    assert_equal(alibi_slopes(num_heads=heads)[0], np.power(two, -8 / below))


@invariant("B", source="the code of Press, Smith and Lewis 2021")
def test_between(alibi_slopes: Operation, draw: Draw) -> None:
    """For other H: the slopes of P heads, then the first H − P of every other slope of 2P heads."""
    (heads,) = draw.keyword("num_heads", tuple(h for h in HEAD_COUNTS if h & (h - 1))).values()
    below = 1 << (heads.bit_length() - 1)
    if allows_head_counts(draw, heads, below, 2 * below):
        slopes = alibi_slopes(num_heads=heads)
        assert_equal(slopes[:below], alibi_slopes(num_heads=below))
        assert_equal(slopes[below:], alibi_slopes(num_heads=2 * below)[::2][: heads - below])


@invariant("B", source=PAPER)
def test_twice_the_heads(alibi_slopes: Operation, draw: Draw) -> None:
    """Twice the heads have the same slopes and one before each."""
    heads = draw_power_of_two(draw)
    if allows_head_counts(draw, heads, 2 * heads):
        assert_equal(alibi_slopes(num_heads=2 * heads)[1::2], alibi_slopes(num_heads=heads))


@invariant("B", source=PAPER)
def test_range(alibi_slopes: Operation, draw: Draw) -> None:
    """All slopes lie between 2⁻⁸ and 1, and no two are the same."""
    (heads,) = draw.keyword("num_heads", HEAD_COUNTS).values()
    slopes = alibi_slopes(num_heads=heads)
    assert_within(slopes, 2.0**-8, 1.0)
    distinct = len(np.unique(slopes.value))
    assert_true(distinct == heads and bool(np.all(slopes.value < 1)), "two heads share a slope, or one is 1", distinct=distinct)
