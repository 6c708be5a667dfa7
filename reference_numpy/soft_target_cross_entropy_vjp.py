import math
from typing import Any

import numpy as np

from ._marks import eager, float64, recomputed, through_maximum
from ._sums import rows
from ._targets import is_zero
from .log_softmax import log_softmax


def soft_target_cross_entropy_vjp(
    cotangent: Any,
    logits: Any,
    targets: Any,
    weight: Any = None,
    *,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Any:
    """Gradient of soft_target_cross_entropy: with p = softmax(logits), and c the share of the cotangent that a row gets,

        dlogits_i = c (p_i sum_j(w_j q_j) - w_i q_i),   q = (1 - e) targets + e / vocab

    c is the row's cotangent (none), the cotangent (sum), or the cotangent over the number of rows (mean).

    Shapes
        cotangent () or (...),  logits (..., vocab),  targets (..., vocab),  weight (vocab)  ->  (dlogits, None, None)
    Dtypes
        as the arguments
    Domain
        As in soft_target_cross_entropy; cotangents finite.
    Edges
        Each row's gradient has the sum 0. That of targets = softmax(logits) is 0 without a weight and smoothing.

    Raises
        ValueError as soft_target_cross_entropy does.
    Choices
        The targets have no gradient here, and neither has the weight. Among probabilities with the sum 1 the gradients
        -log p and -logits of the targets are the same, and code may have either. The maximum may be detached or not, as in
        log_softmax_vjp.
    Source
        Differentiation of torch.nn.functional.cross_entropy with class probabilities.

    >>> soft_target_cross_entropy_vjp(4.0, [[0.0, 0.0], [0.0, 0.0]], [[0.25, 0.75], [1.0, 0.0]])[0]
    array([[ 0.5, -0.5],
           [-1. ,  1. ]])
    """
    if reduction not in ("mean", "sum", "none"):
        known = "'mean', 'sum' and 'none'"
        raise ValueError(f"soft_target_cross_entropy_vjp: reduction={reduction!r} is unknown; there are {known}.")
    c, logits = float64(cotangent), float64(logits)
    z, q = rows(logits), rows(float64(targets))
    share = np.reshape(c, (-1, 1)) if reduction == "none" else c
    if reduction == "mean":
        share = share / np.float64(max(math.prod(logits.shape[:-1]), 1))
    if not is_zero(label_smoothing):
        q = (1 - label_smoothing) * q + label_smoothing / z.shape[-1]
    if weight is not None:
        q = float64(weight) * q
    dlog = share * q  # of -log_softmax, as code that differentiates step by step has it
    p = np.exp(eager(log_softmax(z, axis=-1))) * recomputed(lambda scores: scores, z, axis=-1)
    dz = p * np.sum(dlog, axis=-1, keepdims=True) - dlog
    dz = through_maximum(dz, np.sum(dz, axis=-1, keepdims=True), z, axis=-1)
    return np.reshape(dz, logits.shape), None, None
