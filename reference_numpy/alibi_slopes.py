from typing import Any

import numpy as np


def alibi_slopes(*, num_heads: int) -> Any:
    """Slopes of ALiBi: how fast attention fades with distance, one number for each head.

        slope_i = 2^(-8 (i + 1) / H),   i = 0, ..., H - 1,   for H a power of two

    For other H, with P the power of two below: the P slopes of P heads, then the first H - P of every other
    slope (numbers 0, 2, 4, ...) of 2 P heads.

    Shapes
        ->  (num_heads)
    Dtypes
        float32
    Units
        Nats for each token of distance.
    Domain
        num_heads >= 1.
    Edges
        One head has the slope 2^-8. Powers of 1/2 are exact.
    Choices
        float64 here; backends return float32. Without a power of two the slopes are not sorted, as in the
        paper's own code. The exercise's slopes 2^(-i / H), which start at 1, are a variant and not this.
    Source
        Press, Smith and Lewis 2021, arXiv:2108.12409, section 3, and the code it points to.

    Three heads are two, and the first of four:

    >>> for heads in (2, 4, 3):
    ...     print(alibi_slopes(num_heads=heads))
    [0.0625     0.00390625]
    [0.25       0.0625     0.015625   0.00390625]
    [0.0625     0.00390625 0.25      ]
    """
    below = 1 << (num_heads.bit_length() - 1)
    slopes = np.power(2.0, -8 * np.arange(1, below + 1) / below)
    between = np.power(2.0, -8 * np.arange(1, 2 * below + 1, 2) / (2 * below))
    return np.concatenate([slopes, between[: num_heads - below]])
