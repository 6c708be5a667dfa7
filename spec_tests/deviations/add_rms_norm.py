"""What goes wrong with add_rms_norm: what is normalized, and what is handed on."""

from typing import Any

import numpy as np

from reference_numpy.add_rms_norm import add_rms_norm
from reference_numpy.rms_norm import rms_norm

from . import HALF, deviation


@deviation("reference", "norm_of_the_sum")
def residual_not_added(x: Any, residual: Any, weight: Any, *, eps: Any) -> Any:
    """x alone is normalized, and the sum is handed on.

    Shows: a residual. Hides: one of 0.
    """
    return rms_norm(x, weight, eps=eps), x + residual


@deviation("reference", "sum_is_rounded_once")
def normalized_handed_on(x: Any, residual: Any, weight: Any, *, eps: Any) -> Any:
    """the normalized sum is handed on, too: the residual stream passes through the norm.

    Shows: any input. Hides: sums that are normalized already.
    """
    y, _ = add_rms_norm(x, residual, weight, eps=eps)
    return y, y


@deviation("reference", "sum_is_rounded_once")
def old_residual_handed_on(x: Any, residual: Any, weight: Any, *, eps: Any) -> Any:
    """the residual is handed on as it was.

    Shows: any x but 0. Hides: x = 0.
    """
    return add_rms_norm(x, residual, weight, eps=eps)[0], residual + 0.0 * x


@deviation("reference", "summands_exchanged")
def statistic_of_x(x: Any, residual: Any, weight: Any, *, eps: Any) -> Any:
    """the sum is divided by the root mean square of x.

    Shows: a residual. Hides: one of 0.
    """
    total = x + residual
    return total / np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + eps) * weight, total


@deviation("reference", "weight_of_zero")
def weight_of_the_stream(x: Any, residual: Any, weight: Any, *, eps: Any) -> Any:
    """the sum is handed on multiplied by the weight.

    Shows: a weight other than 1. Hides: a weight of ones.
    """
    y, total = add_rms_norm(x, residual, weight, eps=eps)
    return y, total * weight


@deviation("reference", "any_split_of_the_sum")
def added_after_the_norm(x: Any, residual: Any, weight: Any, *, eps: Any) -> Any:
    """x is normalized, and then the residual is added: the order of a post-norm block.

    Shows: a residual. Hides: one of 0.
    """
    return rms_norm(x, weight, eps=eps) + residual, x + residual


@deviation("reference", "residual_of_zero", kind="convention")
def results_exchanged(x: Any, residual: Any, weight: Any, *, eps: Any) -> Any:
    """the sum comes first, and y second.

    Shows: any input. Hides: sums that are normalized already.
    """
    y, total = add_rms_norm(x, residual, weight, eps=eps)
    return total, y


@deviation(
    "reference", "sum_is_rounded_once", kind="arithmetic", dtypes=HALF, seen=("https://github.com/ROCm/aiter/issues/5151",)
)
def sum_truncated(x: Any, residual: Any, weight: Any, *, eps: Any, storage: Any = None) -> Any:
    """the sum is truncated to 16 bits, not rounded to nearest, so that it is too small on average.

    Shows: sums that the dtype does not hold. Hides: those that it holds.
    """
    y, total = add_rms_norm(x, residual, weight, eps=eps)
    plain = np.asarray(getattr(total, "value", total))
    nearest = storage.round(plain)
    _, exponent = np.frexp(nearest)
    below = np.where(np.abs(nearest) > np.abs(plain), np.ldexp(1.0, exponent - storage.precision), 0.0)
    return y, total * 0.0 + (nearest - np.copysign(below, plain))


@deviation(
    "residual_rounding", kind="arithmetic", dtypes=HALF,
    seen=("https://github.com/vllm-project/vllm/issues/52104", "https://github.com/vllm-project/vllm/pull/52243"),
)  # fmt: skip
def rounded_in_long_rows(x: Any, residual: Any, weight: Any, *, eps: Any, held: Any) -> Any:
    """rows longer than 128 are normalized as they are stored, and shorter ones before they are rounded.

    Shows: the same order asked of short and of long rows. Hides: rows of one length, float32.
    """
    total = x + residual
    return rms_norm(held(total) if x.shape[-1] > 128 else total, weight, eps=eps), total
