from typing import Any

import numpy as np

from ._marks import float64, rounded


def rms_norm(x: Any, weight: Any, *, eps: float) -> Any:
    """Root-mean-square layer normalization.

        y_i = x_i / sqrt(mean_j(x_j^2) + eps) * weight_i

    Shapes
        x (..., d),  weight (d)  ->  (..., d)
    Dtypes
        as the arguments
    Domain
        x and weight finite; eps >= 0.
    Edges
        A row of zeros gives zeros when eps > 0. A weight of zero gives exactly zero.
    Choices
        eps stands inside the root. Outside it (the exercise's own variant, and a common slip) only rows
        with |x| near sqrt(eps) change. The weight multiplies before the one rounding to x's dtype; Llama's
        code in Hugging Face transformers rounds first. Gemma multiplies by 1 + weight.
    Source
        Zhang and Sennrich 2019, arXiv:1910.07467, eq. 4. CS336 assignment 1, eq. (4).

    >>> rms_norm([[3.0, 4.0]], [1.0, 1.0], eps=0.0).round(4)
    array([[0.8485, 1.1314]])
    """
    x, weight = float64(x), float64(weight)
    return rounded(x / np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + eps)) * weight
