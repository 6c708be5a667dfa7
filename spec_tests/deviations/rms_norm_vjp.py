"""What goes wrong with the gradients of rms_norm: the projection, the gain, epsilon."""

from typing import Any

import numpy as np

from reference_numpy._sums import rows, summed_to
from reference_numpy.layer_norm_vjp import layer_norm_vjp
from reference_numpy.rms_norm_vjp import rms_norm_vjp

from . import HALF, deviation
from ._steps import accumulate, mean_square


def normalize(x: Any, eps: float) -> tuple[Any, Any]:
    """Return the reciprocal root mean square, and x times it."""
    r = 1 / np.sqrt(mean_square(x) + eps)
    return r, x * r


def mean_product(a: Any, b: Any) -> Any:
    return np.mean(a * b, axis=-1, keepdims=True)


@deviation("reference", "along_the_row", "orthogonal")
def no_projection(cotangent: Any, x: Any, weight: Any, *, eps: float) -> Any:
    """the root mean square is treated as a constant: dx = r c weight, without the second term.

    Shows: cotangents along the row, short rows. Hides: random cotangents on long rows, where it is 1/√d.
    """
    r, _ = normalize(x, eps)
    return r * (cotangent * weight), rms_norm_vjp(cotangent, x, weight, eps=eps)[1]


@deviation("reference", "orthogonal")
def projection_without_the_gain(cotangent: Any, x: Any, weight: Any, *, eps: float) -> Any:
    """the gain is left out of the projection: dx = r (c weight − n mean(c n)).

    Shows: any gain but 1. Hides: a gain of 1.
    """
    r, n = normalize(x, eps)
    return r * (cotangent * weight - n * mean_product(cotangent, n)), rms_norm_vjp(cotangent, x, weight, eps=eps)[1]


@deviation("reference", "orthogonal", "along_the_row")
def projection_summed(cotangent: Any, x: Any, weight: Any, *, eps: float) -> Any:
    """the projection is a sum over the features, not divided by d.

    Shows: rows of two features or more. Hides: d = 1.
    """
    r, n = normalize(x, eps)
    inner = cotangent * weight
    return r * (inner - n * np.sum(inner * n, axis=-1, keepdims=True)), rms_norm_vjp(cotangent, x, weight, eps=eps)[1]


@deviation("reference")
def gain_ignored(cotangent: Any, x: Any, weight: Any, *, eps: float) -> Any:
    """the gain is left out of dx.

    Shows: any gain but 1. Hides: a gain of 1.
    """
    dx, _ = rms_norm_vjp(cotangent, x, np.ones(weight.shape), eps=eps)
    return dx, rms_norm_vjp(cotangent, x, weight, eps=eps)[1]


@deviation("reference")
def gain_s_gradient_from_x(cotangent: Any, x: Any, weight: Any, *, eps: float) -> Any:
    """the gain's gradient is the sum of c x: x is not normalized there.

    Shows: rows whose root mean square is not 1. Hides: rows of a unit root mean square.
    """
    return rms_norm_vjp(cotangent, x, weight, eps=eps)[0], summed_to(cotangent * x, weight.shape)


@deviation("reference", "gain_s_gradient_ignores_the_gain")
def gain_s_gradient_from_the_result(cotangent: Any, x: Any, weight: Any, *, eps: float) -> Any:
    """the gain's gradient is the sum of c y, the result, which has the gain in it once more.

    Shows: any gain but 1. Hides: a gain of 1.
    """
    _, n = normalize(x, eps)
    return rms_norm_vjp(cotangent, x, weight, eps=eps)[0], summed_to(cotangent * (n * weight), weight.shape)


@deviation("reference")
def gain_s_gradient_of_the_last_row(cotangent: Any, x: Any, weight: Any, *, eps: float) -> Any:
    """the gain's gradient is that of the last row alone: each row overwrites the one before.

    Shows: two rows or more. Hides: a single row.
    """
    _, n = normalize(x, eps)
    each = rows(cotangent * n)
    return rms_norm_vjp(cotangent, x, weight, eps=eps)[0], np.sum(each[max(each.shape[0] - 1, 0) :], axis=0)


@deviation("reference")
def eps_outside_the_root(cotangent: Any, x: Any, weight: Any, *, eps: float) -> Any:
    """epsilon stands outside the root, in the backward pass alone.

    Shows: rows whose root mean square is near eps, a large eps. Hides: ordinary rows.
    """
    r = 1 / (np.sqrt(mean_square(x)) + eps)
    n, inner = x * r, cotangent * weight
    return r * (inner - n * mean_product(inner, n)), summed_to(cotangent * n, weight.shape)


@deviation("reference")
def eps_ignored(cotangent: Any, x: Any, weight: Any, *, eps: float) -> Any:
    """epsilon is left out of the backward pass.

    Shows: rows near sqrt(eps), a large eps. Hides: ordinary rows.
    """
    return rms_norm_vjp(cotangent, x, weight, eps=0.0)


@deviation("reference")
def gradient_of_layer_norm(cotangent: Any, x: Any, weight: Any, *, eps: float) -> Any:
    """the formula is that of layer_norm: means are subtracted from the row and from the cotangent.

    Shows: rows or cotangents whose mean is not 0. Hides: both centred.
    """
    return layer_norm_vjp(cotangent, x, weight, np.zeros(weight.shape), eps=eps)[:2]


@deviation(
    "many_rows",
    kind="arithmetic",
    dtypes=HALF,
    seen=("https://github.com/linkedin/Liger-Kernel/pull/950", "https://github.com/NVIDIA/apex/issues/1652"),
)
def gain_s_gradient_summed_in_half(cotangent: Any, x: Any, weight: Any, *, eps: float, held: Any) -> Any:
    """the gain's gradient is summed over the rows in 16 bits.

    Shows: many rows. Hides: one row, float32.
    """
    _, n = normalize(x, eps)
    return rms_norm_vjp(cotangent, x, weight, eps=eps)[0], accumulate(rows(cotangent * n), held, axis=0)[0]
