"""What must hold of causal_mask."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .calls.violation import NotImplementedVariant
from .helpers.assertions import assert_equal, assert_identical, assert_true
from .inputs.draw import Draw
from .operations.causal_mask import ALIGNMENTS, arguments
from .trials.invariant import invariant

SOURCE = "CS336 assignment 1, section 3.5.5"


def draw_inputs(draw: Draw) -> tuple[int, int, str, dict[str, Any]]:
    """Draw n, m and the alignment, and the keywords for them."""
    _, keywords = arguments(draw)
    n, m = keywords["n"], keywords.get("m")
    return n, n if m is None else m, keywords.get("aligned", "bottom-right"), keywords


def require_both_alignments(draw: Draw) -> None:
    """Skip a law that compares the two alignments where the domain has only one."""
    if set(draw.operation.domain.get("aligned", ALIGNMENTS)) != set(ALIGNMENTS):
        raise NotImplementedVariant("its domain has one alignment alone")


@invariant("E", source=SOURCE)
def test_staircase(causal_mask: Operation, draw: Draw) -> None:
    """Row i sees its first keys, without a gap, and so many: i + 1 + m − n bottom-right, i + 1 top-left, within 0 … m."""
    n, m, aligned, keywords = draw_inputs(draw)
    mask = causal_mask(**keywords).value.astype(bool)
    assert_true(bool(np.all(mask[:, 1:] <= mask[:, :-1])), "some row has a gap")
    assert_identical(np.sum(mask, axis=-1), np.clip(np.arange(n) + 1 + (m - n if aligned == "bottom-right" else 0), 0, m))


@invariant("E", source=SOURCE)
def test_first_and_last(causal_mask: Operation, draw: Draw) -> None:
    """Square: the first query sees exactly one key, its own, and the last sees all; each sees itself and none after it."""
    n = draw.square(n=1025)
    mask = causal_mask(n=n).value.astype(bool)
    assert_identical(mask[0], np.arange(n) == 0)
    assert_identical(mask[-1], np.ones(n))
    assert_identical(np.diagonal(mask), np.ones(n))
    assert_identical(mask & mask.T, np.eye(n))


@invariant("E", source=SOURCE, needs=("keyword:aligned",))
def test_square(causal_mask: Operation, draw: Draw) -> None:
    """With n = m the two alignments are the same, whether m is given or left out."""
    require_both_alignments(draw)
    n = draw.square(n=513)
    mask = causal_mask(n=n, aligned="top-left")
    assert_equal(mask, causal_mask(n=n, aligned="bottom-right"))
    if draw.operation.accepts("m"):
        assert_equal(mask, causal_mask(n=n, m=draw.size("m", (n,)), aligned=draw.one_of(ALIGNMENTS)))


@invariant("E", needs=("keyword:m",))
def test_later_queries(causal_mask: Operation, draw: Draw) -> None:
    """Bottom-right, the last queries alone see what they see among all: decoding with a cache."""
    n, m = draw.dims(n=257, m=513)
    few = draw.size("n", (draw.integer(1, n),))
    if few <= n and "bottom-right" in draw.operation.domain.get("aligned", ALIGNMENTS):
        assert_equal(causal_mask(n=few, m=m, aligned="bottom-right"), causal_mask(n=n, m=m, aligned="bottom-right")[n - few :])


@invariant("E", needs=("keyword:m", "keyword:aligned"))
def test_earlier_part(causal_mask: Operation, draw: Draw) -> None:
    """Top-left, the first queries and keys alone see what they see among all."""
    n, m, few, less = draw.dims(n=257, m=257, few=257, less=257)
    require_both_alignments(draw)
    few, less = draw.size("n", (min(n, few),)), draw.size("m", (min(m, less),))
    if few <= n and less <= m:
        assert_equal(causal_mask(n=few, m=less, aligned="top-left"), causal_mask(n=n, m=m, aligned="top-left")[:few, :less])


@invariant("E", needs=("keyword:m", "keyword:aligned"))
def test_reversed(causal_mask: Operation, draw: Draw) -> None:
    """Seen from the end, with queries and keys exchanged, bottom-right is top-left."""
    require_both_alignments(draw)
    n, m = draw.dims(n=257, m=257)
    if draw.size("n", (m,)) == m and draw.size("m", (n,)) == n:
        mask = causal_mask(n=n, m=m, aligned="bottom-right").value
        assert_identical(mask[::-1, ::-1], causal_mask(n=m, m=n, aligned="top-left").value.T)


@invariant("E", needs=("keyword:m",))
def test_no_keys(causal_mask: Operation, draw: Draw) -> None:
    """m = 0 is taken literally: n rows without a key."""
    (n,) = draw.dims(n=33)
    if 0 in draw.operation.domain.get("m", (0,)):
        assert_identical(causal_mask(n=n, m=0), np.zeros((n, 0)))
