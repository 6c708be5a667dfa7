from typing import Any

import numpy as np

from ._marks import below, double, eager, float64, joined, wide


def gradient_clipping(gradients: Any, *, max_norm: float, eps: float = 1e-6) -> Any:
    """Gradient clipping: all gradients are scaled by one factor if their joint norm is too large.

        N = sqrt(sum over all arrays of g^2),   g where N < max_norm,   else g max_norm / (N + eps)

    Shapes
        gradients: a list of at least one array, each (any shape)  ->  a list of as many arrays of these shapes
    Dtypes
        gradients as the arguments
    Domain
        All finite, and the sum of all squares finite in float32; max_norm > 0; eps >= 0.
    Edges
        Below max_norm every bit is kept. Arrays without elements count as nothing.
    Choices
        The norm is that of all arrays together, in float32 or wider, as in PyTorch and in CS336. PyTorch multiplies by
        min(1, max_norm / (N + eps)), which scales from N = max_norm - eps on: between that and max_norm either is right.
        optax and Keras divide by N without eps. It changes no array: a function that writes to them returns them.
    Source
        Pascanu et al. 2013, arXiv:1211.5063, algorithm 1. CS336 assignment 1, section 4.5.

    A norm of 5 becomes one of 1, but for eps:

    >>> [g.round(4) for g in gradient_clipping([[3.0], [4.0]], max_norm=1.0)]
    [array([0.6]), array([0.8])]
    >>> gradient_clipping([[3.0], [4.0]], max_norm=6.0)
    [array([3.]), array([4.])]
    """
    arrays = [float64(g) for g in gradients]
    sizes = [int(np.prod(g.shape)) for g in arrays]
    total: Any = None
    for g, size in zip(arrays, sizes, strict=True):  # either all squares are added up, or the squares of each array's norm
        norm = np.sqrt(np.sum(np.square(wide(np.reshape(g, (size,)))), axis=0))
        total = np.square(norm) if total is None else joined(total, np.square(norm), n=sum(sizes))
    n, limit, epsilon = np.sqrt(total), double(max_norm), double(eps)
    factor = eager(limit / (n + epsilon))
    return [below(n, limit, g, g * factor, slack=epsilon) for g in arrays]
