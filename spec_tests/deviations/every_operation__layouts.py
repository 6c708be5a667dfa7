"""What goes wrong with arrays that are not stored row after row, whatever the operation."""

from typing import Any

import numpy as np

from . import deviation
from ._faults import change_arrays, contiguous_strides, element_strides, read_memory


@deviation(
    "layout_blind",
    kind="fault",
    seen=("https://github.com/tracel-ai/burn/issues/4815", "https://github.com/ELS-RD/kernl/issues/193"),
    operations=("multihead_self_attention", "transformer_block", "embedding", "alibi_bias"),
)
def strides_ignored(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """every argument is read as if it were contiguous, from where it starts.

    Shows: transposed, strided, broadcast and padded views. Hides: contiguous arrays.
    """
    arguments, keywords = change_arrays(lambda x: read_memory(x, strides=contiguous_strides(x.shape)), arguments, keywords)
    return right(*arguments, **keywords)


@deviation("layout_blind", kind="fault", operations=("relu", "sigmoid", "gelu", "feed_forward"))
def last_stride_taken_for_one(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """the strides between rows are used, but the elements of a row are assumed to be neighbours.

    Shows: transposed views, and every other column. Hides: padded rows.
    """

    def seen(x: Any) -> Any:
        return read_memory(x, strides=(*element_strides(x)[:-1], 1)) if x.ndim else x

    arguments, keywords = change_arrays(seen, arguments, keywords)
    return right(*arguments, **keywords)


@deviation("layout_blind", kind="fault", operations=("relu", "sigmoid", "silu", "gelu"))
def row_stride_taken_for_the_width(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """the stride within a row is used, but rows are assumed to follow each other.

    Shows: padded rows, columns cut from a wider array. Hides: whole arrays.
    """

    def seen(x: Any) -> Any:
        return read_memory(x, strides=(*contiguous_strides(x.shape)[:-1], element_strides(x)[-1])) if x.ndim else x

    arguments, keywords = change_arrays(seen, arguments, keywords)
    return right(*arguments, **keywords)


@deviation("layout_blind", kind="fault", operations=("relu", "silu", "swiglu", "embedding"))
def offset_ignored(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """every argument is read from the start of its memory, wherever in it the view begins.

    Shows: slices that do not begin at 0. Hides: all others.
    """
    arguments, keywords = change_arrays(lambda x: read_memory(x, start=0), arguments, keywords)
    return right(*arguments, **keywords)


@deviation(
    "layout_blind",
    kind="fault",
    seen=("https://github.com/flagos-ai/FlagGems/pull/5723",),
    operations=("log_softmax", "logsumexp", "silu", "linear"),
)
def broadcast_read_as_stored(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """an axis of stride 0 is read as if its copies were stored.

    Shows: expanded, broadcast views. Hides: all others.
    """

    def seen(x: Any) -> Any:
        steps = tuple(step or full for step, full in zip(element_strides(x), contiguous_strides(x.shape), strict=True))
        return read_memory(x, strides=steps)

    arguments, keywords = change_arrays(seen, arguments, keywords)
    return right(*arguments, **keywords)


@deviation("layout_blind", kind="fault", operations=("softmax", "relu", "gelu", "swiglu"))
def transposed_read_in_storage_order(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """a dense but permuted argument is read in the order in which it is stored.

    Shows: transposed views, heads and tokens swapped. Hides: rows that are stored as rows.
    """
    arguments, keywords = change_arrays(lambda x: np.ravel(x, order="K").reshape(x.shape), arguments, keywords)
    return right(*arguments, **keywords)


@deviation("layout_blind", kind="fault", operations=("softmax", "log_softmax", "sigmoid", "embedding"))
def negative_strides_made_positive(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """a view that runs backwards is read forwards.

    Shows: reversed views, in frameworks that have them. Hides: all others.
    """

    def seen(x: Any) -> Any:
        return np.flip(x, axis=tuple(axis for axis, step in enumerate(x.strides) if step < 0))

    arguments, keywords = change_arrays(seen, arguments, keywords)
    return right(*arguments, **keywords)


@deviation("layout_blind", kind="fault", operations=("layer_norm", "glu", "swiglu", "feed_forward"))
def weight_strides_ignored(right: Any, x: Any, *weights: Any, **keywords: Any) -> Any:
    """the strides of the activations are used, those of the weights are not.

    Shows: weights that are transposed views. Hides: contiguous weights.
    """
    return right(x, *(read_memory(w, strides=contiguous_strides(w.shape)) for w in weights), **keywords)


@deviation(
    "layout_blind",
    kind="fault",
    operations=("rope", "scaled_dot_product_attention", "grouped_query_attention", "local_attention"),
)
def batch_axes_taken_for_one(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """all axes but the last are read with the stride of the last but one, as if they were one axis.

    Shows: arrays of three axes of which the first ones are permuted or broadcast. Hides: two axes, contiguous arrays.
    """

    def seen(x: Any) -> Any:
        if x.ndim < 3:
            return x
        steps = element_strides(x)
        return read_memory(x, strides=(*(steps[-2] * step for step in contiguous_strides(x.shape[:-1])), steps[-1]))

    arguments, keywords = change_arrays(seen, arguments, keywords)
    return right(*arguments, **keywords)


@deviation(
    "layout_blind",
    kind="fault",
    seen=("https://github.com/pytorch/pytorch/issues/75923",),
    operations=("relu", "sigmoid", "silu", "gelu"),
)
def written_in_the_arguments_order(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """the result gets the strides of the argument but is written row after row.

    Shows: transposed arguments. Hides: contiguous ones.
    """
    y = right(x, *rest, **keywords)
    result = np.empty_like(x)
    stored = result.transpose(np.argsort([-step for step in result.strides], kind="stable"))
    stored[...] = np.asarray(y).reshape(stored.shape)
    return result


@deviation("layout_blind", kind="fault", operations=("softmax", "rope", "linear", "embedding"))
def views_refused(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """arrays that are not contiguous are refused.

    Shows: any view. Hides: contiguous arrays.
    """

    def seen(x: Any) -> Any:
        if not x.flags.c_contiguous:
            raise RuntimeError("expected a contiguous array")
        return x

    arguments, keywords = change_arrays(seen, arguments, keywords)
    return right(*arguments, **keywords)


@deviation("layout_blind", kind="fault", operations=("softmax", "rms_norm", "linear", "embedding"))
def read_only_arrays_refused(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """a buffer that can be written to is asked for where it is only read.

    Shows: read-only arrays, as memory maps and other frameworks give. Hides: all others.
    """

    def seen(x: Any) -> Any:
        if not x.flags.writeable:
            raise ValueError("buffer source array is read-only")
        return x

    arguments, keywords = change_arrays(seen, arguments, keywords)
    return right(*arguments, **keywords)


@deviation("layout_blind", kind="fault", operations=("linear", "swiglu", "scaled_dot_product_attention"))
def contiguity_of_the_first_decides(right: Any, first: Any, *others: Any, **keywords: Any) -> Any:
    """where the first argument is contiguous, every other one is read as if it were.

    Shows: a contiguous first argument beside a view. Hides: arguments that are all contiguous, or all views.
    """
    if first.flags.c_contiguous:
        others, keywords = change_arrays(lambda x: read_memory(x, strides=contiguous_strides(x.shape)), others, keywords)
    return right(first, *others, **keywords)


@deviation("layout_blind", kind="fault", operations=("scaled_dot_product_attention", "swiglu"))
def scaled_in_place_and_put_back(right: Any, first: Any, second: Any, *others: Any, **keywords: Any) -> Any:
    """the second argument is written into during the call, and put back at its end: nobody is expected to read it meanwhile.

    Shows: one array that is given for another argument too. Hides: arguments with memory of their own.
    """
    shared = any(x is second for x in (first, *others))
    if not (shared and second.flags.writeable):
        return right(first, second, *others, **keywords)
    before = second.copy()
    second[...] = before * 2
    y = right(first, before, *others, **keywords)
    second[...] = before
    return y
