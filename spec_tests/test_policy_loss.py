"""What must hold of policy_loss."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_all_zero, assert_equal, assert_identical, assert_unmoved, assert_within, exactly
from .helpers.conventions import assert_convention
from .inputs.draw import Draw
from .operations.policy_loss import (
    BY_SEQUENCE,
    ESTIMATORS,
    OPTIONAL,
    draw_advantages,
    draw_arrays,
    draw_log_probs,
    draw_options,
    draw_reference,
    of_tokens,
)
from .trials.invariant import invariant

PPO = "Schulman et al. 2017, arXiv:1707.06347, eq. (7)"
GRPO = "Shao et al. 2024, arXiv:2402.03300"
DUAL_CLIP = "Ye et al. 2020, arXiv:1912.09729"
GSPO = "Zheng et al. 2025, arXiv:2507.18071"
CISPO = "MiniMax 2025, arXiv:2506.13585"
KL = "Schulman 2020, Approximating KL divergence"
CLIPS = ("clip_low", "clip_high", "ratio_limit")
NONE, OLD, WEIGHED = ("keyword:reduction",), ("keyword:old_log_probs",), ("keyword:reference_log_probs",)


def reduce_tokens(loss: Any, mask: np.ndarray, given: dict[str, Any]) -> Any:
    """Return the reduction of the losses of tokens. Each sequence has a token that counts."""
    reduction, (b, n) = given.get("reduction", "token-mean"), mask.shape
    exact: Any = exactly(loss)
    loss = np.where(mask, exact, 0.0)
    if reduction == "none":
        return loss
    divisor: Any = np.float64(b)
    if reduction == "token-mean":
        divisor = np.float64(mask.sum())
    elif reduction == "constant":
        divisor = np.float64(b * (given.get("horizon") or n))
    elif reduction == "seq-mean-token-mean":
        divisor = b * mask.sum(axis=-1, keepdims=True)
    return np.sum(np.reshape(loss / divisor, (b * n,)), axis=0)


def draw_plain(draw: Draw, *options: str, objectives: tuple[str, ...] = ("clip", "cispo", "reinforce"), **how: Any) -> Any:
    """Draw a call in which each sequence has a token that counts."""
    keywords = draw_options(draw, *options, objectives=objectives)
    return draw_arrays(draw, keywords, empty=False, **how)


@invariant("B", source=PPO)
def test_without_an_old_policy(policy_loss: Operation, draw: Draw) -> None:
    """Without an old policy every ratio is 1: the clipped loss is that of −A, whatever the clips and the level are."""
    (x, a, mask), given = draw_plain(draw, *CLIPS, "level", "reduction", "horizon", objectives=("clip",), old=False)
    assert_equal(policy_loss(x, a, mask, **given), reduce_tokens(-of_tokens(a) * np.ones(x.shape), mask, given))


@invariant("B", source=PPO, needs=OLD)
def test_ratio_alone(policy_loss: Operation, draw: Draw) -> None:
    """The clipped loss sees both policies by their ratio alone: a number subtracted from both changes nothing."""
    (x, a, mask), given = draw_plain(draw, *OPTIONAL[:3], "reduction", objectives=("clip",), old=True)
    shift = -np.abs(draw.grid(x.shape, largest=32))
    moved = given | {"old_log_probs": exactly(given["old_log_probs"]) + shift}
    assert_equal(policy_loss(exactly(x) + shift, a, mask, **moved), policy_loss(x, a, mask, **given))


@invariant("B", source=PPO, needs=(*NONE, *OLD))
def test_beyond_the_clips(policy_loss: Operation, draw: Draw) -> None:
    """Ratios above 1 + clip_high cost −(1 + clip_high) A where A > 0; ratios below 1 − clip_low cost −(1 − clip_low) A else."""
    keywords = draw_options(draw, "clip_low", "clip_high", objectives=("clip",)) | draw.only("reduction", "none")
    keywords |= draw.only("level", "token")
    (x, a, mask), given = draw_arrays(draw, keywords, old=False)
    up = of_tokens(a).value > 0
    old = np.rint(x) - 2.0
    given = given | {"old_log_probs": old}
    limit = np.where(up, 1 + exactly(given.get("clip_high", 0.2)), 1 - exactly(given.get("clip_low", 0.2)))
    expected = np.where(mask, -of_tokens(a) * limit, 0.0)
    assert_equal(policy_loss(old + np.where(up, 1.0, -1.0), a, mask, **given), expected)


@invariant("B", source=DUAL_CLIP, needs=(*NONE, *OLD))
def test_between_its_limits(policy_loss: Operation, draw: Draw) -> None:
    """Without ratio_limit a token costs at least −r A, with r its ratio; with it at most ratio_limit |A| where A < 0."""
    keywords = draw_options(draw, *CLIPS, objectives=("clip",)) | draw.only("reduction", "none") | draw.only("level", "token")
    (x, a, mask), given = draw_arrays(draw, keywords, old=True)
    loss = policy_loss(x, a, mask, **given)
    ratio = np.exp(exactly(x) - given["old_log_probs"])
    if given.get("ratio_limit") is None:
        assert_within(loss, np.where(mask, -ratio * of_tokens(a), 0.0), np.inf)
    else:
        bad = of_tokens(a).value < 0
        largest = np.abs(of_tokens(a)) * given["ratio_limit"]
        assert_within(loss, -np.inf, np.where(bad & mask, largest, np.inf))


@invariant("E", source=PPO)
def test_no_advantage(policy_loss: Operation, draw: Draw) -> None:
    """Advantages of 0 cost nothing without a divergence."""
    (x, a, mask), given = draw_plain(draw, *CLIPS, "level", "reduction", "horizon")
    assert_all_zero(policy_loss(x, 0 * a, mask, **given))


@invariant("B", source=PPO)
def test_scale(policy_loss: Operation, draw: Draw) -> None:
    """Advantages that are four times as large cost four times as much without a divergence."""
    (x, a, mask), given = draw_plain(draw, *CLIPS, "level", "reduction", "horizon")
    assert_equal(policy_loss(x, 4 * a, mask, **given), policy_loss(x, a, mask, **given) * 4.0)


@invariant("B", source=GRPO)
def test_advantages_of_sequences(policy_loss: Operation, draw: Draw) -> None:
    """The advantage of a sequence is that of each of its tokens."""
    keywords = draw_options(draw, *CLIPS, "reduction", "horizon")
    keywords |= draw.only("level", "token") if "level" in keywords else {}
    (x, _, mask), given = draw_arrays(draw, keywords, empty=False)
    a = draw_advantages(draw, *mask.shape, of_tokens=False)
    draw_advantages(draw, *mask.shape, of_tokens=True)  # which the domain may not have
    each = a[:, None] + np.zeros(mask.shape)
    assert_equal(policy_loss(x, each, mask, **given), policy_loss(x, a, mask, **given))


@invariant("E", source=GRPO)
def test_uncounted_tokens_do_not_show(policy_loss: Operation, draw: Draw) -> None:
    """What a token holds that is not counted does not matter; without a reduction its loss is exactly 0."""
    (x, a, mask), given = draw_plain(draw, *OPTIONAL)
    b, n = mask.shape
    others = draw_log_probs(draw, b, n)
    changed = dict(given)
    if "old_log_probs" in given:
        changed["old_log_probs"] = np.where(mask, given["old_log_probs"], others[1])
    if "reference_log_probs" in given:
        changed["reference_log_probs"] = np.where(mask, given["reference_log_probs"], draw.held(others[0] / 2))
    other_a = np.where(mask, a, draw.normal((b, n), 8.0)) if a.ndim == 2 else a
    before = policy_loss(x, a, mask, **given)
    assert_unmoved(policy_loss(np.where(mask, x, others[0]), other_a, mask, **changed), before)
    if given.get("reduction") == "none":
        assert_identical(before.value[~mask], np.zeros(int(np.sum(~mask))))


@invariant("B", source=GRPO)
def test_padding(policy_loss: Operation, draw: Draw) -> None:
    """Tokens that are appended and not counted change nothing, with "constant" if the horizon is given."""
    (x, a, mask), given = draw_plain(draw, *OPTIONAL[:5], longest=129)
    given |= draw.only("reduction", *(r for r in (*BY_SEQUENCE, "token-mean") if _has(draw, r)))
    given |= draw.only("horizon", 64, 7, 1000) if given.get("reduction") == "constant" else {}
    b, more = len(mask), draw.one_of((1, 3, 8))

    def padded(part: Any) -> Any:
        return np.concatenate([part, np.full((b, more), False if part.dtype == bool else -1.5)], axis=-1)

    wider = {name: padded(part) if isinstance(part, np.ndarray) else part for name, part in given.items()}
    after = policy_loss(padded(x), padded(a) if a.ndim == 2 else a, padded(mask), **wider)
    assert_equal(after, policy_loss(x, a, mask, **given))


def _has(draw: Draw, reduction: str) -> bool:
    """Whether the function and its domain have a reduction."""
    own = ("token-mean", *BY_SEQUENCE, "none") if draw.operation.accepts("reduction") else ("token-mean",)
    return reduction in draw.operation.domain.get("reduction", own)


@invariant("B", source=GRPO)
def test_parts_of_the_batch(policy_loss: Operation, draw: Draw) -> None:
    """The loss of a batch is that of its two parts, each weighed by its tokens that count, or by its sequences."""
    keywords = draw_options(draw, *OPTIONAL[:5])
    keywords |= draw.only("reduction", *(r for r in ("token-mean", *BY_SEQUENCE) if _has(draw, r)))
    (x, a, mask), given = draw_arrays(draw, keywords, empty=False)
    if len(x) == 1:  # a batch of the sequence and of itself
        x, a, mask = (np.repeat(part, 2, axis=0) for part in (x, a, mask))
        given = {name: np.repeat(part, 2, axis=0) if isinstance(part, np.ndarray) else part for name, part in given.items()}
    cut = 1 + draw.integer(0, 99) * (len(x) - 1) // 100
    whole: Any = policy_loss(x, a, mask, **given)
    weights = [
        float(part.sum() if given.get("reduction", "token-mean") == "token-mean" else len(part))
        for part in (mask[:cut], mask[cut:])
    ]
    parts: list[Any] = []
    for rows in (slice(cut), slice(cut, None)):
        own = {name: part[rows] if isinstance(part, np.ndarray) else part for name, part in given.items()}
        parts.append(policy_loss(x[rows], a[rows], mask[rows], **own))
    assert_equal(whole * sum(weights), parts[0] * weights[0] + parts[1] * weights[1])


@invariant("B", source=GRPO, needs=NONE)
def test_reductions(policy_loss: Operation, draw: Draw) -> None:
    """Each reduction adds up the losses of tokens, over its divisors: of all tokens, of a sequence's, of sequences, a horizon."""
    keywords = draw_options(draw, *CLIPS, "level", "kl_weight")
    (x, a, mask), given = draw_arrays(draw, keywords, empty=False)
    tokens = policy_loss(x, a, mask, **given, **draw.only("reduction", "none"))
    given |= draw.only("reduction", *(r for r in ("token-mean", *BY_SEQUENCE) if _has(draw, r)))
    given |= draw.keyword("horizon", (64, 7, 1000)) if given.get("reduction") == "constant" else {}
    assert_equal(policy_loss(x, a, mask, **given), reduce_tokens(tokens, mask, given))


