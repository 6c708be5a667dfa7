from typing import Any

import numpy as np

from ._marks import float64


def alibi_bias(slopes: Any, *, n: int, m: int | None = None) -> Any:
    """Attention bias of ALiBi: a penalty in proportion to the distance between query and key.

        bias_hij = -slope_h * |i - j|

    Shapes
        slopes (h);  n queries, m keys (None: n)  ->  (h, n, m)
    Dtypes
        as the arguments
    Units
        Nats, added to the scaled scores.
    Domain
        slopes finite; n, m >= 0.
    Edges
        Zero on the diagonal; m = 0 is taken literally. i and j are plain indices whatever n and m are.
    Choices
        Symmetric, as in the exercise; future keys are the mask's business. The paper's causal form,
        slope * (j - i), is the same for j <= i, and some code adds slope * j alone, which differs by a
        constant in each row: the attention is the same.
    Source
        Press, Smith and Lewis 2021, arXiv:2108.12409, section 3. Exercise 4.

    >>> alibi_bias([0.5], n=3)
    array([[[ 0. , -0.5, -1. ],
            [-0.5,  0. , -0.5],
            [-1. , -0.5,  0. ]]])
    """
    i, j = np.arange(n)[:, None], np.arange(n if m is None else m)
    return float64(slopes)[..., None, None] * float64(-np.abs(i - j))
