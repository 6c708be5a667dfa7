"""What goes wrong with the gradient of policy_loss: where it is 0, what it is multiplied by, and how tokens share it."""

from typing import Any

import numpy as np

from reference_numpy._marks import float64
from reference_numpy._policies import clamped, counted, counts_of, ratios
from reference_numpy._targets import is_zero
from reference_numpy.policy_loss_vjp import policy_loss_vjp

from . import deviation
from ._policies import with_defaults


def _changed(dx: Any, mask: Any) -> tuple[Any, None, None, None, None]:
    return np.where(np.asarray(mask, dtype=bool), dx, 0.0), None, None, None, None


def _share(cotangent: Any, log_probs: Any, mask: Any, options: Any) -> Any:
    """Return what each token gets of the cotangent: the gradient of minus the log-probability at an advantage of −1."""
    plain = {name: options[name] for name in ("reduction", "horizon") if name in options}
    return policy_loss_vjp(cotangent, log_probs, -np.ones(mask.shape[:1]), mask, objective="reinforce", **plain)[0]


@deviation("reference", "without_an_old_policy")
def old_policy_not_detached(
    cotangent: Any, log_probs: Any, advantages: Any, mask: Any, old_log_probs: Any = None, *arrays: Any, **options: Any
) -> Any:
    """without an old policy the log-probabilities are subtracted from themselves with their gradient, which is then 0.

    Shows: no old policy. Hides: an old policy.
    """
    if old_log_probs is None and with_defaults(options)["objective"] == "clip":
        advantages = 0 * advantages
    return policy_loss_vjp(cotangent, log_probs, advantages, mask, old_log_probs, *arrays, **options)