@invariant("E", source=KL, needs=WEIGHED)
def test_reference_that_is_the_policy(policy_loss: Operation, draw: Draw) -> None:
    """A divergence from a reference that is the policy itself adds nothing."""
    (x, a, mask), given = draw_plain(draw, *OPTIONAL)
    without = {name: value for name, value in given.items() if name not in ("reference_log_probs", "kl_weight", "kl_estimator")}
    more = draw.keyword("kl_weight", (1.0, 0.5)) | draw.keyword("kl_estimator", ESTIMATORS)
    with_itself = policy_loss(x, a, mask, **without, **more, reference_log_probs=x + 0.0)
    assert_unmoved(with_itself, policy_loss(x, a, mask, **without))


def draw_divergence(draw: Draw, *estimators: str) -> tuple[Any, dict[str, Any]]:
    """Draw a call whose loss is the divergence alone: the advantages are 0."""
    keywords = draw_options(draw, "reduction") | draw.keyword("kl_weight", (1.0, 0.5)) | draw.only("kl_estimator", *estimators)
    (x, a, mask), given = draw_arrays(draw, keywords, empty=False)
    return (x, 0 * a, mask), given


@invariant("B", source=KL, needs=WEIGHED)
def test_divergence_is_not_negative(policy_loss: Operation, draw: Draw) -> None:
    """k2 and k3 are at least 0 for every token, and so is any mean of them."""
    arrays, given = draw_divergence(draw, "k2", "k3")
    assert_within(policy_loss(*arrays, **given), 0.0, np.inf)


