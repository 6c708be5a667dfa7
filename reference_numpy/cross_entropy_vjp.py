from typing import Any

import numpy as np

from ._marks import eager, float64, recomputed, through_maximum
from ._sums import rows
from ._targets import is_kept, is_zero
from .log_softmax import log_softmax
from .logsumexp import logsumexp


def cross_entropy_vjp(
    cotangent: Any,
    logits: Any,
    targets: Any,
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    z_loss: float = 0.0,
    softcap: float | None = None,
    reduction: str = "mean",
) -> Any:
    """Gradient of cross_entropy: with p = softmax(z), and w the share of the cotangent that a row gets,

        dz_i = w (p_i (1 + 2 z_loss lse) - (1 - e) [i = target] - e / vocab)
        dlogits = dz (1 - tanh(logits / softcap)^2)

    w is 0 for an ignored row, and for the others the row's cotangent (none), the cotangent (sum), or the cotangent
    over the number of rows that are kept (mean).

    Shapes
        cotangent () or (...),  logits (..., vocab),  targets (...) integers  ->  (dlogits, None)
    Dtypes
        as the arguments
    Domain
        As in cross_entropy; cotangents finite.
    Edges
        Without z_loss and softcap each row's gradient sums to 0. An ignored row has exactly 0, also where all are ignored.

    Raises
        ValueError as cross_entropy does.
    Choices
        Targets have no gradient. The maximum may be detached or not, as in log_softmax_vjp.
    Source
        Differentiation of CS336 assignment 1, section 4.1.

    >>> cross_entropy_vjp(4.0, [[0.0, 0.0], [0.0, 0.0], [9.0, 9.0]], [1, 0, -100])[0]
    array([[ 1., -1.],
           [-1.,  1.],
           [ 0.,  0.]])
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"cross_entropy_vjp: reduction={reduction!r} is unknown; there are 'mean', 'sum' and 'none'.")
    c, logits = float64(cotangent), float64(logits)
    raw = rows(logits)
    z = raw if softcap is None else softcap * np.tanh(raw / softcap)
    kept, ids = is_kept(targets, ignore_index)
    weight = np.reshape(c, (-1, 1)) if reduction == "none" else c
    if reduction == "mean":
        weight = weight / np.float64(max(int(np.sum(kept)), 1))
    p = np.exp(eager(log_softmax(z, axis=-1))) * recomputed(lambda scores: scores, z, axis=-1)
    of_z_loss = 0.0
    if not is_zero(z_loss):
        of_z_loss = 2 * z_loss * logsumexp(z, axis=-1)[:, None]
        p = p * (1 + of_z_loss)
    is_target, vocab = np.arange(z.shape[-1]) == ids[:, None], z.shape[-1]
    if is_zero(label_smoothing):
        dz = p - is_target.astype(float)
    else:
        dz = p - np.where(is_target, (1 - label_smoothing) + label_smoothing / vocab, label_smoothing / vocab)
    dz = weight * dz
    dz = through_maximum(dz, np.sum(dz, axis=-1, keepdims=True) - weight * of_z_loss, z, axis=-1)
    dz = np.where(kept[:, None], dz, 0.0)
    if softcap is not None:
        dz = dz * (1 - np.square(np.tanh(raw / softcap)))
    return np.reshape(dz, logits.shape), None
