"""What goes wrong with layer_norm: other statistics than the mean and the variance of the row."""

from typing import Any

import numpy as np

from reference_numpy.layer_norm import layer_norm

from . import deviation
from ._steps import center, mean_square, next_power_of_two


@deviation("reference", "biased_variance")
def unbiased_variance(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """the variance is divided by d − 1, as torch.var does unless told otherwise.

    Shows: every row, short ones most. Hides: half precision beyond some hundred features.
    """
    centred, _ = center(x)
    variance = np.sum(np.square(centred), axis=-1, keepdims=True) / max(x.shape[-1] - 1, 1)
    return centred / np.sqrt(variance + eps) * weight + bias


@deviation(
    "reference",
    "biased_variance",
    kind="convention",
    seen=(
        "https://github.com/harvardnlp/annotated-transformer/pull/119",
        "https://github.com/codertimo/BERT-pytorch/issues/30",
    ),
)
def unbiased_deviation_plus_eps(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """x − mean is divided by the unbiased standard deviation plus epsilon, as in The Annotated Transformer.

    Shows: every row, short ones most. Hides: half precision beyond some hundred features.
    """
    centred, _ = center(x)
    variance = np.sum(np.square(centred), axis=-1, keepdims=True) / max(x.shape[-1] - 1, 1)
    return centred / (np.sqrt(variance) + eps) * weight + bias


@deviation("reference", "rms_norm_of_the_centred")
def not_centred(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """no mean is subtracted anywhere, as in rms_norm.

    Shows: rows with a mean, constant ones above all. Hides: rows of mean 0.
    """
    return x / np.sqrt(mean_square(x) + eps) * weight + bias


@deviation("reference", "zero_mean")
def numerator_not_centred(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """the mean is subtracted in the variance alone: x / sqrt(var + eps).

    Shows: rows with a mean, constant ones above all. Hides: rows of mean 0.
    """
    return x / np.sqrt(center(x)[1] + eps) * weight + bias


@deviation("reference", "unit_variance")
def variance_about_zero(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """the mean of x² is used as the variance: (x − mean) / sqrt(mean(x²) + eps).

    Shows: rows with a mean. Hides: rows of mean 0, constant rows.
    """
    return center(x)[0] / np.sqrt(mean_square(x) + eps) * weight + bias


@deviation("reference", "unit_variance", "scale_invariance")
def no_root(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """the root is missing: (x − mean) / (var + eps).

    Shows: rows whose variance is not 1. Hides: standardized rows.
    """
    centred, variance = center(x)
    return centred / (variance + eps) * weight + bias


@deviation("reference", "unit_variance")
def mean_absolute_deviation(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """x − mean is divided by the mean of its absolute values, plus epsilon.

    Shows: every row but those that differ from their mean by one size. Hides: rows of two.
    """
    centred, _ = center(x)
    return centred / (np.mean(np.abs(centred), axis=-1, keepdims=True) + eps) * weight + bias


@deviation(
    "reference",
    "shift",
    seen=("https://github.com/triton-lang/triton/issues/9838", "https://github.com/linkedin/Liger-Kernel/issues/518"),
)
def padding_in_the_variance(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """the lanes that pad the row to a power of two hold 0, and 0 − mean joins the variance.

    Shows: other widths, rows with a mean. Hides: widths that are powers of two, rows of mean 0.
    """
    d = x.shape[-1]
    mean = np.mean(x, axis=-1, keepdims=True)
    centred, variance = center(x)
    variance = variance + np.square(mean) * ((next_power_of_two(d) - d) / d)
    return centred / np.sqrt(variance + eps) * weight + bias


@deviation("reference")
def first_block_alone(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """mean and variance are those of the first 1024 features: the loop over blocks is missing.

    Shows: rows longer than 1024. Hides: shorter ones.
    """
    first = x[..., :1024]
    _, variance = center(first)
    return (x - np.mean(first, axis=-1, keepdims=True)) / np.sqrt(variance + eps) * weight + bias


@deviation("reference", "batch_independence")
def over_the_first_axis(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """mean and variance are over the first axis, as in batch normalization.

    Shows: rows of different mean or spread. Hides: a single vector, a square batch of independent numbers.
    """
    centred = x - np.mean(x, axis=0, keepdims=True)
    return centred / np.sqrt(np.mean(np.square(centred), axis=0, keepdims=True) + eps) * weight + bias


@deviation("reference", "batch_independence")
def over_the_last_two_axes(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """mean and variance are over the last two axes together, all tokens at once.

    Shows: rows of different mean or spread. Hides: one row, or rows alike.
    """
    if len(x.shape) < 2:
        return layer_norm(x, weight, bias, eps=eps)
    centred = x - np.mean(np.mean(x, axis=-1, keepdims=True), axis=-2, keepdims=True)
    variance = np.mean(np.mean(np.square(centred), axis=-1, keepdims=True), axis=-2, keepdims=True)
    return centred / np.sqrt(variance + eps) * weight + bias


@deviation("reference", "permutation")
def halves_merged_without_their_means(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """the variances of the row's two halves are merged without the square of the difference of their means.

    Shows: halves of different means, short rows. Hides: long rows of independent numbers, d = 1.
    """
    d = x.shape[-1]
    half = d // 2
    if not half:
        return layer_norm(x, weight, bias, eps=eps)
    (left, _), (right, _) = center(x[..., :half]), center(x[..., half:])
    squares = np.sum(np.square(left), axis=-1, keepdims=True) + np.sum(np.square(right), axis=-1, keepdims=True)
    return center(x)[0] / np.sqrt(squares / d + eps) * weight + bias
