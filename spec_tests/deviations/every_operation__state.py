"""What goes wrong because of earlier calls, whatever the operation."""

from typing import Any

import numpy as np

from spec_tests.specification.pytree import tree_map

from . import deviation
from ._faults import MASKED_ATTENTION_OPERATIONS, find_arrays, shapes_or_keywords


def _first_stored(memory: Any, key: Any, y: Any) -> Any:
    """Return a copy of what was first stored under the key. Store y if nothing was."""
    return np.array(memory.setdefault(key, np.array(y)))


@deviation("every_argument_counts", kind="fault", operations=("relu", "sigmoid", "embedding", "alibi_bias"))
def cached_by_shape(right: Any, *arguments: Any, memory: Any, **keywords: Any) -> Any:
    """results are cached by the shapes and the dtype of the arguments alone.

    Shows: other values of the same shapes. Hides: the first call of any shape.
    """
    y = np.asarray(right(*arguments, **keywords))
    return _first_stored(memory, (y.shape, y.dtype, shapes_or_keywords(arguments, keywords)), y)


@deviation("every_argument_counts", kind="fault", operations=("silu", "gelu", "linear", "glu"))
def call_before_answered(right: Any, *arguments: Any, memory: Any, **keywords: Any) -> Any:
    """the result of the call before is returned, where it has the right shape: nobody waited for the new one.

    Shows: two calls of the same shapes with other values. Hides: a call of other shapes than the one before.
    """
    y = np.asarray(right(*arguments, **keywords))
    before, memory["result"] = memory.get("result", y), y
    return before.copy() if before.shape == y.shape and before.dtype == y.dtype else y


@deviation("every_argument_counts", kind="fault", operations=("logsumexp", "glu", "feed_forward", "embedding"))
def cached_by_identity(right: Any, *arguments: Any, memory: Any, **keywords: Any) -> Any:
    """results are cached by the identity of the arrays, as if nobody wrote to them.

    Shows: the same array with other values. Hides: a new array for each call.
    """
    given = find_arrays(arguments, keywords)
    rest = tuple((k, v) for k, v in keywords.items() if not isinstance(v, np.ndarray))
    memory.setdefault("alive", []).append(given)  # so that no identity is taken again
    return _first_stored(memory, (tuple(map(id, given)), rest), right(*arguments, **keywords))


@deviation("every_argument_counts", kind="fault", operations=("softmax", "log_softmax", "rms_norm", "layer_norm"))
def cached_by_a_few_elements(right: Any, *arguments: Any, memory: Any, **keywords: Any) -> Any:
    """results are cached by the shapes and the first element of each argument.

    Shows: arguments that differ in a later element. Hides: arguments that differ altogether.
    """
    y = np.asarray(right(*arguments, **keywords))
    firsts = tuple(x.astype(float).flat[0] if x.size else 0.0 for x in find_arrays(arguments, keywords))
    rest = tuple((k, v) for k, v in keywords.items() if not isinstance(v, np.ndarray))
    return _first_stored(memory, (y.shape, y.dtype, shapes_or_keywords(arguments, keywords), firsts, rest), y)


@deviation("every_argument_counts", kind="fault", operations=("linear", "glu", "swiglu", "feed_forward"))
def weights_of_the_first_call(right: Any, x: Any, *weights: Any, memory: Any, **keywords: Any) -> Any:
    """weights are prepared once for each shape and dtype, and kept.

    Shows: other weights of the same shapes. Hides: the same weights, as in one model.
    """
    key = (tuple(w.shape for w in find_arrays(weights, {})), tuple(w.dtype for w in find_arrays(weights, {})))
    copied = tree_map(lambda w: w.copy() if isinstance(w, np.ndarray) else w, list(weights))
    return right(x, *memory.setdefault(key, copied), **keywords)


@deviation("every_argument_counts", kind="fault", operations=("gelu", "feed_forward", "local_attention", "transformer_lm"))
def parameters_of_the_first_call(right: Any, *arguments: Any, memory: Any, **keywords: Any) -> Any:
    """a kernel is compiled for the shapes of its arguments, with the numbers of the first call as constants.

    Shows: another eps, theta, scale, layout or window with the same shapes. Hides: the same numbers each time.
    """
    numbers = {
        k: v for k, v in keywords.items() if not isinstance(v, np.ndarray) and k not in ("n", "m", "num_heads", "num_kv_heads")
    }
    sizes = tuple(keywords.get(k) for k in ("n", "m", "num_heads", "num_kv_heads"))
    first = memory.setdefault((tuple(x.shape for x in find_arrays(arguments, keywords)), sizes, frozenset(numbers)), numbers)
    return right(*arguments, **{**keywords, **first})


