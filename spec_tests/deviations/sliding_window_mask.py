"""What goes wrong with sliding_window_mask."""

from typing import Any

import numpy as np

from reference_numpy.sliding_window_mask import sliding_window_mask

from . import deviation


def signed_distance(n: int, m: int | None) -> Any:
    """Return i − j."""
    return np.arange(n)[:, None] - np.arange(n if m is None else m)


@deviation(
    "reference", "width", "window_zero", kind="convention",
    seen=("https://github.com/ml-explore/mlx-lm/pull/390", "https://github.com/lightseekorg/tokenspeed/pull/578"),
)  # fmt: skip
def own_key_counted(*, n: int, m: int | None = None, window: int, is_causal: bool = True) -> Any:
    """the query's own key counts in the window: |i − j| < window, as in Mistral's code.

    Shows: any window that is shorter than the sequence. Hides: wider ones.
    """
    return sliding_window_mask(n=n, m=m, window=window - 1, is_causal=is_causal)


@deviation("reference", "width", "window_zero", seen=("https://github.com/huggingface/transformers/issues/39408",))
def one_key_wider(*, n: int, m: int | None = None, window: int, is_causal: bool = True) -> Any:
    """the window is one key wider on each side that it has.

    Shows: any window that is shorter than the sequence. Hides: wider ones.
    """
    return sliding_window_mask(n=n, m=m, window=window + 1, is_causal=is_causal)


@deviation("reference", "width", kind="convention")
def both_sides_together(*, n: int, m: int | None = None, window: int, is_causal: bool = True) -> Any:
    """window is the width of both sides together: window // 2 keys on each.

    Shows: any window but 0 that is shorter than the sequence. Hides: wider ones.
    """
    return sliding_window_mask(n=n, m=m, window=window // 2, is_causal=is_causal)


@deviation("reference", "width", "causal_half")
def never_causal(*, n: int, m: int | None = None, window: int, is_causal: bool = True) -> Any:
    """is_causal is ignored: later keys within the window are seen.

    Shows: is_causal, which is the default. Hides: is_causal=False.
    """
    return sliding_window_mask(n=n, m=m, window=window, is_causal=False)


@deviation("reference", "width")
def always_causal(*, n: int, m: int | None = None, window: int, is_causal: bool = True) -> Any:
    """is_causal=False is ignored: no later key is seen.

    Shows: is_causal=False. Hides: the default.
    """
    return sliding_window_mask(n=n, m=m, window=window)


@deviation("reference", "causal_half")
def later_keys_without_limit(*, n: int, m: int | None = None, window: int, is_causal: bool = True) -> Any:
    """without is_causal the window limits earlier keys alone: i − j ≤ window.

    Shows: is_causal=False, a window shorter than the sequence. Hides: the default.
    """
    near = signed_distance(n, m) <= window
    return near & (signed_distance(n, m) >= 0) if is_causal else near


@deviation("reference", "width")
def window_ignored(*, n: int, m: int | None = None, window: int, is_causal: bool = True) -> Any:
    """the window is ignored, and the mask merely causal, or everything seen.

    Shows: a window shorter than the sequence. Hides: wider ones.
    """
    return sliding_window_mask(n=n, m=m, window=n + (m or 0), is_causal=is_causal)


@deviation("reference", "window_zero")
def zero_as_none(*, n: int, m: int | None = None, window: int, is_causal: bool = True) -> Any:
    """a window of 0 is treated as no window, as `if window:` does.

    Shows: window = 0. Hides: every other window.
    """
    return sliding_window_mask(n=n, m=m, window=window or n + (m or 0), is_causal=is_causal)


@deviation("reference", "diagonals", kind="convention")
def blocks(*, n: int, m: int | None = None, window: int, is_causal: bool = True) -> Any:
    """the sequence is cut into blocks of the window's length, and a query sees those of its own block.

    Shows: tokens beside the border of a block. Hides: one block.
    """
    length = max(window, 1)
    same = np.arange(n)[:, None] // length == np.arange(n if m is None else m) // length
    return same & (signed_distance(n, m) >= 0) if is_causal else same


@deviation("reference", "width", kind="convention")
def last_level_with_last(*, n: int, m: int | None = None, window: int, is_causal: bool = True) -> Any:
    """the last query is aligned with the last key: i + m − n replaces i.

    Shows: n ≠ m. Hides: n = m.
    """
    apart = signed_distance(n, m) + (0 if m is None else m - n)
    near = np.abs(apart) <= window
    return near & (apart >= 0) if is_causal else near


@deviation("no_keys", "reference")
def no_keys_as_none(*, n: int, m: int | None = None, window: int, is_causal: bool = True) -> Any:
    """m = 0 is treated as if m were not given, as `m or n` does.

    Shows: m = 0. Hides: every other m.
    """
    return sliding_window_mask(n=n, m=m or None, window=window, is_causal=is_causal)


@deviation("reference", "width", kind="convention")
def true_hides(*, n: int, m: int | None = None, window: int, is_causal: bool = True) -> Any:
    """the keys that are True are hidden, as in torch.nn.MultiheadAttention.

    Shows: any mask. Hides: nothing.
    """
    return ~sliding_window_mask(n=n, m=m, window=window, is_causal=is_causal)


@deviation("wide_window", kind="arithmetic")
def width_of_32_bits(*, n: int, m: int | None = None, window: int, is_causal: bool = True) -> Any:
    """window + 1 is kept in a signed integer of 32 bits, where the largest of them means no window.

    Shows: window = 2³¹ − 1. Hides: all others.
    """
    return sliding_window_mask(n=n, m=m, window=(window + 1 + 2**31) % 2**32 - 2**31 - 1, is_causal=is_causal)
