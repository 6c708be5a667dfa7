from typing import Any

import numpy as np

from ._marks import number


def select_keys(scores: Any, *, k: int) -> Any:
    """The k keys with the largest scores of each row, and -1 in the places that remain.

        indices = the k largest finite scores of the row;   -1 where there are fewer

    Shapes
        scores (..., m)  ->  (..., k)
    Dtypes
        integers
    Domain
        scores finite or -inf; k >= 1.
    Edges
        -inf is never selected. Where k is larger than the number of finite scores, each of these is selected, and the other
        places hold -1, so also where k > m. The result is a set: its order says nothing. Here indices ascend, behind -1.
    Choices
        Two different scores are never a tie, however near they are: scores are given. Among equal scores any may be selected;
        here the first are.
    Source
        DeepSeek-AI 2025, DeepSeek-V3.2, eq. 2. torch.topk, without its order.

    >>> select_keys([1.0, 3.0, -np.inf, 2.0], k=2).tolist()
    [1, 3]
    >>> select_keys([1.0, 3.0, -np.inf, 2.0], k=5).tolist()
    [-1, -1, 0, 1, 3]
    """
    x = number(scores)
    order = np.argsort(-x, axis=-1, kind="stable")[..., :k]
    chosen = np.where(np.isneginf(np.take_along_axis(x, order, axis=-1)), -1, order)
    spare = np.full((*chosen.shape[:-1], k - chosen.shape[-1]), -1)
    return np.sort(np.concatenate([chosen, spare], axis=-1), axis=-1)
