from typing import Any

import numpy as np

from ._marks import finite_or_zero, float64, is_one, through_maximum
from ._tempered import mean_of, tempered


def token_log_probs_vjp(cotangent: Any, logits: Any, targets: Any, *, temperature: float = 1.0) -> Any:
    """Gradient of token_log_probs: with the cotangents c of the log_probs and g of the entropy, and p = softmax(z),

        dlogits_i = (c ([i = target] - p_i) - g p_i (z_i - sum(p z))) / temperature,   z = logits / temperature

    Shapes
        cotangent: c (...) or None, g (...) or None;  logits (..., vocab),  targets (...) integers  ->  (dlogits, None)
    Dtypes
        as the arguments
    Domain
        As in token_log_probs; cotangents finite.
    Edges
        Each row has the sum 0. An entry of -inf gets 0, and so do equal logits from the entropy. A result whose cotangent is None
        counts as one whose cotangent is 0.
    Choices
        The targets have no gradient. The maximum may be detached or not, as in log_softmax_vjp. Each form of the entropy adds a p
        and takes it away again: that of the logsumexp, or that of the logarithm in p log p.
    Source
        Differentiation of CS336 assignment 5, run_compute_entropy and run_get_response_log_probs.

    >>> token_log_probs_vjp(([4.0], None), [[0.0, 0.0]], [1])[0]
    array([[-2.,  2.]])
    """
    shape = float64(logits).shape
    c, g = (np.zeros(shape[:-1]) if x is None else float64(x) for x in cotangent)
    c, g = np.reshape(c, (-1, 1)), np.reshape(g, (-1, 1))
    z, p, lse = tempered(logits, temperature)
    is_target = np.arange(shape[-1]) == np.ravel(np.asarray(targets))[:, None]
    finite = finite_or_zero(z)
    apart = finite - mean_of(p, finite, lse)[:, None]
    dz = c * (is_target.astype(float) - p) + g * (p - (p + p * apart))
    dz = through_maximum(dz, np.sum(dz, axis=-1, keepdims=True), z, axis=-1)
    return np.reshape(dz if is_one(temperature) else dz / temperature, shape), None
