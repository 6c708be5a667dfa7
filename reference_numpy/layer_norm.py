from typing import Any

import numpy as np

from ._marks import float64, rounded


def layer_norm(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """Layer normalization: each row shifted to mean 0 and scaled to variance 1, then gain and bias.

        y_i = (x_i - mean(x)) / sqrt(mean_j((x_j - mean(x))^2) + eps) * weight_i + bias_i

    Shapes
        x (..., d),  weight (d),  bias (d)  ->  (..., d)
    Dtypes
        as the arguments
    Domain
        All finite; eps >= 0, and eps > 0 where a row is constant.
    Edges
        A constant row gives the bias. A weight of zero gives exactly the bias.
    Choices
        The variance divides by d, not by d - 1. It is the mean of the squared differences, in two passes:
        mean(x^2) - mean(x)^2 is the same number but cancels when the mean is large beside the spread.
        eps stands inside the root.
    Source
        Ba, Kiros and Hinton 2016, arXiv:1607.06450, eq. 4. Intro2LLM lab 2, section 1.2.1.

    An offset common to the row does not matter, however large:

    >>> layer_norm([1e6 + 1.0, 1e6 + 2.0, 1e6 + 3.0], [1.0, 1.0, 1.0], [0.0, 0.0, 10.0], eps=0.0).round(4)
    array([-1.2247,  0.    , 11.2247])
    """
    x, weight, bias = float64(x), float64(weight), float64(bias)
    centred = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.mean(np.square(centred), axis=-1, keepdims=True)
    return rounded(centred / np.sqrt(variance + eps)) * weight + bias
