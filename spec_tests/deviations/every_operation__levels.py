"""What costs an implementation a level, whatever the operation: properties that no equation demands."""

from typing import Any

import numpy as np

from spec_tests.specification.formats import is_floating

from . import HALF, deviation
from ._faults import (
    ATTENTION_OPERATIONS,
    FEED_FORWARD_OPERATIONS,
    MASKED_ATTENTION_OPERATIONS,
    NORM_OPERATIONS,
    ROUNDED_BATCH_OPERATIONS,
    ROW_OPERATIONS,
    SOFTMAX_OPERATIONS,
    count_batch_axes,
)


def _move_to_next_number(y: Any, where: Any) -> Any:
    """Return the result, with the elements at `where` moved to the next number of its dtype."""
    y = np.asarray(y)
    return np.where(where & np.isfinite(y.astype(np.float64)), np.nextafter(y, np.ones_like(y)), y)


@deviation(
    "bitwise_repeatable",
    kind="fault",
    operations=(*ROUNDED_BATCH_OPERATIONS, "alibi_bias"),
)
def sums_in_random_order(right: Any, *arguments: Any, memory: Any, **keywords: Any) -> Any:
    """the order of sums is left to chance, as atomic additions leave it: last bits differ from call to call.

    Shows: the same call twice, bit for bit. Hides: results within their bounds.
    """
    rng = memory.setdefault("rng", np.random.default_rng(0))
    y = np.asarray(right(*arguments, **keywords))
    return _move_to_next_number(y, rng.random(y.shape) < 0.5)