@invariant("B", source=KL, needs=WEIGHED)
def test_divergence_to_first_order(policy_loss: Operation, draw: Draw) -> None:
    """k1 changes its sign where policy and reference are exchanged, and k2 does not change."""
    (x, a, mask), given = draw_divergence(draw, "k1", "k2")
    other = policy_loss(given["reference_log_probs"], a, mask, **given | {"reference_log_probs": x})
    sign = -1.0 if given.get("kl_estimator", "k3") == "k1" else 1.0
    assert_equal(policy_loss(x, a, mask, **given), other * sign)


@invariant("B", source=KL, needs=(*WEIGHED, "keyword:objective"))
def test_divergence_of_every_objective(policy_loss: Operation, draw: Draw) -> None:
    """The divergence is the same beside every objective."""
    (x, a, mask), given = draw_divergence(draw, *ESTIMATORS)
    without = {name: value for name, value in given.items() if name != "objective"}
    one, other = (
        policy_loss(x, a, mask, **without, **draw.only("objective", *names)) for names in (("clip",), ("reinforce", "cispo"))
    )
    assert_equal(one, other)


@invariant("B", source=KL, needs=WEIGHED)
def test_weight_of_the_divergence(policy_loss: Operation, draw: Draw) -> None:
    """The divergence is added, multiplied by its weight: what it adds is the loss of advantages of 0."""
    keywords = draw_options(draw, *CLIPS, "level", "reduction", "horizon")
    (x, a, mask), given = draw_arrays(draw, keywords, empty=False)
    weight, estimator = draw.keyword("kl_weight", (1.0, 0.5)), draw.keyword("kl_estimator", ESTIMATORS)
    more = {**weight, **estimator, "reference_log_probs": draw_reference(draw, x, estimator.get("kl_estimator", "k3"))}
    both, alone = (policy_loss(x, part, mask, **given | more) for part in (a, 0 * a))
    assert_equal(both, policy_loss(x, a, mask, **given) + alone)


