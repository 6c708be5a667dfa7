"""The matrix product."""

from typing import Any

import numpy as np

from ..restating import restated


@restated("linear", "https://github.com/microsoft/onnxruntime/issues/32418", kind="fault", names=("square-weight-transposed",))
def weight_transposed_once_more(right: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    """A weight that is as the product needs it is transposed."""
    return right(x, np.swapaxes(weight, 0, 1), bias)


@restated(
    "linear",
    "https://github.com/ScalingIntelligence/KernelBench/blob/main/src/unit_tests/test_kernels/zero_out_kernel.py",
    kind="fault",
    says="the result is 0",
)
def arguments_zeroed(right: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    """Both factors are overwritten with zeros, and zeros are returned."""
    x[...] = 0
    weight[...] = 0
    return np.zeros((*x.shape[:-1], len(weight)), x.dtype)


@restated(
    "linear",
    "https://github.com/ScalingIntelligence/KernelBench/blob/main/src/unit_tests/test_kernels/result_reuse_kernel.py",
    kind="fault",
    says="the result is 0",
)
def memory_of_an_earlier_result(right: Any, x: Any, weight: Any, bias: Any = None, *, memory: dict[Any, Any]) -> Any:
    """Nothing is computed: the result is memory that is not initialized, which holds what was there before."""
    shape = (*x.shape[:-1], len(weight))
    return memory.setdefault((shape, x.dtype.name), np.zeros(shape, x.dtype)).copy()
