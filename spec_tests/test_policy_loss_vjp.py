"""What must hold of the gradient of policy_loss."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_all_zero, assert_equal, assert_identical, exactly
from .inputs.draw import Draw
from .operations.policy_loss import BY_SEQUENCE, ESTIMATORS, OPTIONAL, draw_arrays, draw_options, of_tokens
from .trials.invariant import invariant

PPO, GSPO, CISPO = (
    "Schulman et al. 2017, arXiv:1707.06347",
    "Zheng et al. 2025, arXiv:2507.18071",
    "MiniMax 2025, arXiv:2506.13585",
)
KL = "Schulman 2020, Approximating KL divergence"
CLIPS = ("clip_low", "clip_high", "ratio_limit")
OLD, WEIGHED = ("keyword:old_log_probs",), ("keyword:reference_log_probs",)


def draw_cotangent(draw: Draw, mask: np.ndarray, given: dict[str, Any]) -> np.ndarray:
    """Draw a cotangent: one number, or one of each token without a reduction, equal where a sequence has one ratio."""
    if given.get("reduction") != "none":
        return draw.grid(())
    b, n = mask.shape
    return draw.grid((b, 1)) + np.zeros((b, n)) if given.get("level") == "sequence" else draw.grid((b, n))


def share_of(c: np.ndarray, mask: np.ndarray, given: dict[str, Any]) -> Any:
    """Return the share of the cotangent that each token gets. Each sequence has a token that counts."""
    reduction, (b, n) = given.get("reduction", "token-mean"), mask.shape
    divisor: Any = {
        "none": 1.0,
        "token-mean": float(mask.sum()),
        "seq-mean-token-mean": b * mask.sum(axis=-1, keepdims=True),
        "seq-mean-token-sum": float(b),
        "constant": float(b * (given.get("horizon") or n)),
    }[reduction]
    return np.where(mask, exactly(c) / divisor * np.ones(mask.shape), 0.0)


def draw_apart(draw: Draw, *options: str, up_for_good: bool) -> tuple[Any, dict[str, Any]]:
    """Draw a call in which good tokens became far more probable and bad ones far less, or the other way round."""
    keywords = draw_options(draw, "clip_low", "clip_high", *options, objectives=("clip",)) | draw.only("level", "token")
    (x, a, mask), given = draw_arrays(draw, keywords, empty=False, old=True)
    up = (of_tokens(a).value > 0) == up_for_good
    given["old_log_probs"] = np.rint(x) - 2.0
    return (given["old_log_probs"] + np.where(up, 1.0, -1.0), a, mask), given


@invariant("B", source=PPO, cost=2)
def test_without_an_old_policy(policy_loss_vjp: Operation, draw: Draw) -> None:
    """Without an old policy the gradient of a token is −A, times its share of the cotangent, although the loss may be 0."""
    keywords = draw_options(draw, *CLIPS, "level", "reduction", "horizon")
    (x, a, mask), given = draw_arrays(draw, keywords, empty=False, old=False)
    c = draw_cotangent(draw, mask, given)
    dx = policy_loss_vjp(c, x, a, mask, **given, wrt="log_probs")
    assert_equal(dx, share_of(c, mask, given) * -of_tokens(a))


@invariant("E", source=PPO, cost=2, needs=OLD)
def test_no_gradient_beyond_the_clips(policy_loss_vjp: Operation, draw: Draw) -> None:
    """Good tokens with a ratio above 1 + clip_high and bad ones with one below 1 − clip_low have a gradient of exactly 0."""
    (x, a, mask), given = draw_apart(draw, "reduction", up_for_good=True)
    assert_all_zero(policy_loss_vjp(draw_cotangent(draw, mask, given), x, a, mask, **given, wrt="log_probs"))


@invariant("B", source=PPO, cost=2, needs=OLD)
def test_gradient_on_the_other_side(policy_loss_vjp: Operation, draw: Draw) -> None:
    """Good tokens that became far less probable, and bad ones that became far more, have the whole gradient −r A."""
    (x, a, mask), given = draw_apart(draw, "reduction", up_for_good=False)
    c = draw_cotangent(draw, mask, given)
    ratio = np.exp(exactly(x) - given["old_log_probs"])
    dx = policy_loss_vjp(c, x, a, mask, **given, wrt="log_probs")
    assert_equal(dx, share_of(c, mask, given) * (-ratio * of_tokens(a)))


@invariant("E", source=PPO, cost=2)
def test_uncounted_tokens(policy_loss_vjp: Operation, draw: Draw) -> None:
    """A token that is not counted has a gradient of exactly 0, also where none is counted."""
    keywords = draw_options(draw, *OPTIONAL)
    (x, a, mask), given = draw_arrays(draw, keywords, empty=False)
    mask = mask & (draw.rng.random(mask.shape) < draw.one_of((1.0, 0.7, 0.7, 0.0)))
    if given.get("reduction") in BY_SEQUENCE and not mask.any(axis=-1).all() and mask.any():
        mask[~mask.any(axis=-1), 0] = True  # an empty sequence among others is the question of a convention
    c = draw_cotangent(draw, mask, given)
    dx = policy_loss_vjp(c, x, a, mask, **given, wrt="log_probs")
    assert_identical(dx.value[~mask], np.zeros(int(np.sum(~mask))))


@invariant("B", source=KL, cost=2, needs=WEIGHED)
def test_gradient_of_the_divergence(policy_loss_vjp: Operation, draw: Draw) -> None:
    """Where the advantages are 0 it is kl_weight times 1 (k1), −d (k2) or 1 − e^d (k3), d the reference less the policy."""
    keywords = draw_options(draw, "reduction", "horizon") | draw.keyword("kl_weight", (1.0, 0.5))
    keywords |= draw.keyword("kl_estimator", ESTIMATORS)
    (x, a, mask), given = draw_arrays(draw, keywords, empty=False)
    c = draw_cotangent(draw, mask, given)
    dx = policy_loss_vjp(c, x, 0 * a, mask, **given, wrt="log_probs")
    d = np.where(mask, exactly(given["reference_log_probs"]) - x, 0.0)
    slope: Any = {"k1": 1 + 0 * d, "k2": -d, "k3": 1 - np.exp(d)}[given.get("kl_estimator", "k3")]
    assert_equal(dx, share_of(c, mask, given) * (slope * given["kl_weight"]))


@invariant("B", source=CISPO, cost=2, needs=("keyword:objective", *OLD))
def test_cispo_weighs(policy_loss_vjp: Operation, draw: Draw) -> None:
    """The gradient of "cispo" is that of "reinforce" times the clipped ratio, also beyond the clips."""
    keywords = draw_options(draw, "clip_low", "clip_high", "reduction", objectives=("cispo",))
    (x, a, mask), given = draw_arrays(draw, keywords, empty=False, old=True)
    c = draw_cotangent(draw, mask, given)
    ratio = np.exp(np.where(mask, exactly(x) - given["old_log_probs"], 0.0))
    lower = given.get("clip_low", 0.2)
    weight = np.minimum(
        ratio if lower is None else np.maximum(ratio, 1 - exactly(lower)), 1 + exactly(given.get("clip_high", 0.2))
    )
    plain = {name: given[name] for name in ("reduction",) if name in given} | draw.only("objective", "reinforce")
    one: Any = policy_loss_vjp(c, x, a, mask, **given, wrt="log_probs")
    other: Any = policy_loss_vjp(c, x, a, mask, **plain, wrt="log_probs")
    assert_equal(one, other * weight)


@invariant("B", source=GSPO, cost=2, needs=("keyword:level", *OLD))
def test_sequences_share_a_gradient(policy_loss_vjp: Operation, draw: Draw) -> None:
    """With level "sequence" all counted tokens of a sequence have one gradient, that of their mean."""
    keywords = draw_options(draw, *CLIPS, "reduction", objectives=("clip",)) | draw.only("level", "sequence")
    (x, a, mask), given = draw_arrays(draw, keywords, empty=False, old=True)
    dx: Any = policy_loss_vjp(draw_cotangent(draw, mask, given), x, a, mask, **given, wrt="log_probs")
    first = np.argmax(mask, axis=-1)[:, None]
    assert_equal(dx, np.where(mask, np.take_along_axis(dx, first, axis=-1), 0.0))
