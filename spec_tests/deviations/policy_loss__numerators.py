"""What goes wrong with policy_loss where tokens that do not count are added up, and where the divergence has another formula."""

from typing import Any

import numpy as np

from reference_numpy._policies import counted, ratios

from . import deviation
from ._policies import Options, divergence, policy_loss_of_parts, ratios_of_sequences, reduce_tokens, total, with_defaults


def _over_counted(mask: Any, arrays: tuple[Any, ...], old_log_probs: Any, options: Options) -> Any:
    """Return the loss, of which token-mean adds up all tokens, and divides by the number of those that count."""
    m, every, o = np.asarray(mask, dtype=bool), np.ones(np.shape(mask), dtype=bool), with_defaults(options)
    log_probs, advantages, *reference = arrays
    r = ratios(log_probs, old_log_probs, every, "token")
    if o["level"] == "sequence" and old_log_probs is not None:
        r = np.where(every, ratios_of_sequences(log_probs, old_log_probs, m), 1.0)

    def reduce(loss: Any, every: Any, o: Options) -> Any:
        with np.errstate(all="ignore"):
            return total(loss) / np.float64(m.sum()) if o["reduction"] == "token-mean" else reduce_tokens(loss, m, o)

    return policy_loss_of_parts(log_probs, advantages, every, old_log_probs, *reference, **options, ratio=r, reduce=reduce)


@deviation("reference", "uncounted_tokens_do_not_show", seen=("https://github.com/alibaba/ROLL/pull/444",))
def all_tokens_over_the_counted(
    log_probs: Any, advantages: Any, mask: Any, old_log_probs: Any = None, reference_log_probs: Any = None, **options: Any
) -> Any:
    """token-mean adds up the losses of all tokens, and divides by the number of those that count.

    Shows: token-mean, and tokens that are not counted. Hides: masks without any, and the other reductions.
    """
    return _over_counted(mask, (log_probs, advantages, reference_log_probs), old_log_probs, options)


@deviation("reference", seen=("https://github.com/alibaba/ROLL/pull/444",))
def uncounted_tokens_with_a_ratio_of_one(
    log_probs: Any, advantages: Any, mask: Any, old_log_probs: Any = None, reference_log_probs: Any = None, **options: Any
) -> Any:
    """token-mean adds up all tokens; those that do not count have log-probabilities of 0, and so the loss −A of a ratio of 1.

    Shows: token-mean, and tokens that are not counted. Hides: masks without any, and the other reductions.
    """
    m = np.asarray(mask, dtype=bool)
    x, old, reference = (None if x is None else counted(x, m) for x in (log_probs, old_log_probs, reference_log_probs))
    return _over_counted(mask, (x, advantages, reference), old, options)


@deviation("reference", "divergence_to_first_order", seen=("https://github.com/one-covenant/grail/pull/42",))
def divergence_is_the_square(*arrays: Any, **options: Any) -> Any:
    """the divergence is d², the square of the difference, which is not halved.

    Shows: a reference that differs. Hides: none, or an equal one.
    """
    return policy_loss_of_parts(*arrays, **options, divergence=lambda d, o: np.square(d))


@deviation("reference")
def k2_goes_through_k3(*arrays: Any, **options: Any) -> Any:
    """the result of k2 is put into the formula of k3, as where a branch is not left: e^−k2 + k2 − 1.

    Shows: k2. Hides: k1 and k3.
    """

    def fall_through(d: Any, o: Options) -> Any:
        k = divergence(d, o)
        return np.exp(-k) + k - 1 if o["kl_estimator"] == "k2" else k

    return policy_loss_of_parts(*arrays, **options, divergence=fall_through)
