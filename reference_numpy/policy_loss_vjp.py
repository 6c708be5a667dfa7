from typing import Any

import numpy as np

from ._marks import exact, float64, positive, quotient
from ._policies import check_names, clamped, counted, counts_of, divisors, gap, ratios


def policy_loss_vjp(
    cotangent: Any,
    log_probs: Any,
    advantages: Any,
    mask: Any,
    old_log_probs: Any = None,
    reference_log_probs: Any = None,
    *,
    objective: str = "clip",
    clip_low: float | None = 0.2,
    clip_high: float = 0.2,
    ratio_limit: float | None = None,
    level: str = "token",
    kl_weight: float = 0.0,
    kl_estimator: str = "k3",
    reduction: str = "token-mean",
    horizon: int | None = None,
) -> Any:
    """Gradient of policy_loss: with c the share of the cotangent that a token gets, and r, w and d as in policy_loss,

        dlog_probs = c (s + kl_weight k),   k = 1 - e^d (k3), 1 (k1) or -d (k2)
        s = -r A where A > 0 and r < 1 + clip_high, or A < 0 and 1 - clip_low < r < ratio_limit, else 0     ("clip")
        s = -w A                                                                                            ("cispo")
        s = -A                                                                                              ("reinforce")

    With level "sequence", c s is the mean over the counted tokens of the sequence. c is the token's cotangent (none), or the
    cotangent over the divisors of the reduction.

    Shapes
        cotangent () or (b, n),  log_probs (b, n),  advantages (b) or (b, n),  mask (b, n) bool,  old_log_probs (b, n) or None,
        reference_log_probs (b, n) or None  ->  (dlog_probs, None, None, None, None)
    Dtypes
        as the arguments
    Domain
        As in policy_loss; cotangents finite, and with level "sequence" and reduction none equal in each sequence.
    Edges
        A token that is not counted has exactly 0, also where none is. At r = 1 the gradient is that of "reinforce", although the
        loss is -A.

    Raises
        ValueError as policy_loss does.
    Choices
        Advantages, and the log-probabilities of the old policy and of the reference, are constants. The slope is not specified
        where r is one of the limits.
    Source
        Differentiation of the equations of policy_loss.

    >>> policy_loss_vjp(1.0, np.log([[0.5, 0.5]]), [3.0], [[True, True]])[0]
    array([[-1.5, -1.5]])
    """
    check_names("policy_loss_vjp", objective=objective, level=level, kl_estimator=kl_estimator, reduction=reduction)
    m = np.asarray(mask, dtype=bool)
    a, c = counted(advantages, m), float64(cotangent)
    divided_by, _ = divisors(m, reduction, horizon)
    share = np.where(m, quotient(c, *divided_by, roundings=2 * len(divided_by)) if divided_by else c, 0.0)
    if objective == "reinforce":
        slope = -a
    else:
        r = ratios(log_probs, old_log_probs, m, level)
        if objective == "cispo":
            slope = -(clamped(r, clip_low, clip_high) * a)
        else:
            for_good = np.maximum(a, 0.0) * positive(1 + clip_high - r)
            for_bad = np.minimum(a, 0.0) * positive(r - (1 - clip_low))  # type: ignore[operator]  # None for "cispo" alone
            slope = -(r * (for_good + (for_bad if ratio_limit is None else for_bad * positive(ratio_limit - r))))
    dx = share * slope
    if level == "sequence" and objective == "clip":
        dx = np.where(m, np.sum(dx, axis=-1, keepdims=True) / counts_of(m), 0.0)
    d = gap(log_probs, reference_log_probs, m, kl_weight)
    if d is not None:
        dx = _with_divergence(dx, share * kl_weight, d, kl_estimator)
    return np.where(m, dx, 0.0), None, None, None, None


def _with_divergence(dx: Any, share: Any, d: Any, estimator: str) -> Any:
    """Return the gradient with that of the divergence. The terms of k3 may be added in either order."""
    if estimator == "k1":
        return dx + share
    if estimator == "k2":
        return dx - share * d
    part = share * np.exp(d)
    other = (dx + share) - part
    return dx + (share - part) + (other - exact(other))
