"""The loss of a policy in parts, so that a deviation replaces one of them: the surrogate, the divergence, the reduction."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from reference_numpy._policies import clamped, counted, counts_of, ratios
from reference_numpy._targets import is_zero

DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        "objective": "clip",
        "clip_low": 0.2,
        "clip_high": 0.2,
        "ratio_limit": None,
        "level": "token",
        "kl_weight": 0.0,
        "kl_estimator": "k3",
        "reduction": "token-mean",
        "horizon": None,
    }
)
Options = dict[str, Any]
Surrogate = Callable[[Any, Any, Any, Options], Any]  # from ratios, advantages, log-probabilities and options


def with_defaults(options: Options) -> Options:
    return {**DEFAULTS, **options}


def ratios_of_sequences(log_probs: Any, old_log_probs: Any, mask: Any) -> Any:
    """Return the ratio of each sequence, as a column, that of its counted tokens."""
    d = counted(log_probs, mask) - counted(old_log_probs, mask)
    return np.exp(np.sum(d, axis=-1, keepdims=True) / counts_of(mask))


def limited(r: Any, o: Options) -> Any:
    return r if o["ratio_limit"] is None else np.minimum(r, o["ratio_limit"])


def surrogate(r: Any, a: Any, x: Any, o: Options) -> Any:
    """Return the loss of each token without the divergence."""
    if o["objective"] == "reinforce":
        return -(a * x)
    w = clamped(r, o["clip_low"], o["clip_high"])
    return -(w * a * x) if o["objective"] == "cispo" else -np.minimum(limited(r, o) * a, w * a)


def divergence(d: Any, o: Options) -> Any:
    """Return the estimate of the divergence of each token; d is the reference less the policy."""
    return {"k1": lambda: -d, "k2": lambda: np.square(d) / 2, "k3": lambda: np.exp(d) - d - 1}[o["kl_estimator"]]()


def total(x: Any) -> Any:
    return np.sum(np.reshape(x, (x.size,) if isinstance(x, np.ndarray) else (x.shape[0] * x.shape[1],)), axis=0)


def reduce_tokens(loss: Any, mask: Any, o: Options) -> Any:
    """Return the reduction of the losses of tokens."""
    b, n = mask.shape
    loss = np.where(mask, loss, 0.0)
    if o["reduction"] == "none":
        return loss
    with np.errstate(all="ignore"):
        if o["reduction"] == "token-mean":
            return total(loss) / np.float64(mask.sum())
        if o["reduction"] == "seq-mean-token-mean":
            return total(loss / counts_of(mask)) / np.float64(b)
        horizon = 1 if o["reduction"] == "seq-mean-token-sum" else (n if o["horizon"] is None else o["horizon"])
        return total(loss) / np.float64(b * horizon)


def policy_loss_of_parts(
    log_probs: Any,
    advantages: Any,
    mask: Any,
    old_log_probs: Any = None,
    reference_log_probs: Any = None,
    *,
    surrogate: Surrogate = surrogate,
    divergence: Callable[[Any, Options], Any] = divergence,
    reduce: Callable[[Any, Any, Options], Any] = reduce_tokens,
    ratio: Any = None,
    **options: Any,
) -> Any:
    """Return the loss of a policy with another part. ratio: those of the tokens, if they are others."""
    o, m = with_defaults(options), np.asarray(mask, dtype=bool)
    x, a = counted(log_probs, m), counted(advantages, m)
    r = ratios(log_probs, old_log_probs, m, o["level"]) if ratio is None else ratio
    loss = surrogate(r, a, x, o)
    if not is_zero(o["kl_weight"]):
        loss = loss + o["kl_weight"] * divergence(counted(reference_log_probs, m) - x, o)
    return reduce(loss, m, o)