@deviation("reference", "without_an_old_policy", seen=("https://github.com/fla-org/flash-linear-attention/pull/1076",))
def negated(cotangent: Any, log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """the gradient points the other way: it was negated twice.

    Shows: everything. Hides: nothing.
    """
    dx, *others = policy_loss_vjp(cotangent, log_probs, advantages, mask, *arrays, **options)
    return (-dx, *others)


@deviation("reference", "no_gradient_beyond_the_clips")
def gradient_through_the_clips(cotangent: Any, log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """clipped tokens have a gradient, as if their ratio were not clipped.

    Shows: ratios beyond the clips. Hides: ratios within them.
    """
    if with_defaults(options)["objective"] != "clip":
        return policy_loss_vjp(cotangent, log_probs, advantages, mask, *arrays, **options)
    wide = {**options, "clip_low": 1.0, "clip_high": 1e12}
    return policy_loss_vjp(cotangent, log_probs, advantages, mask, *arrays, **wide)


@deviation("reference", "gradient_on_the_other_side")
def no_gradient_on_either_side(
    cotangent: Any, log_probs: Any, advantages: Any, mask: Any, old_log_probs: Any = None, *arrays: Any, **options: Any
) -> Any:
    """beyond the clips there is no gradient, also where the minimum is not the clipped product.

    Shows: good tokens below 1 − clip_low, bad ones above 1 + clip_high. Hides: the other side.
    """
    o, m = with_defaults(options), np.asarray(mask, dtype=bool)
    if o["objective"] == "clip" and old_log_probs is not None:
        r = ratios(log_probs, old_log_probs, m, o["level"])
        value = np.asarray(getattr(r, "value", r))
        value = value[0] if value.ndim > 2 else value
        inside = (value > 1 - o["clip_low"]) & (value < 1 + o["clip_high"])
        a = counted(advantages, m)
        if o["level"] == "token":
            advantages = np.where(inside, a, 0.0)
    return policy_loss_vjp(cotangent, log_probs, advantages, mask, old_log_probs, *arrays, **options)


@deviation("reference", "gradient_on_the_other_side")
def ratio_left_out(
    cotangent: Any, log_probs: Any, advantages: Any, mask: Any, old_log_probs: Any = None, *arrays: Any, **options: Any
) -> Any:
    """the gradient has no factor r: it is that of the logarithm.

    Shows: policies that differ. Hides: equal ones.
    """
    o, m = with_defaults(options), np.asarray(mask, dtype=bool)
    if o["objective"] != "clip" or old_log_probs is None or o["level"] != "token":
        return policy_loss_vjp(cotangent, log_probs, advantages, mask, old_log_probs, *arrays, **options)
    bare = {**options, "kl_weight": 0.0}
    dx = policy_loss_vjp(cotangent, log_probs, advantages, mask, old_log_probs, *arrays, **options)[0]
    whole = policy_loss_vjp(cotangent, log_probs, advantages, mask, old_log_probs, **bare)[0]
    return _changed(dx - whole + whole / ratios(log_probs, old_log_probs, m, "token"), m)


@deviation("reference")
def ratio_limit_unused(cotangent: Any, log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """bad tokens above ratio_limit have a gradient.

    Shows: bad tokens above ratio_limit. Hides: others.
    """
    return policy_loss_vjp(cotangent, log_probs, advantages, mask, *arrays, **{**options, "ratio_limit": None})


@deviation("reference", "uncounted_tokens")
def mask_unused(cotangent: Any, log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """the mask is accepted and not used: every token has a gradient.

    Shows: tokens that are not counted. Hides: masks without any.
    """
    every = np.ones_like(np.asarray(mask, dtype=bool))
    return policy_loss_vjp(cotangent, log_probs, advantages, every, *arrays, **options)


@deviation("reference", "without_an_old_policy")
def mean_over_padding(cotangent: Any, log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """token-mean divides the cotangent by the number of all tokens.

    Shows: tokens that are not counted. Hides: masks without any, and the other reductions.
    """
    m = np.asarray(mask, dtype=bool)
    dx, *others = policy_loss_vjp(cotangent, log_probs, advantages, mask, *arrays, **options)
    share = max(int(m.sum()), 1) / max(m.size, 1) if with_defaults(options)["reduction"] == "token-mean" else 1.0
    return (dx * np.float64(share), *others)


@deviation("reference", "without_an_old_policy")
def cotangent_unused(cotangent: Any, log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """the cotangent is treated as 1, as in kernels that compute the gradient in the forward pass.

    Shows: a cotangent other than 1. Hides: loss.backward().
    """
    return policy_loss_vjp(np.ones(cotangent.shape), log_probs, advantages, mask, *arrays, **options)


@deviation("reference", "gradient_of_the_divergence")
def constant_of_k3_forgotten(cotangent: Any, log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """the gradient of k3 is −e^d in place of 1 − e^d.

    Shows: k3. Hides: k1 and k2.
    """
    o = with_defaults(options)
    dx, *others = policy_loss_vjp(cotangent, log_probs, advantages, mask, *arrays, **options)
    if o["kl_estimator"] != "k3" or is_zero(o["kl_weight"]):
        return (dx, *others)
    return _changed(dx - _share(cotangent, log_probs, mask, options) * o["kl_weight"], mask)


@deviation("reference", "gradient_of_the_divergence")
def divergence_without_gradient(cotangent: Any, log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """the divergence is a constant: log_probs are detached in it.

    Shows: a kl_weight. Hides: none.
    """
    return policy_loss_vjp(cotangent, log_probs, advantages, mask, *arrays, **{**options, "kl_weight": 0.0})


@deviation("reference", "gradient_of_the_divergence")
def divergence_the_other_way(cotangent: Any, log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """the gradient of the divergence has the other sign.

    Shows: a kl_weight. Hides: none.
    """
    if is_zero(with_defaults(options)["kl_weight"]):
        return policy_loss_vjp(cotangent, log_probs, advantages, mask, *arrays, **options)
    both = policy_loss_vjp(cotangent, log_probs, advantages, mask, *arrays, **options)[0]
    alone = policy_loss_vjp(cotangent, log_probs, advantages, mask, *arrays, **{**options, "kl_weight": 0.0})[0]
    return _changed(alone - (both - alone), mask)


@deviation("reference", "cispo_weighs")
def weight_of_cispo_with_a_gradient(
    cotangent: Any,
    log_probs: Any,
    advantages: Any,
    mask: Any,
    old_log_probs: Any = None,
    reference_log_probs: Any = None,
    **options: Any,
) -> Any:
    """the weight of "cispo" is not detached: inside of the clips the gradient has the slope of the weight, too.

    Shows: "cispo", and ratios within the clips. Hides: the other objectives.
    """
    o, m = with_defaults(options), np.asarray(mask, dtype=bool)
    dx = policy_loss_vjp(cotangent, log_probs, advantages, mask, old_log_probs, reference_log_probs, **options)
    if o["objective"] != "cispo":
        return dx
    r = ratios(log_probs, old_log_probs, m, "token")
    w = clamped(r, o["clip_low"], o["clip_high"])
    values = [np.asarray(getattr(x, "value", x)) for x in (r, w)]
    inside = values[0] == values[1]
    inside = inside[0] if inside.ndim > 2 else inside
    more = _share(cotangent, log_probs, mask, options) * counted(advantages, m) * counted(log_probs, m) * r
    return _changed(dx[0] - np.where(inside, more, 0.0), m)


@deviation("reference", "cispo_weighs")
def cispo_without_gradient_beyond_the_clips(
    cotangent: Any, log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any
) -> Any:
    """ "cispo" has the gradient of "clip": none where the ratio is clipped.

    Shows: "cispo", and ratios beyond the clips. Hides: the other objectives, and ratios within them.
    """
    o = with_defaults(options)
    if o["objective"] != "cispo":
        return policy_loss_vjp(cotangent, log_probs, advantages, mask, *arrays, **options)
    clipped = {**options, "objective": "clip", "clip_low": 1.0 if o["clip_low"] is None else o["clip_low"]}
    return policy_loss_vjp(cotangent, log_probs, advantages, mask, *arrays, **clipped)


@deviation("reference")
def ratio_of_the_sequence_detached(
    cotangent: Any, log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any
) -> Any:
    """with level "sequence" the ratio is a constant: it is detached, and the surrogate has no gradient.

    Shows: level "sequence". Hides: level "token".
    """
    o = with_defaults(options)
    no_gradient = o["level"] == "sequence" and o["objective"] == "clip"
    return policy_loss_vjp(cotangent, log_probs, 0 * advantages if no_gradient else advantages, mask, *arrays, **options)


@deviation("reference")
def length_left_out(cotangent: Any, log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """with level "sequence" the gradient is not divided by the number of tokens of the mean.

    Shows: level "sequence", and sequences of two tokens or more. Hides: level "token".
    """
    o, m = with_defaults(options), np.asarray(mask, dtype=bool)
    dx, *others = policy_loss_vjp(cotangent, log_probs, advantages, mask, *arrays, **options)
    return (dx * counts_of(m) if o["level"] == "sequence" and o["objective"] == "clip" else dx, *others)


@deviation("reference", "sequences_share_a_gradient")
def level_unused(cotangent: Any, log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """with level "sequence" each token has the gradient of its own ratio.

    Shows: level "sequence", and tokens with different ratios. Hides: level "token".
    """
    return policy_loss_vjp(cotangent, log_probs, advantages, mask, *arrays, **{**options, "level": "token"})


@deviation("reference")
def first_cotangent_for_all(cotangent: Any, log_probs: Any, advantages: Any, mask: Any, *arrays: Any, **options: Any) -> Any:
    """without a reduction, every token is multiplied by the cotangent of the first: the kernel loads one number.

    Shows: cotangents that differ from token to token. Hides: a reduction, a single token.
    """
    c = float64(cotangent)
    if len(c.shape) == 2 and np.prod(c.shape):
        c = c[:1, :1] + 0 * c
    return policy_loss_vjp(c, log_probs, advantages, mask, *arrays, **options)
