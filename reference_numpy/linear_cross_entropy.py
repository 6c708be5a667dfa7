from typing import Any

from ._marks import float64, rounded
from .cross_entropy import cross_entropy
from .linear import linear


def linear_cross_entropy(
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
    """Cross-entropy of a linear map's outputs, as fused and chunked kernels compute it without keeping all logits.

        l = cross_entropy(x weight^T, targets)

    Shapes
        x (..., d),  weight (vocab, d),  targets (...) integers  ->  () for mean and sum, (...) for none
    Dtypes
        as the arguments, or float32 or wider
    Units
        Nats.
    Domain
        x and weight finite; the rest as in cross_entropy.
    Edges
        As in cross_entropy. x = 0 gives log(vocab), without z_loss. The logits may be rounded to x's dtype. The result
        is float32 or wider, or has the dtype of x.

    Raises
        ValueError as cross_entropy does.
    Choices
        The mean is over all rows that are kept, whatever the chunks. No bias.
    Source
        Wijmans et al. 2024, arXiv:2411.09009 (cut cross-entropy). Hsu et al. 2024, arXiv:2410.10989, section 3.2.

    >>> linear_cross_entropy([[2.0], [3.0]], [[1.0], [1.0]], [0, 1]).round(4)
    np.float64(0.6931)
    """
    return cross_entropy(
        rounded(linear(float64(x), weight)),
        targets,
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
        z_loss=z_loss,
        softcap=softcap,
        reduction=reduction,
    )
