"""What goes wrong where rows are taken in blocks, whatever the operation."""

from typing import Any

import numpy as np

from spec_tests.specification.formats import is_floating

from . import deviation
from ._faults import MASKED_ATTENTION_OPERATIONS, NORM_OPERATIONS

UNWRITTEN = ("https://github.com/fla-org/flash-linear-attention/pull/892", "https://github.com/pytorch/FBGEMM/pull/5754")


def _overwrite_tail(y: Any, block: int, value: Any) -> Any:
    """Return the result with `value` in the last columns, those that do not fill a block."""
    y = np.array(y)
    if y.ndim and y.shape[-1] % block and y.shape[-1] > block:
        y[..., y.shape[-1] // block * block :] = value
    return y


@deviation("reference", kind="fault", operations=("rms_norm", "silu"))
def row_cut_at_6144(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """a row has at most 6144 columns in the memory of a block; what lies beyond stays zero.

    Shows: rows of 8191 columns. Hides: rows of the usual tests, and of models whose width is 5120.
    """
    y = np.array(right(x, *rest, **keywords))
    y[..., 6144:] = 0
    return y


@deviation("reference", kind="fault", operations=("sigmoid", "gelu", "embedding", "alibi_bias"))
def tail_of_four_left_zero(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """rows are taken four columns at a time; what is left over stays zero.

    Shows: more than four columns, and no multiple of four. Hides: multiples of four.
    """
    return _overwrite_tail(right(*arguments, **keywords), 4, 0)


@deviation("reference", kind="fault", seen=UNWRITTEN, operations=("relu", "sigmoid", "feed_forward", "embedding"))
def tail_of_eight_never_written(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """rows are taken eight columns at a time; what is left over holds whatever the memory held, here NaN.

    Shows: more than eight columns, and no multiple of eight. Hides: multiples of eight.
    """
    return _overwrite_tail(right(*arguments, **keywords), 8, np.nan)


@deviation("reference", kind="fault", like=("last-tile-not-written",), operations=("relu", "sigmoid", "glu", "feed_forward"))
def tail_of_32_holds_the_call_before(right: Any, *arguments: Any, memory: Any, **keywords: Any) -> Any:
    """rows are taken 32 columns at a time; what is left over holds what an earlier call of that shape left there, or zeros.

    Shows: more than 32 columns, and no multiple of 32. Hides: multiples of 32, the same call again.
    """
    y = np.asarray(right(*arguments, **keywords))
    before = memory.get((y.shape, y.dtype), np.zeros_like(y))
    memory[y.shape, y.dtype] = y
    return _overwrite_tail(y, 32, before[..., y.shape[-1] // 32 * 32 :] if y.ndim else 0)


@deviation("reference", kind="fault", operations=("sigmoid", "causal_mask", "sliding_window_mask", "alibi_bias"))
def tail_of_128_left_zero(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """rows are taken 128 columns at a time; what is left over stays zero.

    Shows: more than 128 columns, and no multiple of 128. Hides: short rows.
    """
    return _overwrite_tail(right(*arguments, **keywords), 128, 0)


@deviation("reference", kind="fault", operations=("relu", "sigmoid", "embedding", "alibi_bias"))
def row_cut_at_256(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """one program takes one row and has 256 threads: what a row holds beyond is neither read nor written.

    Shows: rows longer than 256. Hides: shorter ones.
    """
    return _cut_rows(right, x, rest, keywords, 256)


@deviation("reference", kind="fault", operations=("relu", "sigmoid", "gelu", "logsumexp"))
def row_cut_at_1024(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """one block holds at most 1024 elements of a row: what a row holds beyond is neither read nor written.

    Shows: rows longer than 1024. Hides: shorter ones.
    """
    return _cut_rows(right, x, rest, keywords, 1024)


@deviation("reference", kind="fault", operations=("log_softmax", "relu", "sigmoid", "gelu"))
def row_cut_at_4096(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """one block holds at most 4096 elements of a row: what a row holds beyond is neither read nor written.

    Shows: rows longer than 4096. Hides: shorter ones.
    """
    return _cut_rows(right, x, rest, keywords, 4096)


def _cut_rows(right: Any, x: Any, rest: Any, keywords: Any, width: int) -> Any:
    y = np.array(right(x, *rest, **keywords))
    axis = keywords.get("axis", -1)
    if right.__name__ in ("embedding", "alibi_bias") or not x.ndim or x.shape[axis] <= width:
        return _zero_columns_from(y, width) if right.__name__ in ("embedding", "alibi_bias") else y
    if right.__name__ in ("linear", "glu"):  # the weights' rows are as long
        return right(x[..., :width], *(w[..., :width] for w in rest), **keywords)
    index = tuple(slice(width) if i == axis % x.ndim else slice(None) for i in range(x.ndim))
    inside = right(x[index], *(w[:width] for w in rest), **keywords)
    if y.ndim < x.ndim:
        return inside
    y[...] = 0
    y[index] = inside
    return y


def _zero_columns_from(y: Any, width: int) -> Any:
    y[..., width:] = 0
    return y


@deviation(
    "reference",
    kind="fault",
    seen=("https://github.com/vllm-project/vllm/pull/55009",),
    operations=("rms_norm", "softmax", "log_softmax", "logsumexp"),
)
def padding_counted(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """a row is padded with zeros to a multiple of eight, and the zeros are counted in its maximum, sum or mean.

    Shows: sizes that are no multiple of eight. Hides: multiples of eight.
    """
    n = x.shape[keywords.get("axis", -1)]
    rows = np.moveaxis(x, keywords.get("axis", -1), -1)
    more = -n % 8
    padded = np.concatenate([rows, np.zeros((*rows.shape[:-1], more), rows.dtype)], axis=-1)
    weights = (np.concatenate([w, np.zeros(more, w.dtype)]) for w in rest)
    y = right(padded, *weights, **{**keywords, "axis": -1} if "axis" in keywords else keywords)
    return y if np.ndim(y) < x.ndim else np.moveaxis(y[..., :n], -1, keywords.get("axis", -1)).copy()


@deviation("reference", kind="fault", like=("padding-counts-as-score-zero",), operations=MASKED_ATTENTION_OPERATIONS)
def padded_keys_attended(right: Any, q: Any, k: Any, v: Any, mask: Any = None, **keywords: Any) -> Any:
    """keys and values are padded with zeros to a multiple of 16, and the padding is attended to as well.

    Shows: a number of keys that is no multiple of 16, no mask. Hides: multiples of 16, and a mask.
    """
    m = k.shape[-2]
    if mask is not None or keywords.get("bias") is not None or keywords.get("is_causal"):
        return right(q, k, v, mask, **keywords)
    k, v = (np.concatenate([x, np.zeros((*x.shape[:-2], -m % 16, x.shape[-1]), x.dtype)], axis=-2) for x in (k, v))
    return right(q, k, v, **keywords)


@deviation("reference", kind="fault", operations=("softmax", "log_softmax", *NORM_OPERATIONS))
def blocks_of_128_reduced_apart(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """each block of 128 elements of a row is normalized by itself: the blocks' statistics are never combined.

    Shows: rows longer than 128. Hides: shorter ones.
    """
    axis = keywords.get("axis", -1)
    size = x.shape[axis]
    blocks = []
    for start in range(0, size, 128):
        index = tuple(slice(start, start + 128) if i == axis % x.ndim else slice(None) for i in range(x.ndim))
        blocks.append(right(x[index], *(w[start : start + 128] for w in rest), **keywords))
    return np.concatenate(blocks, axis=axis)


@deviation("reference", kind="fault", operations=("softmax", "log_softmax", "rms_norm", "layer_norm"))
def last_block_overlaps_and_counts_twice(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """the last block of 16 is moved back until it is full, and its overlap with the block before counts twice.

    Shows: more than 16 elements, and no multiple of 16. Hides: multiples of 16, fewer than 16.
    """
    x = arguments[0]
    attention = "k" in right.__signature__.parameters
    axis = -2 if attention else keywords.get("axis", -1)
    n = arguments[1].shape[axis] if attention else x.shape[axis]
    twice = [*range(n), *(range(n - 16, n // 16 * 16) if n > 16 and n % 16 else ())]
    if attention:
        if len(arguments) > 3 or keywords.keys() & {"mask", "bias"} or keywords.get("is_causal"):
            return right(*arguments, **keywords)
        return right(x, *(np.take(a, twice, axis) for a in arguments[1:]), **keywords)
    y = right(np.take(x, twice, axis), *(w[twice] for w in arguments[1:]), **keywords)
    return np.take(y, range(n), axis)


@deviation("reference", kind="fault", operations=("relu", "sigmoid", "gelu", "rope"))
def rows_aligned_down_to_four(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """each row is loaded from the multiple of four elements at or before its start.

    Shows: more than one row, of a width that is no multiple of four. Hides: multiples of four, a single row.
    """
    if x.ndim < 2 or not x.size:
        return right(x, *rest, **keywords)
    n = x.shape[-1]
    starts = np.arange(x.size // n) * n // 4 * 4
    seen = np.ravel(x)[starts[:, None] + np.arange(n)].reshape(x.shape)
    return right(seen, *rest, **keywords)


@deviation("reference", kind="fault", operations=("softmax", "log_softmax", "logsumexp", "linear"))
def fewer_than_a_warp_garbage(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """the lanes of a warp beyond a short row take part in its reduction: fewer than 32 elements give NaN.

    Shows: rows shorter than 32. Hides: longer ones.
    """
    y = np.array(right(x, *rest, **keywords))
    if x.shape[keywords.get("axis", -1)] < 32:
        y[...] = np.nan
    return y


@deviation("reference", kind="fault", operations=("glu", "swiglu", "feed_forward", "rope"))
def features_beyond_128_ignored(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """a tile holds 128 features of the first argument; further ones are treated as zeros.

    Shows: more than 128 features. Hides: fewer.
    """
    x = arguments[0].copy()
    x[..., 128:] = 0
    assert is_floating(x)
    return right(x, *arguments[1:], **keywords)
