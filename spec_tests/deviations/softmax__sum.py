"""What goes wrong with softmax: another denominator than the sum of the exponentials."""

from typing import Any

import numpy as np

from reference_numpy.softmax import softmax

from . import deviation
from ._steps import exact_maximum, next_power_of_two


@deviation("reference", "sums_to_one")
def not_normalized(x: Any, *, axis: int) -> Any:
    """the exponentials are not divided by their sum: exp(x − max(x)).

    Shows: every row of two or more. Hides: one-hot rows.
    """
    return np.exp(x - exact_maximum(x, axis))


@deviation("reference", "sums_to_one")
def epsilon_in_the_denominator(x: Any, *, axis: int) -> Any:
    """10⁻⁶ is added to the sum, so that it is never zero.

    Shows: float64; float32 where one entry dominates, whose probability should be 1. Hides: half precision.
    """
    e = np.exp(x - exact_maximum(x, axis))
    return e / (np.sum(e, axis=axis, keepdims=True) + 1e-6)


@deviation("reference", "sums_to_one", "one_entry", kind="convention")
def one_more_in_the_denominator(x: Any, *, axis: int) -> Any:
    """the denominator has one more term, exp(0), so that a row may attend to nothing.

    Shows: rows whose largest entry is near 0, or below. Hides: rows far above 0.
    """
    m = np.maximum(exact_maximum(x, axis), 0.0)
    e = np.exp(x - m)
    return e / (np.exp(-m) + np.sum(e, axis=axis, keepdims=True))


@deviation("reference", "sums_to_one")
def euclidean_norm(x: Any, *, axis: int) -> Any:
    """the exponentials are divided by their Euclidean norm, not by their sum.

    Shows: every row of two or more. Hides: one-hot rows.
    """
    e = np.exp(x - exact_maximum(x, axis))
    return e / np.sqrt(np.sum(np.square(e), axis=axis, keepdims=True))


@deviation("reference", "sums_to_one", seen=("https://github.com/vllm-project/vllm/pull/55009",))
def padded_with_zeros(x: Any, *, axis: int) -> Any:
    """the row is padded to a power of two with 0, not with −∞, and the padding joins maximum and sum.

    Shows: other lengths, rows far below 0 most. Hides: lengths that are powers of two, rows far above 0.
    """
    n = x.shape[axis]
    padding = next_power_of_two(n) - n
    if not padding:
        return softmax(x, axis=axis)
    m = np.maximum(exact_maximum(x, axis), 0.0)
    e = np.exp(x - m)
    return e / (np.sum(e, axis=axis, keepdims=True) + padding * np.exp(-m))


@deviation("reference", "permutation")
def online_without_rescaling(x: Any, *, axis: int) -> Any:
    """the online sum, over blocks of 64, is not rescaled when the maximum grows.

    Shows: rows longer than a block whose maximum comes later. Hides: shorter rows, the maximum in the first block.
    """
    moved = np.moveaxis(x, axis, -1)
    m, total = None, 0.0
    for start in range(0, moved.shape[-1], 64):
        block = moved[..., start : start + 64]
        m = exact_maximum(block, -1) if m is None else np.maximum(m, exact_maximum(block, -1))
        total = total + np.sum(np.exp(block - m), axis=-1, keepdims=True)
    return np.moveaxis(np.exp(moved - m) / total, -1, axis)


@deviation(
    "reference",
    "equal_entries",
    seen=("https://github.com/linkedin/Liger-Kernel/pull/1252", "https://github.com/unslothai/unsloth/issues/19"),
)
def first_block_alone(x: Any, *, axis: int) -> Any:
    """only the first 1024 entries are read and written, the others stay 0.

    Shows: rows longer than 1024. Hides: shorter ones.
    """
    moved = np.moveaxis(x, axis, -1)
    first, rest = softmax(moved[..., :1024], axis=-1), 0.0 * np.exp(moved[..., 1024:])
    return np.moveaxis(np.concatenate([first, rest], axis=-1), -1, axis)
