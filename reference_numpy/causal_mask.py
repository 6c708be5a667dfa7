from typing import Any

import numpy as np


def causal_mask(*, n: int, m: int | None = None, aligned: str = "bottom-right") -> Any:
    """Mask under which no query sees a later key. True: this query attends to this key.

        bottom-right:  mask_ij = (j <= i + m - n)      the last query is aligned with the last key
        top-left:      mask_ij = (j <= i)              the first query is aligned with the first key

    Shapes
        n queries, m keys (None: n)  ->  (n, m) bool
    Dtypes
        bool
    Domain
        n, m >= 0.
    Edges
        m = 0 is taken literally. With n = m the two are the same, and row 0 sees exactly one key. With n > m
        the first n - m rows of the bottom-right mask see no key at all.

    Raises
        ValueError where aligned is neither "bottom-right" nor "top-left".
    Choices
        bottom-right is what decoding with a cache needs (FlashAttention since 2.1); is_causal of PyTorch's
        attention is top-left. True means "attends", as in CS336 and PyTorch's attention function; in
        torch.nn.MultiheadAttention True means the opposite.
    Source
        CS336 assignment 1, sections 3.5.4 and 3.5.5.

    Two new queries that come after two cached keys:

    >>> causal_mask(n=2, m=4).astype(int)
    array([[1, 1, 1, 0],
           [1, 1, 1, 1]])
    >>> causal_mask(n=2, m=4, aligned="top-left").astype(int)
    array([[1, 0, 0, 0],
           [1, 1, 0, 0]])

    """
    if aligned not in ("bottom-right", "top-left"):
        raise ValueError(f"causal_mask: aligned={aligned!r} is unknown; there are 'bottom-right' and 'top-left'.")
    m = n if m is None else m
    i, j = np.arange(n)[:, None], np.arange(m)
    return j <= (i + (m - n) if aligned == "bottom-right" else i)
