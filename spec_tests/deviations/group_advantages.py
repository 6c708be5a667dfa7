"""What goes wrong with group_advantages: which rewards a group has, what is subtracted, and what is divided by."""

from typing import Any

import numpy as np

from reference_numpy.group_advantages import group_advantages

from . import deviation


def _as_groups(rewards: Any, group_size: int) -> Any:
    return np.reshape(rewards, (rewards.shape[0] // group_size, group_size))


def _deviation(x: Any, axis: int = -1) -> Any:
    """Return the standard deviation along an axis, with the divisor n - 1."""
    centred = x - np.mean(x, axis=axis, keepdims=True)
    return np.sqrt(np.sum(np.square(centred), axis=axis, keepdims=True) / max(x.shape[axis] - 1, 1))


def _divided(centred: Any, rewards: Any, normalize: str, eps: float) -> Any:
    """Return what is centred, over the deviation that is asked for, as one row."""
    groups = np.reshape(rewards, centred.shape)
    if normalize == "std":
        centred = centred / (_deviation(groups) + eps)
    elif normalize == "batch_std":
        centred = centred / (_deviation(np.reshape(rewards, (1, -1))) + eps)
    return np.reshape(centred, (-1,))


@deviation("reference", "groups_sum_to_zero", "groups_are_independent")
def groups_interleaved(rewards: Any, *, group_size: int, **options: Any) -> Any:
    """a group has every so many-th reward, and not those that follow one another.

    Shows: two groups or more. Hides: one group.
    """
    count = rewards.shape[0] // group_size
    turned = np.reshape(np.swapaxes(np.reshape(rewards, (group_size, count)), 0, 1), (-1,))
    y = group_advantages(turned, group_size=group_size, **options)
    return np.reshape(np.swapaxes(np.reshape(y, (count, group_size)), 0, 1), (-1,))


@deviation("reference", "groups_sum_to_zero", "shift")
def baseline_of_the_batch(
    rewards: Any, *, group_size: int, normalize: str = "std", baseline: str = "mean", eps: float = 1e-6
) -> Any:
    """the mean of all rewards is subtracted, and not that of the group.

    Shows: groups with different means. Hides: one group.
    """
    stretch = group_size / (group_size - 1) if baseline == "leave-one-out" else 1.0
    centred = _as_groups(rewards - np.mean(rewards, axis=0, keepdims=True), group_size) * stretch
    return _divided(centred, rewards, normalize, eps)


@deviation("reference")
def baseline_of_the_batch_with_its_deviation(
    rewards: Any, *, group_size: int, normalize: str = "std", baseline: str = "mean", eps: float = 1e-6
) -> Any:
    """under "batch_std" the mean is that of the batch, too.

    Shows: "batch_std", and groups with different means. Hides: the others.
    """
    if normalize != "batch_std":
        return group_advantages(rewards, group_size=group_size, normalize=normalize, baseline=baseline, eps=eps)
    stretch = group_size / (group_size - 1) if baseline == "leave-one-out" else 1.0
    centred = _as_groups(rewards - np.mean(rewards, axis=0, keepdims=True), group_size) * stretch
    return _divided(centred, rewards, normalize, eps)


@deviation("reference")
def deviations_pooled(rewards: Any, *, group_size: int, normalize: str = "std", baseline: str = "mean", eps: float = 1e-6) -> Any:
    """under "batch_std" the deviation is that of the advantages, and so from the mean of each group.

    Shows: "batch_std", and groups with different means. Hides: the others.
    """
    if normalize != "batch_std":
        return group_advantages(rewards, group_size=group_size, normalize=normalize, baseline=baseline, eps=eps)
    centred = group_advantages(rewards, group_size=group_size, normalize="none", baseline=baseline, eps=eps)
    return centred / (_deviation(centred) + eps)


@deviation("reference", "shift")
def nothing_subtracted(
    rewards: Any, *, group_size: int, normalize: str = "std", baseline: str = "mean", eps: float = 1e-6
) -> Any:
    """no mean is subtracted: the rewards are only divided.

    Shows: rewards with a mean. Hides: a mean of 0.
    """
    return _divided(_as_groups(rewards, group_size), rewards, normalize, eps)


@deviation("reference", "order_in_a_group")
def first_reward_as_the_baseline(
    rewards: Any, *, group_size: int, normalize: str = "std", baseline: str = "mean", eps: float = 1e-6
) -> Any:
    """the first reward of the group is subtracted, and not the mean.

    Shows: rewards that differ. Hides: equal ones.
    """
    groups = _as_groups(rewards, group_size)
    return _divided(groups - groups[:, :1], rewards, normalize, eps)


@deviation("reference")
def negated(rewards: Any, *, group_size: int, **options: Any) -> Any:
    """the mean less the reward: what is rewarded becomes less probable.

    Shows: rewards that differ. Hides: equal ones.
    """
    return -group_advantages(rewards, group_size=group_size, **options)


@deviation("reference", "one_deviation_for_all")
def deviation_of_the_group_for_the_batch(rewards: Any, *, group_size: int, normalize: str = "std", **options: Any) -> Any:
    """under "batch_std" each group has its own deviation.

    Shows: "batch_std", and groups with different deviations. Hides: the others.
    """
    return group_advantages(rewards, group_size=group_size, normalize={"batch_std": "std"}.get(normalize, normalize), **options)


@deviation("reference", "groups_are_independent")
def deviation_of_the_batch_for_the_group(rewards: Any, *, group_size: int, normalize: str = "std", **options: Any) -> Any:
    """under "std" the deviation is that of all rewards.

    Shows: groups with different deviations. Hides: one group.
    """
    return group_advantages(rewards, group_size=group_size, normalize={"std": "batch_std"}.get(normalize, normalize), **options)


@deviation("reference", "scale")
def divided_by_the_variance(
    rewards: Any, *, group_size: int, normalize: str = "std", baseline: str = "mean", eps: float = 1e-6
) -> Any:
    """the variance is divided by: the root is missing.

    Shows: rewards with a deviation other than 1. Hides: a deviation of 1, and "none".
    """
    centred = _as_groups(group_advantages(rewards, group_size=group_size, normalize="none", baseline=baseline), group_size)
    if normalize == "none":
        return np.reshape(centred, (-1,))
    row = np.reshape(rewards, centred.shape if normalize == "std" else (1, -1))
    return np.reshape(centred / (np.square(_deviation(row)) + eps), (-1,))


@deviation("reference")
def eps_inside_the_root(
    rewards: Any, *, group_size: int, normalize: str = "std", baseline: str = "mean", eps: float = 1e-6
) -> Any:
    """eps is added to the variance, inside the root.

    Shows: a large eps, or deviations near it. Hides: large deviations.
    """
    centred = _as_groups(group_advantages(rewards, group_size=group_size, normalize="none", baseline=baseline), group_size)
    if normalize == "none":
        return np.reshape(centred, (-1,))
    row = np.reshape(rewards, centred.shape if normalize == "std" else (1, -1))
    return np.reshape(centred / np.sqrt(np.square(_deviation(row)) + eps), (-1,))


@deviation("equal_rewards", "never_nan", kind="arithmetic")
def eps_left_out(rewards: Any, *, group_size: int, normalize: str = "std", baseline: str = "mean", eps: float = 1e-6) -> Any:
    """eps is not added: equal rewards give 0 / 0.

    Shows: equal rewards. Hides: others, if eps is small.
    """
    with np.errstate(all="ignore"):
        return group_advantages(rewards, group_size=group_size, normalize=normalize, baseline=baseline, eps=0.0)


@deviation("reference", "leave_one_out_stretches")
def leave_one_out_ignored(rewards: Any, *, group_size: int, baseline: str = "mean", **options: Any) -> Any:
    """the mean of "leave-one-out" has the own reward in it: the factor G / (G − 1) is left out.

    Shows: "leave-one-out". Hides: "mean", large groups.
    """
    return group_advantages(rewards, group_size=group_size, **options)


@deviation("reference", seen=("https://github.com/NVIDIA-NeMo/RL/issues/1518",))
def deviation_of_the_others(
    rewards: Any, *, group_size: int, normalize: str = "std", baseline: str = "mean", eps: float = 1e-6
) -> Any:
    """with "leave-one-out" the deviation under "std" is that of the others, too, which is 0 where these are equal.

    Shows: "leave-one-out" and "std" in groups of three or more. Hides: the other options; groups of two.
    """
    if baseline != "leave-one-out" or normalize != "std" or group_size < 3:
        return group_advantages(rewards, group_size=group_size, normalize=normalize, baseline=baseline, eps=eps)
    groups = _as_groups(rewards, group_size)
    mean = (np.sum(groups, axis=-1, keepdims=True) - groups) / (group_size - 1)
    apart = np.reshape(groups, (-1, 1, group_size)) - np.reshape(mean, (-1, group_size, 1))
    squares = np.where(np.eye(group_size, dtype=bool), 0.0, np.square(apart))
    deviation_of_them = np.sqrt(np.sum(squares, axis=-1) / (group_size - 2))
    return np.reshape((groups - mean) / (deviation_of_them + eps), (-1,))


@deviation("reference", "groups_sum_to_zero")
def sum_of_the_others_over_all(
    rewards: Any, *, group_size: int, normalize: str = "std", baseline: str = "mean", eps: float = 1e-6
) -> Any:
    """the sum of the others is divided by G, and not by G − 1.

    Shows: "leave-one-out", and rewards with a mean. Hides: "mean".
    """
    if baseline != "leave-one-out":
        return group_advantages(rewards, group_size=group_size, normalize=normalize, eps=eps)
    groups = _as_groups(rewards, group_size)
    others = (np.sum(groups, axis=-1, keepdims=True) - groups) / group_size
    return _divided(groups - others, rewards, normalize, eps)


@deviation("reference", kind="arithmetic")
def mean_of_squares(
    rewards: Any,
    *,
    group_size: int,
    normalize: str = "std",
    baseline: str = "mean",
    eps: float = 1e-6,
    held: Any = None,
) -> Any:
    """the variance is the mean of the squares less the square of the mean, which cancels.

    Shows: rewards far from 0. Hides: rewards about 0.
    """
    held = held or (lambda x: x)
    centred = _as_groups(group_advantages(rewards, group_size=group_size, normalize="none", baseline=baseline), group_size)
    if normalize == "none":
        return np.reshape(centred, (-1,))
    row = np.reshape(rewards, centred.shape if normalize == "std" else (1, -1))
    n = row.shape[-1]
    squares, mean = held(np.mean(np.square(row), axis=-1, keepdims=True)), held(np.mean(row, axis=-1, keepdims=True))
    variance = np.maximum(squares - held(np.square(mean)), 0.0) * (n / max(n - 1, 1))
    return np.reshape(centred / (np.sqrt(variance) + eps), (-1,))
