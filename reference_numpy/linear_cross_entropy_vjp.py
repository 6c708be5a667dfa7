from typing import Any

import numpy as np

from ._marks import chunked, float64, rounded
from ._sums import rows
from .cross_entropy_vjp import cross_entropy_vjp
from .linear import linear


def linear_cross_entropy_vjp(
    cotangent: Any,
    x: Any,
    weight: Any,
    targets: Any,
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    z_loss: float = 0.0,
    softcap: float | None = None,
    reduction: str = "mean",
) -> Any:
    """Gradients of linear_cross_entropy: with dz the gradient of cross_entropy at the logits x weight^T,

        dx = dz weight,   dweight = sum over tokens of dz^T x

    Shapes
        cotangent () or (...),  x (..., d),  weight (vocab, d),  targets (...) integers  ->  (dx, dweight, None)
    Dtypes
        as the arguments
    Domain
        As in linear_cross_entropy; cotangents finite.
    Edges
        An ignored row has a dx of exactly 0 and adds nothing to dweight. No rows: dweight is 0.

    Raises
        ValueError as cross_entropy does.
    Choices
        Chunked kernels add dweight chunk by chunk, in the weight's dtype. Targets have no gradient.
    Source
        Hsu et al. 2024, arXiv:2410.10989, section 3.2.

    >>> linear_cross_entropy_vjp(1.0, [[2.0]], [[1.0], [1.0]], [1])[:2]
    (array([[0.]]), array([[ 1.],
           [-1.]]))
    """
    x, weight = float64(x), float64(weight)
    dz, *_ = cross_entropy_vjp(
        cotangent,
        rounded(linear(x, weight)),
        targets,
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
        z_loss=z_loss,
        softcap=softcap,
        reduction=reduction,
    )
    dz = rounded(dz)
    return np.matmul(dz, weight), chunked(np.swapaxes(rows(dz), 0, 1), rows(x)), None