@deviation(
    "batch_invariant",
    kind="fault",
    seen=("https://github.com/vllm-project/vllm/pull/48391",),
    operations=ROUNDED_BATCH_OPERATIONS,
)
def sums_split_in_small_batches(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """a batch of one is summed in another order than larger ones, to keep all cores busy: last bits differ.

    Shows: an entry alone and in its batch, bit for bit. Hides: results within their bounds.
    """
    y = right(x, *rest, **keywords)
    return _move_to_next_number(y, int(np.prod(x.shape[: count_batch_axes(right, x)])) == 1)


@deviation(
    "nan_propagation",
    kind="fault",
    operations=(
        "rms_norm",
        "layer_norm",
        "log_softmax",
        "silu",
        "swiglu",
        "feed_forward",
        "scaled_dot_product_attention",
        "grouped_query_attention",
        "multihead_self_attention",
        "transformer_block",
    ),
)
def nan_argument_replaced_by_zero(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """a NaN in an argument is replaced by zero.

    Shows: a NaN in an argument. Hides: numbers.
    """
    return right(*(np.where(np.isnan(x), np.zeros_like(x), x) if is_floating(x) else x for x in arguments), **keywords)


@deviation(
    "nan_propagation",
    kind="fault",
    operations=("softmax", "logsumexp", "sigmoid", "gelu", "rope", "linear", "glu", "local_attention", "relu"),
)
def nan_result_replaced_by_zero(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """a NaN in the result is replaced by zero.

    Shows: a NaN in an argument. Hides: numbers.
    """
    y = np.asarray(right(*arguments, **keywords))
    return np.where(np.isnan(y), np.zeros_like(y), y)


@deviation("mixed_dtypes", kind="fault", dtypes=HALF, operations=NORM_OPERATIONS)
def weights_promote_the_result(right: Any, x: Any, *weights: Any, **keywords: Any) -> Any:
    """16-bit x with float32 weights gives a float32 result.

    Shows: dtypes that differ. Hides: one dtype for all.
    """
    y = right(x, *weights, **keywords)
    return y.astype(np.result_type(y, *(w.dtype for w in weights)))


@deviation("mixed_dtypes", kind="fault", dtypes=HALF, operations=NORM_OPERATIONS)
def weights_cut_to_the_dtype_of_x(right: Any, x: Any, *weights: Any, **keywords: Any) -> Any:
    """float32 weights are rounded to the 16 bits of x before they are used.

    Shows: weights that 16 bits do not hold. Hides: one dtype for all.
    """
    return right(x, *(w.astype(x.dtype) for w in weights), **keywords)


@deviation("mixed_dtypes", kind="fault", dtypes=HALF, operations=NORM_OPERATIONS)
def other_dtype_of_weights_refused(right: Any, x: Any, *weights: Any, **keywords: Any) -> Any:
    """weights of another dtype than x are refused.

    Shows: dtypes that differ. Hides: one dtype for all.
    """
    if any(w.dtype != x.dtype for w in weights):
        raise RuntimeError("expected one dtype")
    return right(x, *weights, **keywords)


@deviation("relative_tail", kind="fault", operations=("sigmoid",))
def tail_lost_beside_one(right: Any, x: Any) -> Any:
    """the result is what is left of 1 after a subtraction, as in (1 + tanh(x/2)) / 2: the negative tail has no correct digit.

    Shows: the relative error of the negative tail. Hides: errors measured by 1.
    """
    y = right(x)
    return 1 - (1 - y)


@deviation("relative_tail", kind="fault", operations=("silu", "gelu"))
def tail_lost_to_cancellation(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """the result is what is left of x after a subtraction: exact beside x, and without a correct digit in the negative tail.

    Shows: the relative error of the negative tail. Hides: errors measured by x.
    """
    y = right(x, *rest, **keywords)
    with np.errstate(all="ignore"):
        return np.where((x < 0) & np.isfinite(x), x - (x - y), y)


@deviation("tokens_are_independent", kind="fault", operations=FEED_FORWARD_OPERATIONS)
def kernel_chosen_by_the_values(right: Any, x: Any, *weights: Any, **keywords: Any) -> Any:
    """the kernel, and with it the order of sums, is chosen by how the tokens' values are spread: last bits differ.

    Shows: a token among others of other values, bit for bit. Hides: results within their bounds.
    """
    y = right(x, *weights, **keywords)
    return _move_to_next_number(y, bool(np.sum(x.astype(np.float64)) > 0))


@deviation("quarantine", kind="fault", operations=ATTENTION_OPERATIONS)
def hidden_values_multiplied(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """a hidden value is multiplied by its weight of zero, so that a NaN or an infinity in it spreads.

    Shows: NaN and infinities behind a mask. Hides: finite ones.
    """
    return right(*arguments, **keywords)


@deviation("nan_propagation", kind="fault", operations=SOFTMAX_OPERATIONS)
def nan_as_minus_infinity(right: Any, x: Any, *, axis: int) -> Any:
    """a NaN counts as −∞: the comparisons that find the maximum drop it.

    Shows: a row with a NaN. Hides: rows of numbers.
    """
    return right(np.where(np.isnan(x.astype(float)), np.asarray(-np.inf, x.dtype), x), axis=axis)


@deviation("repeatable", "bitwise_repeatable", kind="fault", operations=(*ROW_OPERATIONS, "linear", "embedding"))
def first_call_only_recorded(right: Any, *arguments: Any, memory: Any, **keywords: Any) -> Any:
    """the first call of each shape is recorded for later replay and not run: its result stays 0.

    Shows: a call and its repetition. Hides: a warm-up call of the same shape.
    """
    y = right(*arguments, **keywords)
    key = (*((x.shape, x.dtype.name) for x in arguments), *sorted(map(str, keywords)))
    recorded = memory.setdefault(key, False)
    memory[key] = True
    return y if recorded else np.zeros_like(y)


@deviation("range", kind="fault", dtypes=("float16",), operations=MASKED_ATTENTION_OPERATIONS)
def scores_overflow_in_the_dtype(right: Any, q: Any, k: Any, *rest: Any, scale: Any = None, **keywords: Any) -> Any:
    """scores are stored in the dtype: one beyond its largest number is infinite, and the difference of two is NaN.

    Shows: scores beyond 65504 in float16. Hides: smaller scores, the other dtypes.
    """
    y = right(q, k, *rest, scale=scale, **keywords)
    beyond = np.max(np.abs(_scaled_scores(q, k, scale)), axis=-1, initial=0.0) > np.finfo(np.float16).max
    return np.where(beyond[..., None], np.asarray(np.nan, y.dtype), y)


@deviation("range", kind="fault", dtypes=("float16",), operations=MASKED_ATTENTION_OPERATIONS)
def scores_clipped_to_the_dtype(right: Any, q: Any, k: Any, v: Any, *rest: Any, scale: Any = None, **keywords: Any) -> Any:
    """scores beyond the dtype's largest number are clipped to it: keys that differ there weigh the same.

    Shows: two scores of a query beyond 65504 in float16. Hides: smaller scores, the other dtypes.
    """
    y, largest = right(q, k, v, *rest, scale=scale, **keywords), float(np.finfo(np.float16).max)
    scores = _scaled_scores(q, k, scale)
    mask = keywords.get("mask", rest[0] if rest else None)
    scores = scores if mask is None else np.where(mask, scores, -np.inf)
    at_the_limit = (scores >= largest).astype(float)
    tied = np.sum(at_the_limit, axis=-1, keepdims=True)
    mean = at_the_limit @ _repeat_heads(q, v).astype(float) / np.maximum(tied, 1.0)
    return np.where(tied > 1, mean.astype(y.dtype), y)


def _scaled_scores(q: Any, k: Any, scale: Any) -> Any:
    """Return the scaled scores in float64."""
    product = q.astype(float) @ np.swapaxes(_repeat_heads(q, k).astype(float), -1, -2)
    return product * (1 / np.sqrt(q.shape[-1]) if scale is None else scale)


def _repeat_heads(q: Any, x: Any) -> Any:
    """Return keys or values with a head for each head of the queries, where the queries have more."""
    shares = min(q.ndim, x.ndim) > 2 and 0 < x.shape[-3] < q.shape[-3] and q.shape[-3] % x.shape[-3] == 0
    return np.repeat(x, q.shape[-3] // x.shape[-3], axis=-3) if shares else x
