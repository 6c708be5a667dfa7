"""What goes wrong with rms_norm: another statistic than the mean square of the row."""

from typing import Any

import numpy as np

from . import deviation
from ._steps import mean_square, next_power_of_two


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
