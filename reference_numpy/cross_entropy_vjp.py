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
    weight: Any = None,
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    z_loss: float = 0.0,
    softcap: float | None = None,
    reduction: str = "mean",
) -> Any:
    """Gradient of cross_entropy: with p = softmax(z), and c the share of the cotangent that a row gets,

        dz_i = c (p_i (1 + 2 z_loss lse) - (1 - e) [i = target] - e / vocab)
        dz_i = c (p_i ((1 - e) w_target + e mean(w)) - (1 - e) w_target [i = target] - e w_i / vocab) with a weight w
        dlogits = dz (1 - tanh(logits / softcap)^2)

    c is 0 for an ignored row, and for the others the row's cotangent (none), the cotangent (sum), or the cotangent
    over the number of rows that are kept, or over the sum of their targets' weights (mean).

    Shapes
        cotangent () or (...),  logits (..., vocab),  targets (...) integers,  weight (vocab)  ->  (dlogits, None, None)
    Dtypes
        as the arguments
    Domain
        As in cross_entropy; cotangents finite.
    Edges
        Without z_loss and softcap each row's gradient sums to 0. An ignored row has exactly 0, also where all are ignored.

    Raises
        ValueError as cross_entropy does.
    Choices
        Targets have no gradient, and neither has the weight. The maximum may be detached or not, as in log_softmax_vjp.
    Source
        Differentiation of CS336 assignment 1, section 4.1.

    >>> cross_entropy_vjp(4.0, [[0.0, 0.0], [0.0, 0.0], [9.0, 9.0]], [1, 0, -100])[0]
    array([[ 1., -1.],
           [-1.,  1.],
           [ 0.,  0.]])
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"cross_entropy_vjp: reduction={reduction!r} is unknown; there are 'mean', 'sum' and 'none'.")
    if weight is not None and not is_zero(z_loss):
        raise ValueError("cross_entropy_vjp: weight and z_loss are not defined together; leave one of them out.")
    c, logits = float64(cotangent), float64(logits)
    raw = rows(logits)
    z = raw if softcap is None else softcap * np.tanh(raw / softcap)
    kept, ids = is_kept(targets, ignore_index)
    w = None if weight is None else float64(weight)
    of_target: Any = None if w is None else np.where(kept, w[ids], 0.0)[:, None]
    share = np.reshape(c, (-1, 1)) if reduction == "none" else c
    if reduction == "mean" and (w is None or not np.any(kept)):
        share = share / np.float64(max(int(np.sum(kept)), 1))
    elif reduction == "mean":
        share = share / np.sum(of_target, axis=0)
    p = np.exp(eager(log_softmax(z, axis=-1))) * recomputed(lambda scores: scores, z, axis=-1)
    of_z_loss = 0.0
    if not is_zero(z_loss):
        of_z_loss = 2 * z_loss * logsumexp(z, axis=-1)[:, None]
        p = p * (1 + of_z_loss)
    is_target, vocab = np.arange(z.shape[-1]) == ids[:, None], z.shape[-1]
    if w is not None:
        own = of_target if is_zero(label_smoothing) else (1 - label_smoothing) * of_target
        spread = 0.0 if is_zero(label_smoothing) else label_smoothing / vocab * w
        total = own if is_zero(label_smoothing) else own + np.sum(spread, axis=-1)
        dz = p * total - (np.where(is_target, own, 0.0) + spread)
    elif is_zero(label_smoothing):
        dz = p - is_target.astype(float)
    else:
        dz = p - np.where(is_target, (1 - label_smoothing) + label_smoothing / vocab, label_smoothing / vocab)
    dz = share * dz
    dz = through_maximum(dz, np.sum(dz, axis=-1, keepdims=True) - share * of_z_loss, z, axis=-1)
    dz = np.where(kept[:, None], dz, 0.0)
    if softcap is not None:
        dz = dz * (1 - np.square(np.tanh(raw / softcap)))
    return np.reshape(dz, logits.shape), None, None
