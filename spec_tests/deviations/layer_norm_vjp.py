"""What goes wrong with the gradients of layer_norm: its two means, and which gradient is whose."""

from typing import Any

import numpy as np

from reference_numpy._sums import rows, summed_to
from reference_numpy.layer_norm_vjp import layer_norm_vjp

from . import HALF, deviation
from ._steps import accumulate, center


def normalize(x: Any, eps: float) -> tuple[Any, Any]:
    """Return the reciprocal standard deviation, and the normalized row."""
    centred, variance = center(x)
    r = 1 / np.sqrt(variance + eps)
    return r, centred * r


def row_mean(x: Any) -> Any:
    return np.mean(x, axis=-1, keepdims=True)


@deviation("reference", "sums_to_zero", seen=("https://github.com/tenstorrent/tt-metal/issues/53204",))
def mean_subtracted_twice(cotangent: Any, x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """the mean of the cotangent is subtracted twice: r (c weight − 2 mean(c weight) − n mean(c weight n)).

    Shows: cotangents with a mean, that of a sum. Hides: random cotangents on long rows.
    """
    (r, n), inner = normalize(x, eps), cotangent * weight
    return r * (inner - 2 * row_mean(inner) - n * row_mean(inner * n)), *layer_norm_vjp(cotangent, x, weight, bias, eps=eps)[1:]


@deviation("reference", "sums_to_zero")
def mean_missing(cotangent: Any, x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """the mean of the cotangent is not subtracted, as in rms_norm: r (c weight − n mean(c weight n)).

    Shows: cotangents with a mean. Hides: random cotangents on long rows.
    """
    (r, n), inner = normalize(x, eps), cotangent * weight
    return r * (inner - n * row_mean(inner * n)), *layer_norm_vjp(cotangent, x, weight, bias, eps=eps)[1:]


@deviation("reference", "orthogonal")
def projection_missing(cotangent: Any, x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """the variance is treated as a constant: r (c weight − mean(c weight)).

    Shows: cotangents along the row, short rows. Hides: random cotangents on long rows.
    """
    (r, _), inner = normalize(x, eps), cotangent * weight
    return r * (inner - row_mean(inner)), *layer_norm_vjp(cotangent, x, weight, bias, eps=eps)[1:]


@deviation("reference", "bias_gathers_the_cotangent", seen=("https://github.com/Oneflow-Inc/oneflow/pull/6149",))
def gain_and_bias_exchanged(cotangent: Any, x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """the gradients of gain and bias are exchanged.

    Shows: either of them. Hides: a test of dx alone.
    """
    dx, dweight, dbias = layer_norm_vjp(cotangent, x, weight, bias, eps=eps)
    return dx, dbias, dweight


@deviation("reference")
def unbiased_variance(cotangent: Any, x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """the variance divides by d − 1, in the backward pass alone.

    Shows: short rows. Hides: long rows in 16 bits.
    """
    d = x.shape[-1]
    centred, variance = center(x)
    r = 1 / np.sqrt(variance * (d / max(d - 1, 1)) + eps)
    n, inner = centred * r, cotangent * weight
    dx = r * (inner - row_mean(inner) - n * row_mean(inner * n))
    return dx, summed_to(cotangent * n, weight.shape), summed_to(cotangent, bias.shape)


@deviation("reference", "bias_gathers_the_cotangent")
def averaged_over_rows(cotangent: Any, x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """the gradients of gain and bias are means over the rows, not sums.

    Shows: two rows or more. Hides: a single row.
    """
    dx, dweight, dbias = layer_norm_vjp(cotangent, x, weight, bias, eps=eps)
    count = max(rows(cotangent).shape[0], 1)
    return dx, dweight / count, dbias / count


@deviation("reference")
def gain_left_out_of_dx(cotangent: Any, x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """the gain is left out of dx.

    Shows: any gain but 1. Hides: a gain of 1.
    """
    dx, *_ = layer_norm_vjp(cotangent, x, np.ones(weight.shape), bias, eps=eps)
    return dx, *layer_norm_vjp(cotangent, x, weight, bias, eps=eps)[1:]


@deviation("reference")
def gain_s_gradient_not_centred(cotangent: Any, x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """the gain's gradient is the sum of c r x: the mean is not subtracted there.

    Shows: rows with a mean. Hides: centred rows.
    """
    r, _ = normalize(x, eps)
    dx, _, dbias = layer_norm_vjp(cotangent, x, weight, bias, eps=eps)
    return dx, summed_to(cotangent * (x * r), weight.shape), dbias


@deviation("many_rows", kind="arithmetic", dtypes=HALF)
def summed_in_half(cotangent: Any, x: Any, weight: Any, bias: Any, *, eps: float, held: Any) -> Any:
    """the gradients of gain and bias are summed over the rows in 16 bits.

    Shows: many rows. Hides: one row, float32.
    """
    _, n = normalize(x, eps)
    sums = (accumulate(rows(terms), held, axis=0)[0] for terms in (cotangent * n, cotangent))
    return layer_norm_vjp(cotangent, x, weight, bias, eps=eps)[0], *sums