@deviation(
    "every_argument_counts",
    kind="fault",
    seen=("https://github.com/lucidrains/rotary-embedding-torch/issues/11",),
    operations=("rope", "multihead_self_attention", "transformer_block"),
)
def positions_of_the_first_call(right: Any, *arguments: Any, memory: Any, **keywords: Any) -> Any:
    """sines and cosines are kept by the number of tokens: the first call's positions stay.

    Shows: other positions of as many tokens. Hides: positions 0, 1, 2, … each time.
    """

    def first(x: Any) -> Any:
        return memory.setdefault(x.shape, x.copy()) if isinstance(x, np.ndarray) and x.dtype.kind == "i" else x

    return right(*map(first, arguments), **{k: first(x) for k, x in keywords.items()})


@deviation("every_argument_counts", "mask_and_causal", kind="fault", operations=MASKED_ATTENTION_OPERATIONS)
def mask_of_the_first_call(right: Any, *arguments: Any, memory: Any, **keywords: Any) -> Any:
    """masks are prepared once for each shape, and kept.

    Shows: another mask of the same shape. Hides: the same mask each time.
    """

    def first(x: Any) -> Any:
        return memory.setdefault(x.shape, x.copy()) if isinstance(x, np.ndarray) and x.dtype.kind == "b" else x

    return right(*map(first, arguments), **{k: first(x) for k, x in keywords.items()})


@deviation(
    "repeatable",
    kind="fault",
    operations=(
        "linear",
        "glu",
        "logsumexp",
        "scaled_dot_product_attention",
        "grouped_query_attention",
        "local_attention",
        "rope",
        "softmax",
    ),
)
def accumulator_not_reset(right: Any, *arguments: Any, memory: Any, **keywords: Any) -> Any:
    """a call adds to what the call before left in the accumulator, where that had the same shape.

    Shows: the same call twice. Hides: the first call, a call of other shapes than the one before.
    """
    y = np.asarray(right(*arguments, **keywords))
    with np.errstate(all="ignore"):
        total = y + memory.get((y.shape, y.dtype), np.zeros_like(y))
    memory[y.shape, y.dtype] = total
    return total.copy()


@deviation("reference", kind="fault", operations=("swiglu", "log_softmax", "logsumexp", "embedding"))
def tuning_run_counts_too(right: Any, *arguments: Any, memory: Any, **keywords: Any) -> Any:
    """the first call of a shape tries out variants of the kernel, each of which adds its result.

    Shows: the first call of a shape. Hides: any later one.
    """
    y = np.asarray(right(*arguments, **keywords))
    key = (y.shape, y.dtype)
    with np.errstate(all="ignore"):
        result = y if key in memory else y + y
    memory[key] = True
    return result


@deviation(
    "reference",
    "repeatable",
    kind="fault",
    operations=(
        "rms_norm",
        "layer_norm",
        "log_softmax",
        "silu",
        "multihead_self_attention",
        "transformer_block",
        "transformer_lm",
        "causal_mask",
        "sliding_window_mask",
    ),
)
def every_third_call_lost(right: Any, *arguments: Any, memory: Any, **keywords: Any) -> Any:
    """three workspaces take turns, and one of them is never written.

    Shows: every third call. Hides: the others.
    """
    memory["calls"] = memory.get("calls", 0) + 1
    y = np.asarray(right(*arguments, **keywords))
    return y if memory["calls"] % 3 else np.zeros_like(y)


@deviation("reference", kind="fault", operations=("layer_norm", "softmax", "linear", "rope"))
def right_for_twenty_calls(right: Any, *arguments: Any, memory: Any, **keywords: Any) -> Any:
    """a scale that adapts to the arguments drifts: after twenty calls results are 1% too large.

    Shows: many calls. Hides: a few.
    """
    memory["calls"] = memory.get("calls", 0) + 1
    y = np.asarray(right(*arguments, **keywords))
    with np.errstate(all="ignore"):
        return y if memory["calls"] <= 20 else (y.astype(np.float64) * 1.01).astype(y.dtype)


@deviation("reference", kind="fault", operations=("softmax", "linear", "rope", "silu"))
def shape_of_the_largest_call(right: Any, *arguments: Any, memory: Any, **keywords: Any) -> Any:
    """a kernel compiled for the longest rows so far is launched for shorter ones with their last column left to zero.

    Shows: a shorter row after a longer one. Hides: one shape, growing shapes.
    """
    y = np.array(right(*arguments, **keywords))
    width = y.shape[-1] if y.ndim else 0
    if width < memory.get("width", 0):
        y[..., -1:] = 0
    memory["width"] = max(width, memory.get("width", 0))
    return y
