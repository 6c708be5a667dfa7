from typing import Any

from ._marks import float64
from ._recurrence import L2_EPS, of_unit_length


def l2_norm(x: Any, *, eps: float = L2_EPS) -> Any:
    """Vectors divided by their lengths: the normalization of queries and keys in linear attention.

        y_i = x_i / sqrt(sum_j(x_j^2) + eps)

    Shapes
        x (..., d)  ->  (..., d)
    Dtypes
        as the arguments
    Domain
        x finite; eps >= 0.
    Edges
        A row of zeros gives zeros when eps > 0.
    Choices
        eps stands inside the root, as in flash-linear-attention. torch.nn.functional.normalize divides by max(|x|, eps), other
        code by |x| + eps: the convention l2_epsilon. The squares are added up, and not averaged as in rms_norm.
    Source
        l2norm of fla-org/flash-linear-attention. Yang et al. 2024, arXiv:2406.06484, section 3.3.

    >>> l2_norm([[3.0, 4.0], [0.0, 0.0]]).round(4)
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    return of_unit_length(float64(x), eps)
