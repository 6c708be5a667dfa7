"""What goes wrong with rms_norm where the equation is right: precision, memory, state."""

from typing import Any

import numpy as np

from reference_numpy.rms_norm import rms_norm

from . import HALF, deviation
from ._steps import accumulate, mean_square, round_to_12_bits, round_to_float32


@deviation("reference", "float32_inside", kind="arithmetic", dtypes=HALF)
def no_float32_upcast(x: Any, weight: Any, *, eps: float, held: Any) -> Any:
    """squares and their mean are computed in the dtype of x.

    Shows: float16 rows whose squares overflow or vanish. Hides: float32.
    """
    mean = held(np.mean(held(np.square(x)), axis=-1, keepdims=True))
    return held(held(x / held(np.sqrt(held(mean + eps)))) * weight)


@deviation(
    "reference",
    "float32_inside",
    kind="arithmetic",
    dtypes=HALF,
    seen=("https://github.com/jingyaogong/minimind/issues/301",),
)
def statistic_not_upcast(x: Any, weight: Any, *, eps: float, held: Any) -> Any:
    """the mean square alone is computed in the dtype of x; the division and the gain are in float32.

    Shows: float16 rows whose squares overflow or vanish. Hides: float32.
    """
    return x / np.sqrt(held(np.mean(held(np.square(x)), axis=-1, keepdims=True)) + eps) * weight


@deviation("reference", kind="arithmetic", dtypes=HALF)
def half_accumulation(x: Any, weight: Any, *, eps: float, held: Any) -> Any:
    """the squares are summed in the dtype of x, one after the other.

    Shows: rows of some hundred features and more, where the sum stops growing. Hides: short rows, float32.
    """
    return x / np.sqrt(accumulate(np.square(x), held) / x.shape[-1] + eps) * weight


@deviation(
    "reference",
    "gain_before_the_rounding",
    kind="arithmetic",
    dtypes=HALF,
    seen=(
        "https://github.com/huggingface/transformers/issues/33133",
        "https://github.com/NVIDIA/TransformerEngine/issues/1132",
        "https://github.com/vllm-project/vllm-xpu-kernels/pull/536",
    ),
)
def cast_before_gain(x: Any, weight: Any, *, eps: float, held: Any) -> Any:
    """the normalized row is rounded to the dtype of x before the gain multiplies it, as in Hugging Face's Llama.

    Shows: any gain that is not a power of two. Hides: a gain of 1, float32.
    """
    return held(rms_norm(x, np.ones(weight.shape), eps=eps)) * weight


@deviation("reference", kind="arithmetic", dtypes=HALF)
def eps_in_half(x: Any, weight: Any, *, eps: float, held: Any) -> Any:
    """epsilon is rounded to the dtype of x: in float16, 1e-8 becomes 0.

    Shows: a row of zeros with eps = 1e-8 (NaN), small rows. Hides: an eps that the dtype holds.
    """
    return rms_norm(x, weight, eps=held(eps * np.ones(())))


@deviation("reference", "eps_as_given", kind="arithmetic", dtypes=("float64", "float32"))
def estimated_rsqrt(x: Any, weight: Any, *, eps: float) -> Any:
    """the reciprocal root is the processor's estimate of 12 bits, without the Newton step that should follow.

    Shows: float32, any row. Hides: half precision.
    """
    return x * round_to_12_bits(1 / np.sqrt(mean_square(x) + eps)) * weight


@deviation("reference", kind="arithmetic", dtypes=("float64",))
def float64_in_float32(x: Any, weight: Any, *, eps: float) -> Any:
    """float64 is computed in float32: the upcast goes down.

    Shows: float64. Hides: every other dtype.
    """
    return round_to_float32(rms_norm(round_to_float32(x), round_to_float32(weight), eps=eps))


@deviation("reference", "every_argument_counts", kind="fault")
def eps_of_the_first_call(right: Any, x: Any, weight: Any, *, eps: float, memory: dict[Any, float]) -> Any:
    """the epsilon of the first call with a width is compiled in, and used in all later calls.

    Shows: a second call of that width with another eps. Hides: one eps throughout.
    """
    return right(x, weight, eps=memory.setdefault((x.shape[-1], x.dtype.name), eps))