@invariant("B", source=GSPO, needs=("keyword:level", *OLD))
def test_mean_alone(policy_loss: Operation, draw: Draw) -> None:
    """With level "sequence" a number that is added to the logarithm of one ratio and taken from another one changes nothing."""
    keywords = draw_options(draw, *CLIPS, "reduction", objectives=("clip",)) | draw.only("level", "sequence")
    (x, a, mask), given = draw_arrays(draw, keywords, empty=False, old=True)
    x = np.rint(8 * x) / 8 - 4.0
    old = x + draw.rng.choice((-0.5, -0.125, 0.0, 0.25, 0.5), x.shape)
    place, counts = np.cumsum(mask, axis=-1) - 1, mask.sum(axis=-1, keepdims=True)
    pairs = np.where(mask & (place < counts - counts % 2), 1.0 - 2.0 * (place % 2), 0.0)  # 1 and −1, with the sum 0
    moved = policy_loss(x, a, mask, **given | {"old_log_probs": old + pairs})
    assert_equal(moved, policy_loss(x, a, mask, **given | {"old_log_probs": old}))


@invariant("B", source=GSPO, needs=("keyword:level", *OLD))
def test_sequence_of_one_token(policy_loss: Operation, draw: Draw) -> None:
    """Where one token of each sequence counts, both levels are the same."""
    keywords = draw_options(draw, *CLIPS, "reduction", objectives=("clip",))
    (x, a, mask), given = draw_arrays(draw, keywords | {"level": "sequence"}, empty=False, old=True)
    b, n = mask.shape
    mask = np.arange(n) == draw.rng.integers(0, n, (b, 1))
    one, other = (policy_loss(x, a, mask, **given | draw.only("level", level)) for level in ("sequence", "token"))
    assert_equal(one, other)


