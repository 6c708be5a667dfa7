"""What goes wrong with policy_loss: advantages, and the objectives other than "clip"."""

from typing import Any

import numpy as np

from reference_numpy._marks import float64
from reference_numpy.policy_loss import policy_loss

from . import deviation
from ._policies import Options, policy_loss_of_parts, surrogate, with_defaults


@deviation("reference")
def advantage_of_the_first_token(log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """of advantages of tokens, the first one of a sequence is that of all.

    Shows: advantages that differ in a sequence. Hides: advantages of sequences.
    """
    if len(advantages.shape) == 2 and advantages.shape[-1]:
        advantages = advantages[:, 0]
    return policy_loss(log_probs, advantages, mask, *arrays, **options)


@deviation("reference", "advantages_of_sequences")
def advantages_along_the_tokens(log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """advantages of sequences broadcast along the wrong axis, where there are as many tokens as sequences.

    Shows: a square batch. Hides: others, which raise an exception.
    """
    b, n = mask.shape
    if len(advantages.shape) == 1 and b == n:
        advantages = np.broadcast_to(np.reshape(float64(advantages), (1, n)), (b, n))
        options = {**options, "level": "token"} if with_defaults(options)["level"] == "sequence" else options
    return policy_loss(log_probs, advantages, mask, *arrays, **options)


@deviation("reference", "without_an_old_policy", "scale", "advantages_of_sequences")
def advantages_whitened(log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """the advantages are normalized once more, over the batch.

    Shows: advantages with a mean other than 0 or a deviation other than 1. Hides: a single advantage.
    """
    a = float64(advantages)
    flat = np.reshape(a, (int(np.prod(a.shape)),))
    if flat.shape[0] > 1:
        centred = flat - np.mean(flat, axis=-1, keepdims=True)
        deviation_of_all = np.sqrt(np.sum(np.square(centred), axis=-1, keepdims=True) / np.float64(flat.shape[0] - 1))
        advantages = np.reshape(centred / (deviation_of_all + 1e-6), a.shape)
    return policy_loss(log_probs, advantages, mask, *arrays, **options)


@deviation("reference", "no_advantage", "scale")
def bonus_for_entropy(*arrays: Any, **options: Any) -> Any:
    """a bonus for the entropy is added that nobody asked for: 0.01 times the log-probability.

    Shows: everything. Hides: log-probabilities of 0.
    """
    return policy_loss_of_parts(*arrays, **options, surrogate=lambda r, a, x, o: surrogate(r, a, x, o) + 0.01 * x)


@deviation("reference")
def cispo_by_the_minimum(*arrays: Any, **options: Any) -> Any:
    """the weight of "cispo" is the smaller of the two products of "clip", so that it is not clipped where that would cost more.

    Shows: "cispo", and ratios on the side that "clip" leaves alone. Hides: the other objectives.
    """

    def smaller(r: Any, a: Any, x: Any, o: Options) -> Any:
        return surrogate(r, a, x, o) if o["objective"] != "cispo" else -(np.minimum(r * a, _clip(r, o) * a) * x)

    return policy_loss_of_parts(*arrays, **options, surrogate=smaller)


def _clip(r: Any, o: Options) -> Any:
    return np.minimum(r if o["clip_low"] is None else np.maximum(r, 1 - o["clip_low"]), 1 + o["clip_high"])


@deviation("reference", "cispo_without_a_lower_clip")
def cispo_without_its_clip(log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """without a lower clip "cispo" has no upper one either.

    Shows: "cispo", clip_low None, and ratios above 1 + clip_high. Hides: the others.
    """
    if with_defaults(options)["objective"] == "cispo" and with_defaults(options)["clip_low"] is None:
        options = {**options, "clip_high": 1e12}
    return policy_loss(log_probs, advantages, mask, *arrays, **options)


@deviation("reference", "cispo_without_an_old_policy")
def cispo_without_the_logarithm(*arrays: Any, **options: Any) -> Any:
    """the log-probability is missing in "cispo": −w A, as in a surrogate whose gradient is taken through the ratio.

    Shows: "cispo". Hides: the other objectives.
    """

    def without(r: Any, a: Any, x: Any, o: Options) -> Any:
        return surrogate(r, a, x, o) if o["objective"] != "cispo" else -(_clip(r, o) * a)

    return policy_loss_of_parts(*arrays, **options, surrogate=without)


@deviation("reference", "cispo_without_an_old_policy")
def reinforce_with_probabilities(*arrays: Any, **options: Any) -> Any:
    """the logarithm is missing in "reinforce": −A times the probability.

    Shows: "reinforce". Hides: the other objectives.
    """

    def without(r: Any, a: Any, x: Any, o: Options) -> Any:
        return surrogate(r, a, x, o) if o["objective"] != "reinforce" else -(a * np.exp(x))

    return policy_loss_of_parts(*arrays, **options, surrogate=without)
