"""What must hold of sliding_window_mask."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical
from .inputs.draw import Draw
from .operations.sliding_window_mask import WINDOWS, arguments
from .trials.invariant import invariant

SOURCE = "the book's exercise 9"


def draw_inputs(draw: Draw) -> tuple[int, int, int, bool, dict[str, Any]]:
    """Draw n, m, the window and whether it is causal, and the keywords for them."""
    _, keywords = arguments(draw)
    n, m, window = keywords["n"], keywords.get("m"), keywords["window"]
    return n, n if m is None else m, window, keywords.get("is_causal", True), keywords


@invariant("E", source=SOURCE)
def test_width(sliding_window_mask: Operation, draw: Draw) -> None:
    """Row i sees the keys i − w … i, or i − w … i + w, of those there are, without a gap: its own does not count in w."""
    n, m, window, causal, keywords = draw_inputs(draw)
    mask, i = sliding_window_mask(**keywords).value.astype(int), np.arange(n)
    first, end = np.clip(i - window, 0, m), np.clip(i + 1 + (0 if causal else window), 0, m)
    assert_identical(np.sum(mask, axis=-1), end - first)
    edges = np.diff(np.pad(mask, ((0, 0), (1, 1))), axis=-1)
    assert_identical(np.sum(edges == 1, axis=-1), end > first)


@invariant("E", source=SOURCE)
def test_diagonals(sliding_window_mask: Operation, draw: Draw) -> None:
    """Each diagonal i − j is seen as a whole or not at all, also where n ≠ m: i and j are plain indices."""
    *_, keywords = draw_inputs(draw)
    mask = sliding_window_mask(**keywords)
    assert_equal(mask[1:, 1:], mask[:-1, :-1])


@invariant("E", source=SOURCE)
def test_window_zero(sliding_window_mask: Operation, draw: Draw) -> None:
    """A window of 0 is taken literally: each query sees its own key alone."""
    n, m, *_, keywords = draw_inputs(draw)
    if 0 in draw.operation.domain.get("window", (0,)):
        assert_identical(sliding_window_mask(**{**keywords, "window": 0}), np.eye(n, m))


@invariant("E", source=SOURCE)
def test_wide_window(sliding_window_mask: Operation, draw: Draw) -> None:
    """A window that reaches the farthest key changes nothing: j ≤ i if causal, else every key."""
    n, m, _, causal, keywords = draw_inputs(draw)
    widest = max(n, m) - 1
    windows = draw.operation.domain.get("window", (widest, widest + 1, 10_000, 2**31 - 1, 2**40))
    reaching = tuple(w for w in windows if w >= widest)
    if reaching:
        mask = sliding_window_mask(**{**keywords, "window": draw.one_of(reaching)})
        assert_identical(mask, np.arange(m) <= np.arange(n)[:, None] if causal else np.ones((n, m)))


@invariant("E", source=SOURCE)
def test_causal_mask(sliding_window_mask: Operation, causal_mask: Operation, draw: Draw) -> None:
    """Square and as wide as the sequence, the causal window is the causal mask."""
    n = draw.square(n=513)
    given = draw.keyword("window", (n - 1, n, 4 * n))
    if given["window"] >= n - 1:
        assert_equal(sliding_window_mask(n=n, **given), causal_mask(n=n))


@invariant("E", source=SOURCE, needs=("keyword:is_causal",))
def test_causal_half(sliding_window_mask: Operation, draw: Draw) -> None:
    """The causal window is the lower half of the other; the other is symmetric as far as it is square."""
    n, m, *_, keywords = draw_inputs(draw)
    if set(draw.operation.domain.get("is_causal", (True, False))) == {True, False}:
        near, causal = (sliding_window_mask(**{**keywords, "is_causal": c}).value.astype(bool) for c in (False, True))
        assert_identical(causal, near & (np.arange(m) <= np.arange(n)[:, None]))
        square = near[: min(n, m), : min(n, m)]
        assert_identical(square, square.T)


@invariant("E", source=SOURCE)
def test_one_wider(sliding_window_mask: Operation, draw: Draw) -> None:
    """A window wider by one sees what the narrower sees and the keys at distance w + 1 beside, on the sides that it has."""
    n, m, window, causal, keywords = draw_inputs(draw)
    if window + 1 in draw.operation.domain.get("window", (*WINDOWS, window + 1)):
        narrow = sliding_window_mask(**keywords).value.astype(int)
        wide = sliding_window_mask(**{**keywords, "window": window + 1}).value.astype(int)
        distance = np.arange(n)[:, None] - np.arange(m)
        assert_identical(wide - narrow, (distance if causal else np.abs(distance)) == window + 1)


@invariant("E", source=SOURCE, needs=("keyword:m",))
def test_no_keys(sliding_window_mask: Operation, draw: Draw) -> None:
    """m = 0 is taken literally: n rows without a key."""
    *_, keywords = draw_inputs(draw)
    if 0 in draw.operation.domain.get("m", (0,)):
        assert_identical(sliding_window_mask(**{**keywords, "m": 0}), np.zeros((keywords["n"], 0)))
