"""What goes wrong with batches, whatever the operation."""

from typing import Any

import numpy as np

from spec_tests.specification.formats import is_floating

from . import deviation
from ._faults import ACTIVATION_OPERATIONS, ATTENTION_OPERATIONS, MODEL_OPERATIONS, NORM_OPERATIONS, count_batch_axes, find_arrays


@deviation("reference", "batch_independence", kind="fault", operations=("rms_norm", "layer_norm", "silu", "swiglu"))
def first_entry_alone_computed(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """only the first entry of a batch is computed; the others stay zero.

    Shows: a batch of two. Hides: a batch of one, no batch.
    """
    y = np.array(right(x, *rest, **keywords))
    if y.ndim and count_batch_axes(right, x):
        y[1:] = 0
    return y


@deviation("reference", "batch_independence", kind="fault", operations=("softmax", "log_softmax", "logsumexp", "swiglu"))
def first_entry_for_all(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """every entry of a batch gets the result of the first: a pointer is not advanced.

    Shows: a batch of two. Hides: a batch of one, equal entries.
    """
    y = np.array(right(x, *rest, **keywords))
    if y.ndim and count_batch_axes(right, x):
        y[1:] = y[:1]
    return y


@deviation("reference", "batch_independence", kind="fault", operations=("logsumexp", "relu", "sigmoid", "embedding"))
def last_of_an_odd_count_left_out(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """rows are taken two at a time, and the last of an odd count is left out.

    Shows: three rows. Hides: two, and one, which has a path of its own.
    """
    y = np.array(right(x, *rest, **keywords))
    if y.ndim and y.shape[0] % 2 and y.shape[0] > 1:
        y[-1] = 0
    return y


@deviation("reference", kind="fault", operations=("log_softmax", "gelu", "glu", "embedding"))
def rows_beyond_eight_left_out(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """the grid has eight programs; further rows are left out.

    Shows: nine rows. Hides: eight.
    """
    y = np.array(right(x, *rest, **keywords))
    if y.ndim:
        y[8:] = 0
    return y


@deviation("many_entries", kind="fault", operations=("rms_norm", "scaled_dot_product_attention", "swiglu"))
def entries_beyond_the_grid_left_out(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """there is one block for each entry of the batch, and no more blocks than an axis of the grid holds, which is 65 535.

    Shows: more entries. Hides: all others.
    """
    y = np.array(right(x, *rest, **keywords))
    if axes := count_batch_axes(right, x):
        y.reshape(-1, *y.shape[axes:])[65535:] = 0
    return y


@deviation("batch_independence", kind="fault", operations=("silu", "gelu", "rope", "swiglu"))
def nan_spreads_through_the_batch(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """a sum over the whole batch is multiplied by zero and added, so that a NaN or an infinity anywhere spoils every entry.

    Shows: NaN or infinity in another entry. Hides: finite arguments.
    """
    y = right(x, *rest, **keywords)
    return y + np.asarray(0 * np.sum(x.astype(np.float64) / 2**80), dtype=y.dtype)


@deviation("batch_independence", kind="fault", operations=("log_softmax", "logsumexp", "layer_norm", "grouped_query_attention"))
def batch_of_nan_given_up(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """where any argument holds a NaN, the whole result is NaN.

    Shows: NaN in another entry of the batch. Hides: finite arguments.
    """
    y = right(*arguments, **keywords)
    spoiled = any(np.any(np.isnan(x.astype(np.float64))) for x in arguments)
    return np.full_like(y, np.nan) if spoiled else y


@deviation(
    "reference",
    "batch_independence",
    kind="fault",
    operations=("local_attention", "multihead_self_attention", "transformer_block", "transformer_lm"),
)
def entries_accumulate(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """the accumulator is not reset between the entries of a batch: each holds the sum of those before it too.

    Shows: a batch of two. Hides: a batch of one.
    """
    y = np.array(right(x, *rest, **keywords))
    if y.ndim and count_batch_axes(right, x):
        with np.errstate(all="ignore"):
            y[...] = np.cumsum(y.astype(np.float64), axis=0)
    return y


@deviation("reference", kind="fault", operations=("softmax", "silu", "linear", "swiglu"))
def third_batch_axis_forgotten(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """two batch axes are read; only the first index of a third is.

    Shows: three batch axes, the first longer than one. Hides: one and two.
    """
    y = np.array(right(x, *rest, **keywords))
    if count_batch_axes(right, x) >= 3:
        y[1:] = 0
    return y


@deviation("reference", kind="fault", operations=("relu", "sigmoid", "glu", "feed_forward"))
def batch_axes_flattened_backwards(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """the batch axes are merged with the first one running fastest, and split with the last one running fastest.

    Shows: two batch axes longer than one. Hides: one batch axis.
    """
    y = np.asarray(right(x, *rest, **keywords))
    rank = min(count_batch_axes(right, x), y.ndim)
    merged = y.reshape((-1, *y.shape[rank:])) if rank == 0 else np.moveaxis(y, 0, rank - 1).reshape(y.shape)
    return y if rank < 2 else merged


@deviation("dtype_shape_device", kind="fault", operations=("glu", "swiglu", "feed_forward", "embedding"))
def batch_axes_stay_flattened(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """batch axes are merged for the computation and not split again.

    Shows: two batch axes. Hides: one.
    """
    y = np.asarray(right(x, *rest, **keywords))
    rank = count_batch_axes(right, x)
    return y.reshape((int(np.prod(y.shape[:rank])), *y.shape[rank:])) if rank > 1 else y


@deviation("dtype_shape_device", kind="fault", operations=("glu", "swiglu", "feed_forward", "transformer_block"))
def missing_batch_axis_added(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """if there is no batch axis, one is added and not removed.

    Shows: arguments without a batch. Hides: all others.
    """
    y = np.asarray(right(x, *rest, **keywords))
    return y if count_batch_axes(right, x) else y[None]


@deviation("reference", kind="fault", operations=("linear", "swiglu", "rope", "embedding"))
def batch_axis_demanded(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """the sizes are unpacked as (batch, ...), which fails if there is no batch.

    Shows: arguments without a batch. Hides: all others.
    """
    if not count_batch_axes(right, x):
        raise ValueError("not enough values to unpack (expected 2, got 1)")
    return right(x, *rest, **keywords)


@deviation("reference", kind="fault", operations=("layer_norm", "softmax", "relu"))
def grid_of_160(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """at most 160 blocks are launched, one for each entry of the first axis; the entries beyond stay zero.

    Shows: 200 rows. Hides: batches of tests.
    """
    y = np.array(right(x, *rest, **keywords))
    y[160:] = 0 if y.ndim > 1 else y[160:]
    return y


@deviation("reference", kind="fault", operations=("rms_norm", "softmax", "linear"))
def five_axes_refused(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """a kernel unpacks up to four sizes of the first argument, and raises if it has more axes.

    Shows: arguments of rank 5. Hides: all others.
    """
    if x.ndim > 4:
        raise ValueError("too many values to unpack (expected 4)")
    return right(x, *rest, **keywords)


@deviation("broadcasting", kind="fault", operations=("scaled_dot_product_attention", "local_attention"))
def smaller_batches_taken_in_turn(right: Any, q: Any, k: Any, v: Any, *rest: Any, **keywords: Any) -> Any:
    """the entries of the batch are numbered, and an array with fewer of them is read from its beginning again and again.

    Shows: an array with one entry along an axis of the batch that is not the first. Hides: equal batches, a single entry.
    """
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in (q, k, v)))
    entries = np.arange(int(np.prod(batch))).reshape(batch)
    q, k, v = (x.reshape(-1, *x.shape[-2:])[entries % max(int(np.prod(x.shape[:-2])), 1)] for x in (q, k, v))
    return right(q, k, v, *rest, **keywords)


@deviation(
    "empty",
    kind="fault",
    operations=(
        *NORM_OPERATIONS,
        *ACTIVATION_OPERATIONS,
        "glu",
        "feed_forward",
        "rope",
        *ATTENTION_OPERATIONS,
        *MODEL_OPERATIONS,
    ),
)
def empty_batch_refused(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """a kernel is launched on an empty grid, which is an error.

    Shows: a batch of none. Hides: all others.
    """
    if any(x.size == 0 for x in find_arrays(arguments, keywords)):
        raise RuntimeError("invalid configuration argument: a grid of size 0")
    return right(*arguments, **keywords)


@deviation("empty", kind="fault", operations=("softmax", "log_softmax", "logsumexp", "linear", "swiglu", "embedding"))
def empty_batch_answered_with_a_row(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """an empty batch is padded to one row, which is returned.

    Shows: a batch of none. Hides: all others.
    """
    y = np.asarray(right(*arguments, **keywords))
    return y if y.size else np.zeros((1, *y.shape[1:]), y.dtype)


@deviation("no_entries", kind="fault", operations=("softmax", "log_softmax", "logsumexp"))
def maximum_of_no_entries(right: Any, x: Any, *, axis: int) -> Any:
    """the maximum is taken of no entries, which is an error.

    Shows: an axis without entries. Hides: all others.
    """
    if x.shape[axis] == 0:
        raise ValueError("the maximum of no entries is not defined")
    return right(x, axis=axis)


@deviation("batch_independence", kind="fault", operations=("softmax", "rms_norm", "linear", "scaled_dot_product_attention"))
def scaled_by_the_largest_of_the_batch(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """arguments are quantized to eight bits by the largest magnitude in the whole batch.

    Shows: an entry beside much larger ones. Hides: entries of one size.
    """

    def quantized(x: Any) -> Any:
        wide = x.astype(np.float64)
        step = np.max(np.abs(wide), initial=0.0) / 127 or 1.0
        return (np.rint(wide / step) * step).astype(x.dtype)

    with np.errstate(all="ignore"):
        return right(*(quantized(x) if is_floating(x) else x for x in arguments), **keywords)
