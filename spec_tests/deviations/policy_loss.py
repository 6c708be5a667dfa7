"""What goes wrong with policy_loss: the ratio, the clips, and the objectives."""

from typing import Any

import numpy as np

from reference_numpy._policies import clamped, counted, ratios
from reference_numpy.policy_loss import policy_loss

from . import deviation
from ._policies import Options, limited, policy_loss_of_parts, surrogate, with_defaults


@deviation("reference", "beyond_the_clips", "between_its_limits")
def clipped_on_the_wrong_side(*arrays: Any, **options: Any) -> Any:
    """the maximum of the two products in place of the minimum: what is clipped is what should not be.

    Shows: ratios beyond the clips. Hides: ratios within them.
    """

    def largest(r: Any, a: Any, x: Any, o: Options) -> Any:
        if o["objective"] != "clip":
            return surrogate(r, a, x, o)
        return -np.maximum(limited(r, o) * a, clamped(r, o["clip_low"], o["clip_high"]) * a)

    return policy_loss_of_parts(*arrays, **options, surrogate=largest)


@deviation("reference", "beyond_the_clips")
def never_clipped(*arrays: Any, **options: Any) -> Any:
    """the clips are not used: −r A.

    Shows: ratios beyond the clips. Hides: ratios within them.
    """

    def whole(r: Any, a: Any, x: Any, o: Options) -> Any:
        return surrogate(r, a, x, o) if o["objective"] != "clip" else -(limited(r, o) * a)

    return policy_loss_of_parts(*arrays, **options, surrogate=whole)


@deviation("reference", "between_its_limits")
def clipped_ratio_alone(*arrays: Any, **options: Any) -> Any:
    """the minimum is left out: −w A, with the clipped ratio alone.

    Shows: good tokens below 1 − clip_low, bad ones above 1 + clip_high. Hides: the other side.
    """

    def one_side(r: Any, a: Any, x: Any, o: Options) -> Any:
        return surrogate(r, a, x, o) if o["objective"] != "clip" else -(clamped(r, o["clip_low"], o["clip_high"]) * a)

    return policy_loss_of_parts(*arrays, **options, surrogate=one_side)


@deviation("reference", "beyond_the_clips")
def logarithm_clipped(*arrays: Any, **options: Any) -> Any:
    """the logarithm of the ratio is clipped to −clip_low … clip_high, and not the ratio to 1 − clip_low … 1 + clip_high.

    Shows: ratios beyond the clips. Hides: ratios within them.
    """

    def of_logarithm(r: Any, a: Any, x: Any, o: Options) -> Any:
        if o["objective"] == "reinforce":
            return surrogate(r, a, x, o)
        at_least = np.log(r) if o["clip_low"] is None else np.maximum(np.log(r), -o["clip_low"])
        w = np.exp(np.minimum(at_least, o["clip_high"]))
        return -(w * a * x) if o["objective"] == "cispo" else -np.minimum(limited(r, o) * a, w * a)

    return policy_loss_of_parts(*arrays, **options, surrogate=of_logarithm)


