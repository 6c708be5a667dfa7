"""What goes wrong with layer_norm where the equation is right: precision, memory, state."""

from typing import Any

import numpy as np

from reference_numpy.layer_norm import layer_norm
from spec_tests.specification.formats import DTYPES

from . import HALF, deviation
from ._steps import accumulate, mean_square, round_to_12_bits, round_to_float32


@deviation(
    "reference",
    "shift",
    kind="arithmetic",
    dtypes=DTYPES[1:],
    seen=("https://github.com/patrick-kidger/equinox/pull/314", "https://github.com/tracel-ai/burn/issues/5607"),
)
def one_pass_variance(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """the variance is mean(x²) − mean(x)² in float32, 0 where it comes out negative.

    Shows: rows whose mean is far beyond their spread. Hides: rows of mean 0, a check for NaN alone.
    """
    mean = round_to_float32(np.mean(x, axis=-1, keepdims=True))
    square = round_to_float32(np.mean(round_to_float32(np.square(x)), axis=-1, keepdims=True))
    variance = np.maximum(round_to_float32(square - round_to_float32(np.square(mean))), 0.0)
    return (x - mean) / np.sqrt(variance + eps) * weight + bias


@deviation("reference", "float32_inside", kind="arithmetic", dtypes=HALF)
def no_float32_upcast(x: Any, weight: Any, bias: Any, *, eps: float, held: Any) -> Any:
    """mean, squares and variance are computed in the dtype of x.

    Shows: float16 rows whose squares overflow or vanish. Hides: float32.
    """
    centred = held(x - held(np.mean(x, axis=-1, keepdims=True)))
    variance = held(np.mean(held(np.square(centred)), axis=-1, keepdims=True))
    return held(held(held(centred / held(np.sqrt(held(variance + eps)))) * weight) + bias)


@deviation("reference", kind="arithmetic", dtypes=HALF)
def mean_not_upcast(x: Any, weight: Any, bias: Any, *, eps: float, held: Any) -> Any:
    """the mean alone is rounded to the dtype of x before it is subtracted.

    Shows: rows with a mean. Hides: rows whose mean the dtype holds, float32.
    """
    centred = x - held(np.mean(x, axis=-1, keepdims=True))
    return centred / np.sqrt(mean_square(centred) + eps) * weight + bias


@deviation("reference", kind="arithmetic", dtypes=HALF)
def half_accumulation(x: Any, weight: Any, bias: Any, *, eps: float, held: Any) -> Any:
    """both sums are taken in the dtype of x, one term after the other.

    Shows: rows with a mean, rows of some hundred features and more. Hides: short rows, float32.
    """
    centred = x - accumulate(x, held) / x.shape[-1]
    return centred / np.sqrt(accumulate(np.square(centred), held) / x.shape[-1] + eps) * weight + bias


@deviation("reference", "one_rounding", kind="arithmetic", dtypes=HALF)
def cast_before_gain(x: Any, weight: Any, bias: Any, *, eps: float, held: Any) -> Any:
    """the normalized row is rounded to the dtype of x before gain and bias.

    Shows: any gain that is not a power of two, any bias. Hides: gain 1 and bias 0, float32.
    """
    return held(layer_norm(x, np.ones(weight.shape), np.zeros(bias.shape), eps=eps)) * weight + bias


@deviation("reference", "one_rounding", kind="arithmetic", dtypes=HALF)
def cast_before_bias(x: Any, weight: Any, bias: Any, *, eps: float, held: Any) -> Any:
    """the product with the gain is rounded to the dtype of x before the bias is added.

    Shows: any bias. Hides: a bias of 0, float32.
    """
    return held(layer_norm(x, weight, np.zeros(bias.shape), eps=eps)) + bias


@deviation("reference", "unit_variance", kind="arithmetic", dtypes=("float64", "float32"))
def estimated_rsqrt(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """the reciprocal root is the processor's estimate of 12 bits, without the Newton step that should follow.

    Shows: float32, any row. Hides: half precision.
    """
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return centred * round_to_12_bits(1 / np.sqrt(mean_square(centred) + eps)) * weight + bias


@deviation("reference", kind="arithmetic", dtypes=("float64",))
def float64_in_float32(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """float64 is computed in float32: the upcast goes down.

    Shows: float64. Hides: every other dtype.
    """
    return round_to_float32(layer_norm(round_to_float32(x), round_to_float32(weight), round_to_float32(bias), eps=eps))
