"""What goes wrong with policy_loss: which ratios the clips see, and which tokens ratio_limit concerns."""

from collections.abc import Callable
from typing import Any

import numpy as np

from reference_numpy._policies import clamped, counted, ratios
from reference_numpy.policy_loss import policy_loss

from . import deviation
from ._policies import Options, divergence, limited, policy_loss_of_parts, ratios_of_sequences, surrogate, with_defaults


def _with_clips_of(power: Callable[[Any], Any], arrays: Any, options: Any) -> Any:
    """Return the loss whose clips see this power of the ratio."""

    def of_power(r: Any, a: Any, x: Any, o: Options) -> Any:
        w = clamped(power(r), o["clip_low"], o["clip_high"])
        if o["objective"] == "reinforce":
            return surrogate(r, a, x, o)
        return -(w * a * x) if o["objective"] == "cispo" else -np.minimum(limited(r, o) * a, w * a)

    return policy_loss_of_parts(*arrays, **options, surrogate=of_power)


@deviation("reference")
def square_of_the_ratio_clipped(*arrays: Any, **options: Any) -> Any:
    """the clips see the square of the ratio: an exponent of 2 stands in the clipped ratio alone.

    Shows: ratios other than 1. Hides: equal policies.
    """
    return _with_clips_of(lambda r: r * r, arrays, options)


@deviation("reference")
def root_of_the_ratio_clipped(*arrays: Any, **options: Any) -> Any:
    """the clips see the root of the ratio: an exponent of 1/2 stands in the clipped ratio alone.

    Shows: ratios other than 1. Hides: equal policies.
    """
    return _with_clips_of(np.sqrt, arrays, options)


@deviation("reference", seen=("https://github.com/thu-ml/tianshou/issues/433",))
def ratio_limit_of_good_tokens(*arrays: Any, **options: Any) -> Any:
    """ratio_limit concerns good tokens, too: the surrogate is at least ratio_limit A, which for A > 0 is more than both products.

    Shows: a ratio_limit, and advantages above 0. Hides: no ratio_limit.
    """

    def at_least(r: Any, a: Any, x: Any, o: Options) -> Any:
        if o["objective"] != "clip" or o["ratio_limit"] is None:
            return surrogate(r, a, x, o)
        return -np.maximum(np.minimum(r * a, clamped(r, o["clip_low"], o["clip_high"]) * a), o["ratio_limit"] * a)

    return policy_loss_of_parts(*arrays, **options, surrogate=at_least)


@deviation("reference", seen=("https://github.com/MakazhanAlpamys/Soup/issues/723",))
def ratios_centred_over_the_batch(
    log_probs: Any, advantages: Any, mask: Any, old_log_probs: Any = None, *arrays: Any, **options: Any
) -> Any:
    """the mean over the sequences is subtracted from the logarithm of a token's ratio; tokens that do not count are 0 in it.

    Shows: sequences with different ratios. Hides: one policy, or one sequence in every place.
    """
    o, m = with_defaults(options), np.asarray(mask, dtype=bool)
    if old_log_probs is None or o["level"] != "token" or o["objective"] == "reinforce":
        return policy_loss(log_probs, advantages, mask, old_log_probs, *arrays, **options)
    d = counted(log_probs, m) - counted(old_log_probs, m)
    centred = np.exp(d - np.mean(d, axis=0, keepdims=True))
    return policy_loss_of_parts(log_probs, advantages, mask, old_log_probs, *arrays, **options, ratio=centred)


def _with_weighed_divergence(
    weight: Callable[[Any, Options], Any],
    log_probs: Any, advantages: Any, mask: Any, old_log_probs: Any = None, reference_log_probs: Any = None, **options: Any,
) -> Any:  # fmt: skip
    """Return the loss whose divergence is multiplied by a function of the ratio."""
    arrays = log_probs, advantages, mask, old_log_probs, reference_log_probs
    if reference_log_probs is None or old_log_probs is None:
        return policy_loss(*arrays, **options)
    r = ratios(log_probs, old_log_probs, np.asarray(mask, dtype=bool), with_defaults(options)["level"])
    return policy_loss_of_parts(*arrays, **options, divergence=lambda d, o: weight(r, o) * divergence(d, o))


@deviation("reference", seen=("https://github.com/allenai/open-instruct/issues/534",))
def divergence_times_the_ratio(*arrays: Any, **options: Any) -> Any:
    """the divergence of a token is multiplied by its ratio, as a correction for the old policy has it.

    Shows: a kl_weight, and an old policy. Hides: no kl_weight; equal policies.
    """
    return _with_weighed_divergence(lambda r, o: r, *arrays, **options)


@deviation("reference", seen=("https://github.com/allenai/open-instruct/issues/534",))
def divergence_times_the_limited_ratio(*arrays: Any, **options: Any) -> Any:
    """the divergence of a token is multiplied by its ratio, which ratio_limit has limited before.

    Shows: a kl_weight, an old policy and a ratio_limit. Hides: no kl_weight, no ratio_limit; equal policies.
    """
    return _with_weighed_divergence(lambda r, o: limited(r, o) if o["objective"] == "clip" else r, *arrays, **options)


@deviation("reference", "sequence_of_one_token", seen=("https://github.com/NVIDIA-NeMo/RL/pull/3753",))
def ratios_along_the_tokens(
    log_probs: Any, advantages: Any, mask: Any, old_log_probs: Any = None, *arrays: Any, **options: Any
) -> Any:
    """ratios of sequences broadcast along the wrong axis, where there are as many tokens as sequences.

    Shows: level "sequence", and a square batch. Hides: others, which raise an exception; level "token".
    """
    m, o = np.asarray(mask, dtype=bool), with_defaults(options)
    if old_log_probs is None or o["level"] != "sequence" or m.shape[0] != m.shape[1]:
        return policy_loss(log_probs, advantages, mask, old_log_probs, *arrays, **options)
    turned = np.where(np.ones(m.shape, dtype=bool), np.swapaxes(ratios_of_sequences(log_probs, old_log_probs, m), 0, 1), 1.0)
    return policy_loss_of_parts(log_probs, advantages, mask, old_log_probs, *arrays, **options, ratio=turned)
