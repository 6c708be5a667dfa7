"""What goes wrong with softmax where the equation is right: precision, memory, state."""

from typing import Any

import numpy as np

from reference_numpy.softmax import softmax

from . import HALF, deviation
from ._steps import accumulate, exact_maximum, round_to_float32


@deviation(
    "reference",
    "sums_to_one",
    kind="arithmetic",
    dtypes=HALF,
    seen=(
        "https://github.com/sonos/tract/pull/2586",
        "https://github.com/huggingface/candle/issues/3727",
        "https://github.com/ml-explore/mlx/pull/953",
    ),
)
def half_accumulation(x: Any, *, axis: int, held: Any) -> Any:
    """the exponentials are summed in the dtype of x, one after the other.

    Shows: flat rows of some hundred entries and more, where the sum stops growing. Hides: short or peaked rows, float32.
    """
    e = np.exp(x - exact_maximum(x, axis))
    return e / accumulate(e, held, axis)


@deviation("reference", kind="arithmetic", dtypes=("float64",))
def float64_in_float32(x: Any, *, axis: int) -> Any:
    """float64 is computed in float32: the upcast goes down.

    Shows: float64. Hides: every other dtype.
    """
    return round_to_float32(softmax(round_to_float32(x), axis=axis))


@deviation("repeatable", kind="fault")
def autotuned_in_place(right: Any, x: Any, *, axis: int, memory: dict[Any, bool]) -> Any:
    """the first call of each shape is run twice on the same buffer, by an autotuner that does not restore it.

    Shows: a call and its repetition. Hides: a warm-up call of the same shape.
    """
    y = right(x, axis=axis)
    tuned = memory.setdefault((x.shape, x.dtype.name, axis), False)
    memory[x.shape, x.dtype.name, axis] = True
    return y if tuned else right(y, axis=axis)
