"""What goes wrong with layer_norm: another epsilon, another gain or bias."""

from typing import Any

import numpy as np

from reference_numpy.layer_norm import layer_norm

from . import deviation
from ._steps import center

# --- epsilon --------------------------------------------------------------------------------------------------------


@deviation(
    "reference",
    "eps_is_inside_the_root",
    seen=(
        "https://github.com/tracel-ai/burn/issues/2185",
        "https://github.com/hkproj/pytorch-transformer/pull/31",
        "https://github.com/microsoft/CNTK/issues/3816",
    ),
)
def eps_outside_sqrt(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """epsilon stands outside the square root: (x − mean) / (sqrt(var) + eps).

    Shows: rows whose spread is near eps, or below it; a large eps. Hides: ordinary rows.
    """
    centred, variance = center(x)
    return centred / (np.sqrt(variance) + eps) * weight + bias


@deviation("reference", "zero_row")
def eps_ignored(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """epsilon is ignored: (x − mean) / sqrt(var).

    Shows: a constant row (NaN), rows whose spread is near sqrt(eps). Hides: ordinary rows.
    """
    return layer_norm(x, weight, bias, eps=0.0)


@deviation("reference", "eps_is_inside_the_root", "scale", seen=("https://github.com/keras-team/keras-hub/issues/728",))
def eps_hardcoded(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """epsilon is 1e-6, whatever is given.

    Shows: another eps on rows of little spread, or an eps of 0.1 on any row. Hides: eps = 1e-6.
    """
    return layer_norm(x, weight, bias, eps=1e-6)


@deviation("reference", "eps_is_inside_the_root", seen=("https://github.com/xlite-dev/LeetCUDA/issues/309",))
def eps_added_to_d(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """epsilon is added to d, by which the sum of the squares is divided, not to the variance.

    Shows: a constant row (NaN), rows of little spread, short rows with a large eps. Hides: ordinary rows.
    """
    centred, _ = center(x)
    squares = np.sum(np.square(centred), axis=-1, keepdims=True)
    return centred / np.sqrt(squares / (x.shape[-1] + eps)) * weight + bias


@deviation("reference", "unit_variance")
def eps_as_floor(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """epsilon is a floor of the variance: (x − mean) / sqrt(max(var, eps)).

    Shows: rows whose spread is near sqrt(eps), or a large eps. Hides: rows far above it or far below it.
    """
    centred, variance = center(x)
    return centred / np.sqrt(np.maximum(variance, eps)) * weight + bias


# --- gain and bias --------------------------------------------------------------------------------------------------


@deviation("reference", "gain_then_bias")
def bias_before_gain(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """the bias is added before the gain multiplies: (x̂ + bias) · weight.

    Shows: a gain and a bias. Hides: a gain of 1 or a bias of 0, as layers are made.
    """
    return layer_norm(x, np.ones(weight.shape), bias, eps=eps) * weight


@deviation("reference", "gain_and_bias_are_featurewise")
def gain_and_bias_ignored(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """gain and bias are ignored.

    Shows: any gain but 1, any bias but 0. Hides: a freshly made layer.
    """
    return layer_norm(x, np.ones(weight.shape), np.zeros(bias.shape), eps=eps)


@deviation("reference", "constant_row")
def bias_ignored(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """the bias is ignored.

    Shows: any bias but 0. Hides: a freshly made layer.
    """
    return layer_norm(x, weight, np.zeros(bias.shape), eps=eps)


@deviation("reference", "constant_row", "odd")
def gain_and_bias_swapped(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """gain and bias are swapped: x̂ · bias + weight.

    Shows: any gain that is not the bias. Hides: nothing else.
    """
    return layer_norm(x, bias, weight, eps=eps)


@deviation("reference", "gain_then_bias", kind="convention", meant='conventions = {"gain": {"layer_norm": "one plus weight"}}')
def gain_plus_one(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """the gain is 1 + weight, as where the weights are stored around zero.

    Shows: every gain. Hides: constant rows.
    """
    return layer_norm(x, weight + 1.0, bias, eps=eps)