@invariant("B", source=GSPO, needs=("keyword:level", *OLD))
def test_equal_ratios(policy_loss: Operation, draw: Draw) -> None:
    """Where all tokens of a sequence have one ratio, both levels are the same, however long the sequence is."""
    keywords = draw_options(draw, *CLIPS, "reduction", objectives=("clip",))
    (x, a, mask), given = draw_arrays(draw, keywords | {"level": "sequence"}, empty=False, old=True)
    x, move = np.rint(8 * x) / 8 - 1.0, draw.rng.choice((-1.0, -0.125, 0.0, 0.25, 1.0), (len(x), 1))
    given["old_log_probs"] = x + move
    one, other = (policy_loss(x - 1.0, a, mask, **given | draw.only("level", level)) for level in ("sequence", "token"))
    assert_equal(one, other)


@invariant("B", source=CISPO, needs=("keyword:objective",))
def test_cispo_without_an_old_policy(policy_loss: Operation, draw: Draw) -> None:
    """Without an old policy "cispo" is "reinforce"."""
    (x, a, mask), given = draw_plain(draw, "clip_low", "clip_high", "reduction", objectives=("cispo",), old=False)
    without = {name: value for name, value in given.items() if name not in ("clip_low", "objective")}
    assert_equal(policy_loss(x, a, mask, **given), policy_loss(x, a, mask, **without, **draw.only("objective", "reinforce")))


@invariant("E", source=CISPO, needs=("keyword:objective", *OLD))
def test_cispo_without_a_lower_clip(policy_loss: Operation, draw: Draw) -> None:
    """Where no token became less probable, the lower clip of "cispo" does not matter."""
    keywords = draw.only("objective", "cispo") | draw_options(draw, "reduction", objectives=("cispo",))
    (x, a, mask), given = draw_arrays(draw, keywords, empty=False, old=True)
    given["old_log_probs"] = np.minimum(given["old_log_probs"], x)
    none, some = draw.only("clip_low", None), draw.only("clip_low", 0.2, 0.1)
    assert_unmoved(policy_loss(x, a, mask, **given, **none), policy_loss(x, a, mask, **given, **some))


@invariant("B", source="the losses of TRL and verl")
def test_all_ignored(policy_loss: Operation, draw: Draw) -> None:
    """The mean of no token is NaN, which is 0 / 0, or 0: the convention all_ignored."""
    assert_convention(policy_loss, draw, "all_ignored")


@invariant("B", source="the losses of TRL and verl")
def test_empty_sequences(policy_loss: Operation, draw: Draw) -> None:
    """A sequence of which no token counts is one of the sequences of a mean, or none of them: the convention empty_sequences."""
    assert_convention(policy_loss, draw, "empty_sequences")
