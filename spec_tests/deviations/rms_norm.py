"""What goes wrong with rms_norm."""

from typing import Any

import numpy as np

from spec_tests.deviation import HALF, deviation


@deviation("reference", "eps_is_inside_the_root")
def eps_outside_sqrt(x: Any, weight: Any, *, eps: float) -> Any:
    """epsilon stands outside the square root: x / (sqrt(mean(x²)) + eps).

    Shows: rows whose root mean square is near eps, or below it. Hides: ordinary rows.
    """
    return x / (np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True)) + eps) * weight


@deviation("reference", "not_centred")
def mean_subtracted(x: Any, weight: Any, *, eps: float) -> Any:
    """the mean is subtracted, as layer_norm does.

    Shows: rows with a mean, constant ones above all. Hides: long rows of mean 0.
    """
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return centred / np.sqrt(np.mean(np.square(centred), axis=-1, keepdims=True) + eps) * weight


@deviation("reference", "float32_inside", kind="arithmetic", dtypes=HALF)
def no_float32_upcast(x: Any, weight: Any, *, eps: float, held: Any) -> Any:
    """squares and their mean are computed in the dtype of x.

    Shows: float16 rows whose squares overflow or vanish. Hides: float32.
    """
    mean = held(np.mean(held(np.square(x)), axis=-1, keepdims=True))
    return held(held(x / held(np.sqrt(held(mean + eps)))) * weight)
