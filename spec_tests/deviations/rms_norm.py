"""What goes wrong with rms_norm: another epsilon, another gain."""

from typing import Any

import numpy as np

from reference_numpy.rms_norm import rms_norm

from . import deviation
from ._steps import mean_square

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
    """epsilon is 1e-6, whatever is given.

    Shows: another eps on rows near its root, or an eps of 0.1 on any row. Hides: eps = 1e-6.
    """
    return rms_norm(x, weight, eps=1e-6)


@deviation("scale_invariance", kind="fault")
def eps_of_zero_replaced(right: Any, x: Any, weight: Any, *, eps: float) -> Any:
    """an epsilon of 0 is replaced by 1e-5, as `eps or 1e-5` does.

    Shows: eps = 0 on small rows, or in float32. Hides: every other eps.
    """
    return right(x, weight, eps=eps or 1e-5)


@deviation("reference", "unit_scale")
def eps_as_floor(x: Any, weight: Any, *, eps: float) -> Any:
    """epsilon is a floor of the mean square: x / sqrt(max(mean(x²), eps)).

    Shows: rows near sqrt(eps), or a large eps. Hides: rows far above it or far below it.
    """
    return x / np.sqrt(np.maximum(mean_square(x), eps)) * weight


@deviation("reference", "eps_is_inside_the_root", "scale", "scale_by_powers_of_two")
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


@deviation("reference", "odd", "scale")
def eps_added_to_x(x: Any, weight: Any, *, eps: float) -> Any:
    """epsilon is added to x before it is squared: x / sqrt(mean((x + eps)²)).

    Shows: small rows, a large eps. Hides: ordinary rows and a small eps.
    """
    return x / np.sqrt(mean_square(x + eps)) * weight


# --- the gain -------------------------------------------------------------------------------------------------------


@deviation("reference", "gain_is_linear", kind="convention", meant='conventions = {"gain": {"rms_norm": "one plus weight"}}')
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
