from typing import Any

from ._marks import float64, rounded
from .gelu import gelu
from .linear import linear
from .relu import relu


def feed_forward(x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None, *, activation: str = "relu") -> Any:
    """Position-wise feed-forward network of two matrices, without a gate.

        y = w2 f(w1 x + b1) + b2,   f = relu or gelu

    Shapes
        x (..., d),  w1 (h, d),  w2 (d, h),  b1 (h),  b2 (d)  ->  (..., d)
    Dtypes
        as the arguments
    Domain
        All finite.
    Edges
        w2 = 0 gives exactly b2, or zeros. The order of the hidden units does not matter.

    Raises
        ValueError where activation is neither "relu" nor "gelu".
    Choices
        gelu is the exact form. Weights are (out, in): the hand-out's earlier edition writes x W1 and stores
        (in, out). Its networks have no biases, the exercise's have; each bias is optional by itself.
    Source
        Vaswani et al. 2017, arXiv:1706.03762, eq. 2. CS336 assignment 1, earlier edition, eq. (3).

    |x| made of two rectifiers:

    >>> feed_forward([[-3.0], [2.0]], [[1.0], [-1.0]], [[1.0, 1.0]])
    array([[3.],
           [2.]])

    """
    if activation not in ("relu", "gelu"):
        raise ValueError(f"feed_forward: activation={activation!r} is unknown; there are 'relu' and 'gelu'.")
    function = relu if activation == "relu" else gelu
    hidden = rounded(function(rounded(linear(float64(x), w1, b1))))
    return linear(hidden, w2, b2)
