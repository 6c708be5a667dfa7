"""Softmax."""

from typing import Any

import numpy as np

from reference_numpy.softmax import softmax

from ..restating import restated


@restated("softmax", "https://github.com/FluxML/NNlib.jl/issues/206")
def plus_infinity_gives_nan(x: Any, *, axis: int) -> Any:
    """An entry of plus infinity makes the row NaN, where it should have the whole weight. The suite's equation does the same."""
    return softmax(x, axis=axis)


@restated(
    "softmax",
    "https://github.com/dotnet/machinelearning/issues/3648",
    "https://github.com/Tencent/ncnn/issues/1588",
    "https://github.com/openvinotoolkit/open_model_zoo/pull/3489",
    kind="arithmetic",
    dtypes=("float32", "bfloat16"),
    names=("no-maximum-subtracted",),
)
def exponentials_overflow(x: Any, *, axis: int) -> Any:
    """The exponentials are taken in float32 and without the maximum, so that scores of 90 overflow."""
    e = np.exp(np.asarray(x).astype(np.float32))
    return (e / np.sum(e, axis=axis, keepdims=True)).astype(np.float64)
