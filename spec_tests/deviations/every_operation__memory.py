"""What goes wrong with the memory of arguments and results, whatever the operation."""

from typing import Any

import numpy as np

from spec_tests.specification.formats import is_floating

from . import HALF, deviation
from ._faults import find_arrays


@deviation(
    "inputs_unchanged",
    kind="fault",
    seen=("https://github.com/unslothai/unsloth/issues/5001",),
    operations=("relu", "silu", "gelu", "log_softmax"),
)
def written_into_the_argument(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """the first argument is used as the workspace, and is left holding the result.

    Shows: reading the argument again after the call. Hides: an argument that nobody uses any more.
    """
    y = right(x, *rest, **keywords)
    if x.flags.writeable:
        x[...] = y
    return y


@deviation("inputs_unchanged", "not_an_alias", kind="fault", operations=("sigmoid", "softmax", "rms_norm", "layer_norm"))
def result_in_the_arguments_memory(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """the result is the first argument itself, overwritten.

    Shows: reading the argument again, or writing to the result. Hides: an argument that nobody uses any more.
    """
    y = right(x, *rest, **keywords)
    if not x.flags.writeable:
        return y
    x[...] = y
    return x


@deviation(
    "inputs_unchanged",
    kind="fault",
    dtypes=("float32",),
    seen=("https://github.com/GeeeekExplorer/nano-vllm/issues/170",),
    operations=("softmax", "logsumexp", "silu", "gelu"),
)
def modified_where_the_upcast_copies_nothing(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """the first argument is cast to float32, which copies nothing in float32, and the cast array is changed in place.

    Shows: float32 arguments read again after the call. Hides: 16-bit arguments.
    """
    y = right(x, *rest, **keywords)
    wide = x.astype(np.float32, copy=False)
    if wide.flags.writeable:
        wide *= 0.5
    return y


@deviation(
    "inputs_unchanged", kind="fault", operations=("log_softmax", "logsumexp", "grouped_query_attention", "local_attention")
)
def modified_where_it_is_contiguous(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """the first argument is made contiguous, which copies nothing if it is, and the "copy" is changed in place.

    Shows: contiguous arguments read again after the call. Hides: transposed and strided ones.
    """
    y = right(x, *rest, **keywords)
    copy = np.ascontiguousarray(x)
    if copy.flags.writeable:
        copy += 1
    return y


@deviation("inputs_unchanged", kind="fault", operations=("glu", "swiglu", "feed_forward", "embedding"))
def weight_rescaled_in_place(right: Any, x: Any, weight: Any, *rest: Any, **keywords: Any) -> Any:
    """the weight is rescaled for the computation and not set back, as an embedding with a maximal norm does.

    Shows: the weight after the call, or a second call. Hides: a single call.
    """
    y = right(x, weight, *rest, **keywords)
    if weight.flags.writeable:
        weight *= 0.5
    return y


@deviation("inputs_unchanged", kind="fault", operations=("feed_forward", "linear", "scaled_dot_product_attention"))
def optional_argument_modified(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """an optional array, a bias or a mask, is changed in place.

    Shows: bias or mask read again after the call. Hides: calls without one.
    """
    y = right(*arguments, **keywords)
    for x in find_arrays((), keywords):
        if x.flags.writeable:
            x[...] = ~x if x.dtype.kind == "b" else -x
    return y


@deviation("inputs_unchanged", kind="fault", operations=("rope", "multihead_self_attention", "transformer_block"))
def positions_advanced_in_place(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """the positions are advanced by one in place, ready for a next token.

    Shows: the positions after the call. Hides: positions made anew for each call.
    """
    y = right(*arguments, **keywords)
    for x in find_arrays(arguments, keywords):
        if x.dtype.kind == "i" and x.flags.writeable:
            x += 1
    return y


@deviation("inputs_unchanged", kind="fault", operations=("transformer_block", "transformer_lm"))
def weight_taken_out_of_the_dict(right: Any, x: Any, weights: Any, **keywords: Any) -> Any:
    """an entry is popped from the dict of weights that was given.

    Shows: a second call with the same dict. Hides: a single call.
    """
    y = right(x, weights, **keywords)
    weights.pop(next(iter(weights)))
    return y


@deviation("inputs_unchanged", kind="fault", dtypes=HALF, operations=("transformer_block", "transformer_lm"))
def weights_widened_in_the_dict(right: Any, x: Any, weights: Any, **keywords: Any) -> Any:
    """the dict of weights that was given is left holding float32 copies.

    Shows: the dtype of the dict's arrays after the call. Hides: their values.
    """
    y = right(x, weights, **keywords)
    weights.update({name: w.astype(np.float32) for name, w in weights.items() if is_floating(w)})
    return y


@deviation("not_an_alias", kind="fault", operations=("relu", "silu", "gelu"))
def returned_as_it_came(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """the argument itself is returned where nothing has to change.

    Shows: a result equal to the argument, written to. Hides: all other results.
    """
    y = right(x, *rest, **keywords)
    return x if np.array_equal(x, y) else y


@deviation(
    "not_an_alias",
    kind="fault",
    operations=(
        "scaled_dot_product_attention",
        "grouped_query_attention",
        "multihead_self_attention",
        "transformer_block",
        "transformer_lm",
    ),
)
def result_buffer_reused(right: Any, *arguments: Any, memory: Any, **keywords: Any) -> Any:
    """results of one shape and dtype all live in one buffer: a later call overwrites an earlier result.

    Shows: two results of one shape kept side by side. Hides: results that are used up before the next call.
    """
    y = np.asarray(right(*arguments, **keywords))
    buffer = memory.setdefault((y.shape, y.dtype), np.empty_like(y))
    buffer[...] = y
    return buffer


@deviation("not_an_alias", kind="fault", operations=("linear", "glu", "swiglu", "feed_forward", "local_attention"))
def one_workspace_for_all(right: Any, *arguments: Any, memory: Any, **keywords: Any) -> Any:
    """every result is a view of one workspace that only grows.

    Shows: two results kept side by side. Hides: results that are used up before the next call.
    """
    y = np.asarray(right(*arguments, **keywords))
    if memory.get(y.dtype, np.empty(0)).size < y.size:
        memory[y.dtype] = np.empty(y.size, y.dtype)
    view = memory[y.dtype][: y.size].reshape(y.shape)
    view[...] = y
    return view


@deviation("not_an_alias", kind="fault", operations=("log_softmax", "logsumexp", "rope", "embedding"))
def two_buffers_in_turn(right: Any, *arguments: Any, memory: Any, **keywords: Any) -> Any:
    """results take turns in two buffers: the second call after a call overwrites its result.

    Shows: three results kept side by side. Hides: two.
    """
    y = np.asarray(right(*arguments, **keywords))
    buffers = memory.setdefault((y.shape, y.dtype), [np.empty_like(y), np.empty_like(y)])
    buffers.reverse()
    buffers[0][...] = y
    return buffers[0]


@deviation("not_an_alias", kind="fault", operations=("causal_mask", "sliding_window_mask", "alibi_slopes", "alibi_bias"))
def cached_result_handed_out(right: Any, *arguments: Any, memory: Any, **keywords: Any) -> Any:
    """results are cached by the values of all arguments, and the cached array itself is handed out.

    Shows: writing to a result, then the same call again. Hides: results that are only read.
    """
    values = tuple((x.shape, x.dtype.name, x.tobytes()) for x in find_arrays(arguments, keywords))
    key = (values, tuple((k, v) for k, v in keywords.items() if not isinstance(v, np.ndarray)))
    if key not in memory:
        memory[key] = np.asarray(right(*arguments, **keywords))
    return memory[key]
