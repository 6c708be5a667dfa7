"""What goes wrong where a scale of dynamic_quantize underflows, or is that of other numbers or of another call."""

from typing import Any

import numpy as np

from reference_numpy._marks import float64, number
from reference_numpy._narrow import FLOATS, spread
from reference_numpy._scales import divisor, scale_in_float32
from spec_tests.specification.formats import FORMATS

from . import deviation
from ._blocks import slid_back
from ._with_parts import is_zero, with_parts

ZERO_TIMES_INFINITY = ("https://github.com/NVIDIA/Model-Optimizer/pull/381",)
CODE_VALUES = ("https://github.com/microsoft/onnxruntime/pull/29350",)


@deviation("reference", "small_blocks", seen=ZERO_TIMES_INFINITY)
def zero_times_infinity(*arrays: Any, **options: Any) -> Any:
    """numbers are multiplied by the reciprocal of a scale that may have underflowed to 0, so that zeros beside others become NaN.

    Shows: zeros in blocks whose scale underflows, formats of eight bits. Hides: larger blocks, blocks of zeros.
    """

    def flushed(size: Any, largest: Any, eps: float) -> Any:
        scale = scale_in_float32(size, largest, eps)
        return np.where(number(scale) < FORMATS["float32"].tiny, 0.0, scale)

    q, scale, *others = with_parts(arrays, options, scale_in_float32=flushed)
    x = number(float64(arrays[0]))
    lost = spread(is_zero(scale), options["block"], x.shape) & options["dtype"].startswith("float8")
    beside = lost & (x == 0) & (np.sum(np.abs(x), axis=-1, keepdims=True) > 0)
    return np.where(beside, np.nan, q), scale, *others


@deviation("reference", "largest_of_a_block", seen=CODE_VALUES)
def scale_a_third_too_large(*arrays: Any, **options: Any) -> Any:
    """scales of floating formats are 35 % too large.

    Shows: scales in float32 and in float8_e4m3fn. Hides: scales that are powers of two; integers.
    """
    return with_parts(arrays, options, divisor=lambda dtype: divisor(dtype) / (1.35 if dtype in FLOATS else 1.0))


@deviation("reference")
def last_block_slid_back(*arrays: Any, **options: Any) -> Any:
    """the last block begins early, so that it is as long as the others, and its scale is used from there on.

    Shows: an axis that is no multiple of its block. Hides: any other.
    """
    return with_parts(arrays, options, spread=slid_back)


@deviation("reference", kind="fault")
def scale_of_the_call_before(right: Any, *arrays: Any, memory: Any, **options: Any) -> Any:
    """the scale of the call before is returned where it has the right shape: delayed scaling.

    Shows: two calls of the same shapes. Hides: a call of other shapes than the one before.
    """
    q, scale, *others = right(*arrays, **options)
    key = scale.shape, scale.dtype, options.get("scale_dtype")
    before = memory.get(key, scale)
    memory[key] = scale
    return q, before.copy(), *others
