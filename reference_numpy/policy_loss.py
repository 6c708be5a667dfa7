from typing import Any

import numpy as np

from ._marks import exact, quotient
from ._policies import check_names, clamped, counted, divisors, gap, ratios


def policy_loss(
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
    """Loss of a policy that is improved by its own answers: of PPO, GRPO, GSPO, CISPO and REINFORCE, and their reductions.

        r = exp(log_probs - old_log_probs),   w = min(max(r, 1 - clip_low), 1 + clip_high)
        l = -min(min(r, ratio_limit) A, w A)       (objective "clip")
        l = -w A log_probs, w without gradient     ("cispo")
        l = -A log_probs                           ("reinforce")
        l + kl_weight KL,   d = reference_log_probs - log_probs,   KL = e^d - d - 1 (k3), -d (k1) or d^2 / 2 (k2)

    With level "sequence", r is the exponential of the mean of log_probs - old_log_probs over the counted tokens of the sequence.
    A token is counted where the mask is True.

    Shapes
        log_probs (b, n),  advantages (b) or (b, n),  mask (b, n) bool,  old_log_probs (b, n) or None,
        reference_log_probs (b, n) or None  ->  () for the other reductions, (b, n) for none
    Dtypes
        as the arguments
    Units
        Nats.
    Domain
        all finite; clip_low and clip_high > 0, clip_low < 1, None for "cispo" alone; ratio_limit > 1 + clip_high; horizon >= 1;
        with level "sequence" advantages (b); "cispo" with level "token" and without ratio_limit; at counted tokens
        |log_probs - old_log_probs| <= 20, and |d| <= 20, with k3 <= 2.5; reference_log_probs exactly with kl_weight > 0.
    Edges
        Without old_log_probs r is 1, with the gradient of r. A token that is not counted has the loss 0, whatever it holds. The
        mean of no token is 0 / 0, NaN here (the convention all_ignored).

    Raises
        ValueError where objective, level, kl_estimator or reduction is unknown, or where kl_weight > 0 has no reference.
    Choices
        token-mean divides the sum by the number of all counted tokens, seq-mean-token-mean takes the mean of each sequence and
        then of the sequences, seq-mean-token-sum has the sum in place of the former, and constant divides that by the horizon,
        n if it is None. A sequence of which no token counts is 0, and one of the sequences (the convention empty_sequences).
        ratio_limit concerns negative advantages alone (dual clip).
    Source
        Schulman et al. 2017, arXiv:1707.06347, eq. (7). Shao et al. 2024, arXiv:2402.03300 (GRPO). Liu et al. 2025,
        arXiv:2503.20783 ("constant"). Yu et al. 2025, arXiv:2503.14476 (clip_high, "token-mean"). Zheng et al. 2025,
        arXiv:2507.18071 ("sequence"). MiniMax 2025, arXiv:2506.13585 ("cispo"). Ye et al. 2020, arXiv:1912.09729 (ratio_limit).
        Schulman 2020, "Approximating KL divergence" (k1, k2, k3). CS336 assignment 5.

    An answer of two tokens that became twice as probable, once good and once bad:

    >>> log_probs, old = np.log([[0.5, 0.5]]), np.log([[0.25, 0.25]])
    >>> [policy_loss(log_probs, [a], [[True, True]], old).round(4) for a in (1.0, -1.0)]
    [np.float64(-1.2), np.float64(2.0)]
    """
    check_names("policy_loss", objective=objective, level=level, kl_estimator=kl_estimator, reduction=reduction)
    m = np.asarray(mask, dtype=bool)
    x, a = counted(log_probs, m), counted(advantages, m)
    if objective == "reinforce":
        loss = -(a * x)
    else:
        r = ratios(log_probs, old_log_probs, m, level)
        w = clamped(r, clip_low, clip_high)
        if objective == "cispo":
            loss = -(w * a * x)
        else:
            loss = -np.minimum((r if ratio_limit is None else np.minimum(r, ratio_limit)) * a, w * a)
    d = gap(log_probs, reference_log_probs, m, kl_weight)
    if d is not None:
        loss = loss + kl_weight * _divergence(d, kl_estimator)
    divided_by, is_empty = divisors(m, reduction, horizon)
    loss = np.where(m, quotient(loss, *divided_by, roundings=2 * len(divided_by)) if divided_by else loss, 0.0)
    if reduction == "none":
        return loss
    total = np.sum(np.reshape(loss, (m.size,)), axis=0)
    with np.errstate(all="ignore"):
        return total / np.float64(0.0) if is_empty else total


def _divergence(d: Any, estimator: str) -> Any:
    """Return the estimate of the KL divergence. k3 may be added up in either order, whose errors are admitted."""
    if estimator == "k1":
        return -d
    if estimator == "k2":
        return np.square(d) / 2
    e = np.exp(d)
    other = (e - 1) - d
    return ((e - d) - 1) + (other - exact(other))
