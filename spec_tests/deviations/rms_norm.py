"""What goes wrong with rms_norm: another epsilon, another statistic, another gain."""

from typing import Any

import numpy as np

from reference_numpy.rms_norm import rms_norm
from spec_tests.deviation import deviation

from ._steps import next_power_of_two


def mean_square(x: Any) -> Any:
    return np.mean(np.square(x), axis=-1, keepdims=True)


# --- epsilon --------------------------------------------------------------------------------------------------------


@deviation(
    "reference",
    "eps_is_inside_the_root",
    seen=(
        "https://github.com/tile-ai/tilelang/pull/1243",
        "https://github.com/NVIDIA/TransformerEngine/pull/364",
        "https://github.com/fla-org/flash-linear-attention/pull/508",
        "https://github.com/pytorch/pytorch/pull/136727",
    ),
)
def eps_outside_sqrt(x: Any, weight: Any, *, eps: float) -> Any:
    """epsilon stands outside the square root: x / (sqrt(mean(x²)) + eps).

    Shows: rows whose root mean square is near eps, or below it. Hides: ordinary rows.
    """
    return x / (np.sqrt(mean_square(x)) + eps) * weight


@deviation("reference", "eps_is_inside_the_root")
def eps_after_rsqrt(x: Any, weight: Any, *, eps: float) -> Any:
    """epsilon is added to the reciprocal root: x (1 / sqrt(mean(x²)) + eps).

    Shows: a row of zeros (NaN), a large eps, large rows. Hides: ordinary rows and a small eps.
    """
    return x * (1 / np.sqrt(mean_square(x)) + eps) * weight


@deviation("reference", "eps_is_inside_the_root", seen=("https://github.com/tenstorrent/tt-metal/issues/55347",))
def eps_ignored(x: Any, weight: Any, *, eps: float) -> Any:
    """epsilon is ignored: x / sqrt(mean(x²)).

    Shows: a row of zeros (NaN), rows near sqrt(eps). Hides: ordinary rows.
    """
    return rms_norm(x, weight, eps=0.0)


@deviation(
    "reference",
    "eps_as_given",
    seen=(
        "https://github.com/NVIDIA/cutlass/pull/1112",
        "https://github.com/apache/tvm/pull/15856",
        "https://github.com/PaddlePaddle/FastDeploy/pull/2797",
    ),
)
def eps_hardcoded(x: Any, weight: Any, *, eps: float) -> Any:
    """epsilon is 1e-5, whatever is given.

    Shows: another eps on rows near its root, or an eps of 0.1 on any row. Hides: eps = 1e-5, the usual one.
    """
    return rms_norm(x, weight, eps=1e-5)


@deviation("scale_invariance")
def eps_of_zero_replaced(x: Any, weight: Any, *, eps: float) -> Any:
    """an epsilon of 0 is replaced by 1e-6, as `eps or 1e-6` does.

    Shows: eps = 0 on small rows, or in float32. Hides: every other eps.
    """
    return rms_norm(x, weight, eps=eps or 1e-6)


@deviation("reference", "unit_scale")
def eps_as_floor(x: Any, weight: Any, *, eps: float) -> Any:
    """epsilon is a floor of the mean square: x / sqrt(max(mean(x²), eps)).

    Shows: rows near sqrt(eps), or a large eps. Hides: rows far above it or far below it.
    """
    return x / np.sqrt(np.maximum(mean_square(x), eps)) * weight


@deviation("reference", "eps_is_inside_the_root")
def eps_squared(x: Any, weight: Any, *, eps: float) -> Any:
    """epsilon is squared: x / sqrt(mean(x²) + eps²).

    Shows: rows near sqrt(eps), or eps = 0.1. Hides: eps = 1 and eps = 0, ordinary rows.
    """
    return rms_norm(x, weight, eps=eps * eps)


@deviation("reference", "eps_is_inside_the_root")
def eps_in_the_sum(x: Any, weight: Any, *, eps: float) -> Any:
    """epsilon is added to the sum of the squares, before it is divided by d.

    Shows: rows near sqrt(eps), or a large eps. Hides: ordinary rows, and d = 1.
    """
    return rms_norm(x, weight, eps=eps / x.shape[-1])


# --- the statistic --------------------------------------------------------------------------------------------------


@deviation("reference", "not_centred")
def mean_subtracted(x: Any, weight: Any, *, eps: float) -> Any:
    """the mean is subtracted, as layer_norm does.

    Shows: rows with a mean, constant ones above all. Hides: long rows of mean 0.
    """
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return centred / np.sqrt(mean_square(centred) + eps) * weight


@deviation("reference", "not_centred")
def divided_by_standard_deviation(x: Any, weight: Any, *, eps: float) -> Any:
    """x, uncentred, is divided by its standard deviation: x / sqrt(var(x) + eps).

    Shows: rows with a mean, constant ones above all. Hides: long rows of mean 0.
    """
    return x / np.sqrt(mean_square(x - np.mean(x, axis=-1, keepdims=True)) + eps) * weight


@deviation("reference", "unit_scale")
def norm_not_rms(x: Any, weight: Any, *, eps: float) -> Any:
    """the squares are summed, not averaged: x / sqrt(sum(x²) + eps).

    Shows: every row. Hides: d = 1.
    """
    return x / np.sqrt(np.sum(np.square(x), axis=-1, keepdims=True) + eps) * weight