@deviation("reference", "beyond_the_clips")
def one_clip_for_both(log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """clip_low is the clip on both sides: clip_high is accepted and not used.

    Shows: clips that differ. Hides: equal clips.
    """
    low = with_defaults(options)["clip_low"]
    return policy_loss(log_probs, advantages, mask, *arrays, **options if low is None else {**options, "clip_high": low})


@deviation("reference", "beyond_the_clips")
def clips_exchanged(log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """clip_low is taken for clip_high, and the other way round.

    Shows: clips that differ. Hides: equal clips.
    """
    o = with_defaults(options)
    exchanged = {} if o["clip_low"] is None else {"clip_low": o["clip_high"], "clip_high": o["clip_low"]}
    return policy_loss(log_probs, advantages, mask, *arrays, **{**options, **exchanged})


@deviation("reference", "between_its_limits")
def ratio_limit_unused(log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """ratio_limit is accepted and not used: a bad token that became far more probable costs without a limit.

    Shows: bad tokens above ratio_limit. Hides: others.
    """
    return policy_loss(log_probs, advantages, mask, *arrays, **{**options, "ratio_limit": None})


@deviation("reference", "without_an_old_policy", "beyond_the_clips")
def negated(*arrays: Any, **options: Any) -> Any:
    """the sign of the surrogate is missing: what is rewarded becomes less probable.

    Shows: advantages other than 0. Hides: nothing.
    """
    return policy_loss_of_parts(*arrays, **options, surrogate=lambda r, a, x, o: -surrogate(r, a, x, o))


@deviation("reference", "between_its_limits")
def ratio_inverted(
    log_probs: Any, advantages: Any, mask: Any, old_log_probs: Any = None, reference_log_probs: Any = None, **options: Any
) -> Any:
    """the ratio is that of the old policy to the new one.

    Shows: policies that differ. Hides: equal ones.
    """
    m = np.asarray(mask, dtype=bool)
    r = None if old_log_probs is None else ratios(old_log_probs, log_probs, m, with_defaults(options)["level"])
    return policy_loss_of_parts(log_probs, advantages, mask, old_log_probs, reference_log_probs, **options, ratio=r)


@deviation("reference", "ratio_alone")
def quotient_of_logarithms(
    log_probs: Any, advantages: Any, mask: Any, old_log_probs: Any = None, reference_log_probs: Any = None, **options: Any
) -> Any:
    """the log-probabilities are divided in place of the probabilities.

    Shows: policies that differ. Hides: equal ones.
    """
    m = np.asarray(mask, dtype=bool)
    r = None
    if old_log_probs is not None:
        with np.errstate(all="ignore"):
            r = np.where(m, counted(log_probs, m) - 1, 1.0) / np.where(m, counted(old_log_probs, m) - 1, 1.0)
    return policy_loss_of_parts(log_probs, advantages, mask, old_log_probs, reference_log_probs, **options, ratio=r)


@deviation("reference", "beyond_the_clips")
def old_policy_unused(log_probs: Any, advantages: Any, mask: Any, old_log_probs: Any = None, *arrays: Any, **options: Any) -> Any:
    """the old policy is accepted and not used: every ratio is 1.

    Shows: policies that differ. Hides: equal ones.
    """
    return policy_loss(log_probs, advantages, mask, None, *arrays, **options)


@deviation("reference", "mean_alone")
def level_unused(log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """with level "sequence" each token has its own ratio.

    Shows: level "sequence", and tokens with different ratios. Hides: level "token".
    """
    return policy_loss(log_probs, advantages, mask, *arrays, **{**options, "level": "token"})


@deviation("reference", "equal_ratios")
def ratios_multiplied(
    log_probs: Any, advantages: Any, mask: Any, old_log_probs: Any = None, reference_log_probs: Any = None, **options: Any
) -> Any:
    """the ratio of a sequence is the product of those of its tokens: the mean of the logarithms is a sum.

    Shows: level "sequence", and sequences of two tokens or more. Hides: single tokens, and level "token".
    """
    m, r = np.asarray(mask, dtype=bool), None
    if with_defaults(options)["level"] == "sequence" and old_log_probs is not None:
        d = np.sum(counted(log_probs, m) - counted(old_log_probs, m), axis=-1, keepdims=True)
        r = np.exp(np.where(m, np.minimum(np.maximum(d, -60.0), 60.0), 0.0))
    return policy_loss_of_parts(log_probs, advantages, mask, old_log_probs, reference_log_probs, **options, ratio=r)


@deviation("reference", "sequence_of_one_token", "equal_ratios")
def padding_in_the_ratio(
    log_probs: Any, advantages: Any, mask: Any, old_log_probs: Any = None, reference_log_probs: Any = None, **options: Any
) -> Any:
    """the mean of a sequence divides by the number of all its tokens, also of those that are not counted.

    Shows: level "sequence", and tokens that are not counted. Hides: masks without any.
    """
    m, r = np.asarray(mask, dtype=bool), None
    if with_defaults(options)["level"] == "sequence" and old_log_probs is not None:
        d = np.mean(counted(log_probs, m) - counted(old_log_probs, m), axis=-1, keepdims=True)
        r = np.exp(np.where(m, d, 0.0))
    return policy_loss_of_parts(log_probs, advantages, mask, old_log_probs, reference_log_probs, **options, ratio=r)


@deviation("reference", "mean_alone", seen=("https://github.com/huggingface/trl/issues/6441",))
def ratio_of_the_sequence_in_one_term(
    log_probs: Any, advantages: Any, mask: Any, old_log_probs: Any = None, reference_log_probs: Any = None, **options: Any
) -> Any:
    """with level "sequence" the clipped term has the ratio of the sequence, and the other one that of the token.

    Shows: level "sequence", and tokens with different ratios. Hides: level "token".
    """
    m = np.asarray(mask, dtype=bool)
    of_token = ratios(log_probs, old_log_probs, m, "token")

    def mixed(r: Any, a: Any, x: Any, o: Options) -> Any:
        if o["objective"] != "clip" or o["level"] == "token":
            return surrogate(r, a, x, o)
        return -np.minimum(limited(of_token, o) * a, clamped(r, o["clip_low"], o["clip_high"]) * a)

    return policy_loss_of_parts(log_probs, advantages, mask, old_log_probs, reference_log_probs, **options, surrogate=mixed)
