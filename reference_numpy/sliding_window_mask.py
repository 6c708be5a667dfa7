from typing import Any

import numpy as np


def sliding_window_mask(*, n: int, m: int | None = None, window: int, is_causal: bool = True) -> Any:
    """Mask under which a query sees only near keys. True: this query attends to this key.

        mask_ij = (|i - j| <= window)  and, if causal,  (j <= i)

    Shapes
        n queries, m keys (None: n)  ->  (n, m) bool
    Dtypes
        bool
    Units
        window counts tokens to each side, the query's own not included.
    Domain
        n, m, window >= 0.
    Edges
        window = 0 leaves the diagonal; m = 0 is taken literally. A window of m - 1 or more is the causal mask,
        or no mask (n = m). i and j are plain indices whatever n and m are.
    Choices
        A causal row sees up to window + 1 keys. Mistral's code and Hugging Face transformers count the query's
        own token in the window and see one key less.
    Source
        Beltagy, Peters and Cohan 2020, arXiv:2004.05150, section 3.1. Exercise 9 (not causal).

    >>> sliding_window_mask(n=4, window=1).astype(int)
    array([[1, 0, 0, 0],
           [1, 1, 0, 0],
           [0, 1, 1, 0],
           [0, 0, 1, 1]])
    """
    i, j = np.arange(n)[:, None], np.arange(n if m is None else m)
    near = np.abs(i - j) <= window
    return near & (j <= i) if is_causal else near