@deviation("reference", "unit_scale")
def divided_by_d_minus_one(x: Any, weight: Any, *, eps: float) -> Any:
    """the sum of the squares is divided by d − 1, as an unbiased variance is.

    Shows: every row, short ones most. Hides: half precision beyond some hundred features.
    """
    return x / np.sqrt(np.sum(np.square(x), axis=-1, keepdims=True) / max(x.shape[-1] - 1, 1) + eps) * weight


@deviation("reference", "unit_scale")
def padded_width(x: Any, weight: Any, *, eps: float) -> Any:
    """the sum of the squares is divided by the padded width, d rounded up to a power of two.

    Shows: every other d. Hides: d a power of two, as models have it.
    """
    return x / np.sqrt(np.sum(np.square(x), axis=-1, keepdims=True) / next_power_of_two(x.shape[-1]) + eps) * weight


@deviation("reference", "permutation", seen=("https://github.com/vllm-project/vllm-xpu-kernels/pull/387",))
def tail_left_out(x: Any, weight: Any, *, eps: float) -> Any:
    """the squares beyond the last whole block of 8 are left out of the sum, where d > 8.

    Shows: d not a multiple of 8. Hides: d a multiple of 8, or shorter than a block.
    """
    d = x.shape[-1]
    whole = x[..., : d - d % 8] if d > 8 else x
    return x / np.sqrt(np.sum(np.square(whole), axis=-1, keepdims=True) / d + eps) * weight


@deviation("reference")
def first_block_alone(x: Any, weight: Any, *, eps: float) -> Any:
    """only the first 1024 features are summed: the loop over blocks is missing.

    Shows: rows longer than 1024. Hides: shorter ones.
    """
    return x / np.sqrt(np.sum(np.square(x[..., :1024]), axis=-1, keepdims=True) / x.shape[-1] + eps) * weight


@deviation("reference", "unit_scale")
def no_root(x: Any, weight: Any, *, eps: float) -> Any:
    """the root is missing: x / (mean(x²) + eps).

    Shows: rows whose root mean square is not 1. Hides: standardized rows.
    """
    return x / (mean_square(x) + eps) * weight


@deviation("reference", "unit_scale")
def root_taken_twice(x: Any, weight: Any, *, eps: float) -> Any:
    """the root is taken twice: x / sqrt(sqrt(mean(x²)) + eps).

    Shows: rows whose root mean square is not 1. Hides: standardized rows.
    """
    return x / np.sqrt(np.sqrt(mean_square(x)) + eps) * weight


@deviation("reference", "unit_scale", seen=("https://github.com/mosaicml/llm-foundry/pull/372",))
def divided_by_rsqrt(x: Any, weight: Any, *, eps: float) -> Any:
    """x is multiplied by the root, not divided by it: x / rsqrt(mean(x²) + eps).

    Shows: rows whose root mean square is not 1. Hides: standardized rows.
    """
    return x * np.sqrt(mean_square(x) + eps) * weight


@deviation("reference", "unit_scale")
def mean_absolute_value(x: Any, weight: Any, *, eps: float) -> Any:
    """x is divided by its mean absolute value: x / (mean(|x|) + eps).

    Shows: every row but those of one size. Hides: constant rows, d = 1.
    """
    return x / (np.mean(np.abs(x), axis=-1, keepdims=True) + eps) * weight


@deviation("reference", "batch_independence")
def over_the_first_axis(x: Any, weight: Any, *, eps: float) -> Any:
    """the mean is over the first axis, not the last.

    Shows: rows of different size. Hides: a single vector, a square batch of independent numbers.
    """
    return x / np.sqrt(np.mean(np.square(x), axis=0, keepdims=True) + eps) * weight


@deviation("reference", "batch_independence", seen=("https://github.com/vllm-project/vllm/pull/16311",))
def over_the_last_two_axes(x: Any, weight: Any, *, eps: float) -> Any:
    """the mean is over the last two axes together, all heads at once.

    Shows: rows, or heads, of different size. Hides: one row, or rows alike.
    """
    mean = mean_square(x)
    if len(x.shape) > 1:
        mean = np.mean(mean, axis=-2, keepdims=True)
    return x / np.sqrt(mean + eps) * weight


# --- the gain -------------------------------------------------------------------------------------------------------


@deviation("reference", "gain_is_linear", kind="convention")
def gain_plus_one(x: Any, weight: Any, *, eps: float) -> Any:
    """the gain is 1 + weight, as in Gemma, whose weights are stored around zero.

    Shows: every gain. Hides: nothing but rows of zeros.
    """
    return rms_norm(x, weight + 1.0, eps=eps)


@deviation("reference", "gain_is_featurewise")
def gain_ignored(x: Any, weight: Any, *, eps: float) -> Any:
    """the gain is ignored.

    Shows: any gain but 1. Hides: a freshly made layer, whose gain is 1.
    """
    return rms_norm(x, np.ones(weight.shape), eps=eps)


@deviation("reference", "gain_is_featurewise")
def gain_before_the_statistic(x: Any, weight: Any, *, eps: float) -> Any:
    """x is multiplied by the gain before its mean square is taken.

    Shows: any gain but 1. Hides: a gain of 1.
    """
    return rms_norm(x * weight, np.ones(weight.shape), eps=eps)
