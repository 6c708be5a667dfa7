from typing import Any

import numpy as np

from ._marks import float64


def embedding(token_ids: Any, weight: Any, *, padding_idx: int | None = None) -> Any:
    """Table look-up: each token id becomes its row of the table.

        y_tj = weight_(token_ids_t)j

    Shapes
        token_ids (...) integers,  weight (vocab, d)  ->  (..., d)
    Dtypes
        as the arguments
    Domain
        0 <= token_ids < vocab; -vocab <= padding_idx < vocab.
    Edges
        A single id, of shape (), gives one row. No arithmetic takes place: the result is exact. An id that
        occurs twice gathers both gradients.

    Raises
        IndexError where an id is vocab or more.
    Choices
        No factor sqrt(d) (Vaswani et al. and Gemma multiply by it). padding_idx changes no value, whatever its row holds:
        the row has no gradient (PyTorch).
    Source
        Vaswani et al. 2017, arXiv:1706.03762, section 3.4. CS336 assignment 1, the model's first step.

    >>> embedding([[2, 0, 2]], [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    array([[[4., 5.],
            [0., 1.],
            [4., 5.]]])

    """
    return float64(weight)[np.asarray(token_ids)]
