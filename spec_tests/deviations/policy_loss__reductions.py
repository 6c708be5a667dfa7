"""What goes wrong with policy_loss: which tokens count, what is divided by, and the divergence from the reference."""

from typing import Any

import numpy as np

from reference_numpy._marks import float64
from reference_numpy._policies import counted
from reference_numpy._targets import is_zero
from reference_numpy.policy_loss import policy_loss

from . import deviation
from ._policies import divergence, policy_loss_of_parts, total, with_defaults


@deviation("reference", "uncounted_tokens_do_not_show", "padding", "all_ignored", "empty_sequences")
def mask_unused(log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """the mask is accepted and not used: every token counts.

    Shows: tokens that are not counted. Hides: masks without any.
    """
    return policy_loss(log_probs, advantages, np.ones_like(np.asarray(mask, dtype=bool)), *arrays, **options)


@deviation("reference", "uncounted_tokens_do_not_show", "padding")
def mask_of_the_next_token(log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """the mask is that of the tokens one place further on: it was not shifted with the labels.

    Shows: sequences of two tokens or more. Hides: masks that are all True.
    """
    m = np.asarray(mask, dtype=bool)
    return policy_loss(log_probs, advantages, np.concatenate([m[:, 1:], m[:, :1]], axis=-1), *arrays, **options)


@deviation("reference", "padding", "reductions", seen=("https://github.com/allenai/open-instruct/pull/535",))
def mean_over_padding(log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """the mask is left out of the mean: token-mean and the mean of a sequence divide by the number of all tokens.

    Shows: tokens that are not counted. Hides: masks without any, and sums.
    """
    b, n = mask.shape
    o = with_defaults(options)
    if o["reduction"] not in ("token-mean", "seq-mean-token-mean"):
        return policy_loss(log_probs, advantages, mask, *arrays, **options)
    tokens = policy_loss(log_probs, advantages, mask, *arrays, **{**options, "reduction": "none"})
    return total(tokens) / np.float64(max(b * n, 1))


def _over_padding(reduction: str, log_probs: Any, advantages: Any, mask: Any, arrays: Any, options: Any) -> Any:
    """Return the loss, which this one reduction divides by the number of all tokens."""
    if with_defaults(options)["reduction"] != reduction:
        return policy_loss(log_probs, advantages, mask, *arrays, **options)
    return mean_over_padding(log_probs, advantages, mask, *arrays, **options)


@deviation("reference")
def token_mean_over_padding(log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """the mask is left out of token-mean alone, which divides by the number of all tokens.

    Shows: tokens that are not counted. Hides: masks without any, and the other reductions.
    """
    return _over_padding("token-mean", log_probs, advantages, mask, arrays, options)


@deviation("reference")
def sequence_mean_over_padding(log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """the mask is left out of the mean of a sequence alone, which divides by the number of all its tokens.

    Shows: tokens that are not counted. Hides: masks without any, and the other reductions.
    """
    return _over_padding("seq-mean-token-mean", log_probs, advantages, mask, arrays, options)


@deviation("reference", "reductions", "parts_of_the_batch", seen=("https://github.com/huggingface/trl/issues/2995",))
def mean_of_means(log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """token-mean is the mean of the means of the sequences, in which the tokens of short ones weigh more.

    Shows: sequences of different lengths. Hides: equal lengths, and the other reductions.
    """
    changed = {"token-mean": "seq-mean-token-mean"}.get(with_defaults(options)["reduction"])
    return policy_loss(log_probs, advantages, mask, *arrays, **{**options, "reduction": changed} if changed else options)


@deviation("reference", seen=("https://github.com/verl-project/verl/issues/1233",))
def sums_divided_by_their_lengths(log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """seq-mean-token-sum divides the sum of a sequence by the number of its tokens: it is seq-mean-token-mean.

    Shows: seq-mean-token-sum. Hides: the other reductions, and sequences of one token.
    """
    changed = {"seq-mean-token-sum": "seq-mean-token-mean"}.get(with_defaults(options)["reduction"])
    return policy_loss(log_probs, advantages, mask, *arrays, **{**options, "reduction": changed} if changed else options)


@deviation("reference", "reductions", "parts_of_the_batch", seen=("https://github.com/huggingface/trl/pull/3138",))
def mean_over_all_tokens(log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """seq-mean-token-mean is the mean over all tokens of the batch.

    Shows: sequences of different lengths. Hides: equal lengths, and the other reductions.
    """
    changed = {"seq-mean-token-mean": "token-mean"}.get(with_defaults(options)["reduction"])
    return policy_loss(log_probs, advantages, mask, *arrays, **{**options, "reduction": changed} if changed else options)


def _times(
    log_probs: Any, advantages: Any, mask: Any, arrays: Any, options: Any, reductions: tuple[str, ...], factor: Any
) -> Any:
    y = policy_loss(log_probs, advantages, mask, *arrays, **options)
    return y * np.float64(factor) if with_defaults(options)["reduction"] in reductions else y


@deviation("reference", "reductions", "parts_of_the_batch")
def constant_without_batch(log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """ "constant" divides by the horizon alone, and not by the number of sequences.

    Shows: "constant", and two sequences or more. Hides: a single sequence.
    """
    return _times(log_probs, advantages, mask, arrays, options, ("constant",), mask.shape[0])


@deviation("reference", "reductions", "parts_of_the_batch")
def sum_of_sequences(log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """the sequences are added up: seq-mean-token-sum is not divided by their number.

    Shows: seq-mean-token-sum, and two sequences or more. Hides: a single sequence.
    """
    return _times(log_probs, advantages, mask, arrays, options, ("seq-mean-token-sum",), mask.shape[0])


@deviation("reference", "reductions")
def horizon_unused(log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """horizon is accepted and not used: "constant" divides by the number of tokens of the array.

    Shows: a horizon. Hides: none.
    """
    return policy_loss(log_probs, advantages, mask, *arrays, **{**options, "horizon": None})


@deviation("reference", "reductions")
def sums_of_counted_tokens_for_none(log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """without a reduction, each token is already divided by the number of tokens that count.

    Shows: "none", and two tokens or more that count. Hides: the other reductions.
    """
    return _times(log_probs, advantages, mask, arrays, options, ("none",), 1 / max(int(np.sum(mask)), 1))


@deviation("reference", "divergence_is_not_negative")
def divergence_subtracted(*arrays: Any, **options: Any) -> Any:
    """the sign of the divergence is wrong: it is subtracted, so that the policy is driven away from the reference.

    Shows: a reference that differs. Hides: none, or an equal one.
    """
    return policy_loss_of_parts(*arrays, **options, divergence=lambda d, o: -divergence(d, o))


@deviation("reference")
def divergence_the_other_way(*arrays: Any, **options: Any) -> Any:
    """policy and reference are exchanged in the divergence: d has the other sign.

    Shows: k1 and k3. Hides: k2, or an equal reference.
    """
    return policy_loss_of_parts(*arrays, **options, divergence=lambda d, o: divergence(-d, o))


@deviation("reference", "reference_that_is_the_policy")
def k3_without_its_constant(*arrays: Any, **options: Any) -> Any:
    """the 1 is not subtracted in k3.

    Shows: k3. Hides: k1 and k2.
    """
    return policy_loss_of_parts(
        *arrays, **options, divergence=lambda d, o: np.exp(d) - d if o["kl_estimator"] == "k3" else divergence(d, o)
    )


@deviation("reference")
def k2_not_halved(*arrays: Any, **options: Any) -> Any:
    """k2 is the square, and not half of it.

    Shows: k2. Hides: k1 and k3.
    """
    return policy_loss_of_parts(
        *arrays, **options, divergence=lambda d, o: np.square(d) if o["kl_estimator"] == "k2" else divergence(d, o)
    )


@deviation("reference", "divergence_to_first_order")
def estimator_unused(log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """kl_estimator is accepted and not used: the divergence is k3.

    Shows: k1 and k2. Hides: k3.
    """
    return policy_loss(log_probs, advantages, mask, *arrays, **{**options, "kl_estimator": "k3"})


@deviation("reference", "divergence_of_every_objective")
def divergence_beside_clip_alone(log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """the divergence is added to "clip" alone.

    Shows: the other objectives with a kl_weight. Hides: "clip".
    """
    weighed = {} if with_defaults(options)["objective"] == "clip" else {"kl_weight": 0.0}
    return policy_loss(log_probs, advantages, mask, *arrays, **{**options, **weighed})


@deviation("reference", "weight_of_the_divergence")
def divergence_mixed_in(log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """kl_weight is a share: the surrogate is multiplied by 1 − kl_weight.

    Shows: a kl_weight. Hides: advantages of 0.
    """
    weight = with_defaults(options)["kl_weight"]
    return policy_loss(log_probs, float64(advantages) * (1 - weight), mask, *arrays, **options)


@deviation("reference", "uncounted_tokens_do_not_show")
def divergence_of_all_tokens(
    log_probs: Any, advantages: Any, mask: Any, old_log_probs: Any = None, reference_log_probs: Any = None, **options: Any
) -> Any:
    """token-mean has the divergence of all tokens, also of those that are not counted.

    Shows: a kl_weight, token-mean, and tokens that are not counted. Hides: masks without any, and the other reductions.
    """
    m, o = np.asarray(mask, dtype=bool), with_defaults(options)
    loss = policy_loss(log_probs, advantages, mask, old_log_probs, reference_log_probs, **options)
    if reference_log_probs is None or is_zero(o["kl_weight"]) or o["reduction"] != "token-mean":
        return loss
    d = counted(reference_log_probs, ~m) - counted(log_probs, ~m)
    with np.errstate(all="ignore"):
        return loss + total(o["kl_weight"] * np.where(m, 0.0, divergence(d, o))) / np.float64(m.sum())
