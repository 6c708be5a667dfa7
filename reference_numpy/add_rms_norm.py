from typing import Any

from ._marks import float64, returned
from .rms_norm import rms_norm


def add_rms_norm(x: Any, residual: Any, weight: Any, *, eps: float) -> Any:
    """Addition to the residual stream and RMSNorm of the sum, in one step; both are returned.

        residual' = x + residual,   y = rms_norm(residual', weight)

    Shapes
        x (..., d),  residual (..., d),  weight (d)  ->  y (..., d),  residual (..., d)
    Dtypes
        y and residual as the arguments
    Domain
        All finite, and the sum within the range of the dtype; eps >= 0.
    Edges
        A residual of 0 gives rms_norm. x and residual may be exchanged. The sum is rounded once, to the nearest number.
    Choices
        The statistic is that of the sum before it is rounded, or of the sum as it is stored: both pass, since kernels
        differ, and compilers choose. The result y comes first, as in vLLM's fused_add_rms_norm.
    Source
        Zhang and Sennrich 2019, arXiv:1910.07467, eq. 4. vLLM, csrc/layernorm_kernels.cu, fused_add_rms_norm.

    >>> y, total = add_rms_norm([1.0, 1.0], [2.0, 3.0], [1.0, 1.0], eps=0.0)
    >>> y.round(4), total
    (array([0.8485, 1.1314]), array([3., 4.]))
    """
    total = float64(x) + float64(residual)
    return rms_norm(returned(total), weight, eps=eps), total
