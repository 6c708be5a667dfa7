"""What goes wrong with causal_mask."""

from typing import Any

import numpy as np

from reference_numpy.causal_mask import causal_mask

from . import deviation


def last_key_of_first_query(n: int, m: int | None, aligned: str) -> int:
    """Return the index of the last key that query 0 sees."""
    return 0 if m is None or aligned == "top-left" else m - n


def mask_up_to(n: int, m: int | None, first: int) -> Any:
    return np.arange(n if m is None else m) <= np.arange(n)[:, None] + first


@deviation("reference", "staircase", "first_and_last")
def one_key_ahead(*, n: int, m: int | None = None, aligned: str = "bottom-right") -> Any:
    """each query sees the key after its own too.

    Shows: any two tokens. Hides: smooth values, averages.
    """
    return mask_up_to(n, m, last_key_of_first_query(n, m, aligned) + 1)


@deviation("reference", "first_and_last")
def own_key_hidden(*, n: int, m: int | None = None, aligned: str = "bottom-right") -> Any:
    """a query does not see its own key: j < i.

    Shows: the diagonal; the first query sees nothing. Hides: nothing.
    """
    return mask_up_to(n, m, last_key_of_first_query(n, m, aligned) - 1)


@deviation(
    "reference", "first_and_last", kind="convention",
    seen=("https://github.com/NVIDIA/TransformerEngine/issues/614", "https://github.com/rasbt/LLMs-from-scratch/issues/1061"),
)  # fmt: skip
def true_hides(*, n: int, m: int | None = None, aligned: str = "bottom-right") -> Any:
    """the keys that are True are hidden, as in torch.nn.MultiheadAttention.

    Shows: any mask. Hides: nothing.
    """
    return ~causal_mask(n=n, m=m, aligned=aligned)


@deviation("reference", "first_and_last")
def upper_triangle(*, n: int, m: int | None = None, aligned: str = "bottom-right") -> Any:
    """queries see later keys and not earlier ones: the transposed mask.

    Shows: any two tokens. Hides: symmetric statements.
    """
    return np.arange(n if m is None else m) >= np.arange(n)[:, None] + last_key_of_first_query(n, m, aligned)


@deviation(
    "reference", "later_queries", kind="convention",
    seen=("https://github.com/pytorch/pytorch/issues/108108", "https://github.com/ml-explore/mlx/issues/2835",
          "https://github.com/NVIDIA/cutlass/issues/2336", "https://github.com/Dao-AILab/flash-attention/issues/1778"),
)  # fmt: skip
def top_left_for_bottom_right(*, n: int, m: int | None = None, aligned: str = "bottom-right") -> Any:
    """the mask is top-left where bottom-right was asked for: the first query is aligned with the first key.

    Shows: n ≠ m, above all one new query after many keys. Hides: n = m.
    """
    return causal_mask(n=n, m=m, aligned="top-left")


@deviation("reference", "earlier_part", kind="convention")
def bottom_right_for_top_left(*, n: int, m: int | None = None, aligned: str = "bottom-right") -> Any:
    """the mask is bottom-right where top-left was asked for: the last query is aligned with the last key.

    Shows: n ≠ m. Hides: n = m.
    """
    return causal_mask(n=n, m=m)


@deviation("reference", "staircase", seen=("https://github.com/ml-explore/mlx/pull/2967",))
def top_left_where_keys_are_fewer(*, n: int, m: int | None = None, aligned: str = "bottom-right") -> Any:
    """bottom-right is top-left where there are more queries than keys.

    Shows: n > m. Hides: n ≤ m.
    """
    return mask_up_to(n, m, max(last_key_of_first_query(n, m, aligned), 0))


@deviation("reference", "staircase")
def offset_reversed(*, n: int, m: int | None = None, aligned: str = "bottom-right") -> Any:
    """bottom-right is j ≤ i + n − m: the difference has the wrong sign.

    Shows: n ≠ m. Hides: n = m.
    """
    return mask_up_to(n, m, -last_key_of_first_query(n, m, aligned))


@deviation("reference", "square")
def bottom_right_one_short(*, n: int, m: int | None = None, aligned: str = "bottom-right") -> Any:
    """bottom-right is j < i + m − n, one key too few, as if positions counted from 1 on one side alone.

    Shows: bottom-right, n = m included. Hides: top-left.
    """
    return mask_up_to(n, m, last_key_of_first_query(n, m, aligned) - (aligned == "bottom-right"))


@deviation("no_keys", "reference")
def no_keys_as_none(*, n: int, m: int | None = None, aligned: str = "bottom-right") -> Any:
    """m = 0 is treated as if m were not given, as `m or n` does.

    Shows: m = 0. Hides: every other m.
    """
    return causal_mask(n=n, m=m or None, aligned=aligned)


@deviation("reference", "first_and_last")
def whole_tiles_alone(*, n: int, m: int | None = None, aligned: str = "bottom-right") -> Any:
    """only whole tiles of 64 keys are hidden: the tile on the diagonal is seen in full.

    Shows: any two tokens. Hides: mean errors of long sequences.
    """
    j, last = np.arange(n if m is None else m), np.arange(n)[:, None] + last_key_of_first_query(n, m, aligned)
    return j // 64 <= last // 64


@deviation("dtype_shape_device", kind="fault")
def of_integers(function: Any, **keywords: Any) -> Any:
    """the mask holds integers 0 and 1, not bools: as an index, or after `~`, it means something else.

    Shows: the dtype of the result. Hides: its values.
    """
    return function(**keywords).astype(np.int64)
