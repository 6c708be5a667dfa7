"""What loses a level, or a repetition: NaN swallowed, the last bit, truncation, two dtypes, a call that only warms up."""

from typing import Any

import numpy as np

from spec_tests.deviation import HALF, deviation
from spec_tests.faults import NORMS, ROWS


@deviation("nan_propagation", kind="fault", operations=(*ROWS, "linear"))
def nan_made_zero(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """NaN in x is replaced by 0 before anything is computed.

    Shows: a row with a NaN. Hides: rows of numbers.
    """
    return right(np.where(np.isnan(x.astype(float)), np.zeros_like(x), x), *rest, **keywords)


@deviation("nan_propagation", kind="fault", operations=("softmax", "log_softmax", "logsumexp"))
def nan_as_minus_infinity(right: Any, x: Any, *, axis: int) -> Any:
    """NaN counts as −∞, as where the maximum is taken by comparisons that drop it.

    Shows: a row with a NaN. Hides: rows of numbers.
    """
    return right(np.where(np.isnan(x.astype(float)), np.asarray(-np.inf, x.dtype), x), axis=axis)


@deviation(
    "batch_invariant",
    kind="fault",
    dtypes=("float32",),
    seen=("https://github.com/vllm-project/vllm/pull/48391",),
    operations=(*ROWS, "linear"),
)
def kernel_by_batch_size(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """several rows take another kernel than one, which sums in another order: the last bit differs.

    Shows: the bits of a row alone and in a batch. Hides: any comparison within a bound.
    """
    y = right(x, *rest, **keywords)
    rows = x.size // max(x.shape[keywords.get("axis", -1)], 1)
    return np.nextafter(y, np.zeros_like(y)) if rows > 1 else y


@deviation("bitwise_repeatable", kind="fault", dtypes=("float32",), operations=(*ROWS, "linear"))
def order_of_the_moment(right: Any, *arguments: Any, memory: Any, **keywords: Any) -> Any:
    """sums are taken in the order in which the threads arrive: the last bit differs from call to call.

    Shows: the bits of a call and its repetition. Hides: any comparison within a bound.
    """
    y = right(*arguments, **keywords)
    memory["calls"] = memory.get("calls", 0) + 1
    return np.nextafter(y, np.zeros_like(y)) if memory["calls"] % 2 else y


@deviation("unbiased", "reference", kind="fault", dtypes=("bfloat16",), operations=NORMS)
def rounded_toward_zero(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """float32 is made bfloat16 by dropping 16 bits: rounded toward zero, not to nearest.

    Shows: every second element; the mean error of many. Hides: a bound that allows for more roundings than one.
    """
    y = right(*(x.astype(np.float32) for x in arguments), **keywords)
    return (y.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32).astype(arguments[0].dtype)


@deviation("mixed_dtypes", kind="fault", dtypes=HALF, operations=NORMS)
def dtype_of_the_gain(right: Any, x: Any, weight: Any, *rest: Any, **keywords: Any) -> Any:
    """the result has the dtype of the gain, to which the multiplication promotes it.

    Shows: a float32 gain with x in half precision. Hides: one dtype throughout.
    """
    return right(x, weight, *rest, **keywords).astype(weight.dtype)


@deviation("repeatable", "bitwise_repeatable", kind="fault", operations=(*ROWS, "linear", "embedding"))
def first_call_only_recorded(right: Any, *arguments: Any, memory: Any, **keywords: Any) -> Any:
    """the first call of each shape is recorded for later replay and not run: its result stays 0.

    Shows: a call and its repetition. Hides: a warm-up call of the same shape.
    """
    y = right(*arguments, **keywords)
    key = (*((x.shape, x.dtype.name) for x in arguments), *sorted(map(str, keywords)))
    recorded = memory.setdefault(key, False)
    memory[key] = True
    return y if recorded else np.zeros_like(y)
