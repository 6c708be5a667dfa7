"""What goes wrong with group_advantages where small deviations are treated apart."""

from typing import Any

import numpy as np

from reference_numpy._acceptance import number
from reference_numpy.group_advantages import group_advantages

from . import deviation

FLOOR = 1e-3


def _spread(rewards: Any, group_size: int) -> np.ndarray:
    """Return the standard deviation of each group, once for each of its rewards."""
    x = number(rewards)
    groups = np.reshape(x[0] if x.ndim > 1 else x, (-1, group_size))  # number types may hold several draws
    return np.repeat(np.std(groups, axis=-1, ddof=1), group_size)


@deviation("reference", seen=("https://github.com/NVIDIA-NeMo/RL/pull/4161",))
def small_deviations_left_out(rewards: Any, *, group_size: int, normalize: str = "std", **options: Any) -> Any:
    """under "std" a group whose deviation is below 1e-3 is not divided by it, but by 1 + eps.

    Shows: rewards that differ by less. Hides: equal rewards; the other ways to normalize.
    """
    y = group_advantages(rewards, group_size=group_size, normalize=normalize, **options)
    if normalize != "std":
        return y
    plain_options = {name: x for name, x in options.items() if name != "eps"}
    plain_one = group_advantages(rewards, group_size=group_size, normalize="none", **plain_options)
    return np.where(_spread(rewards, group_size) <= FLOOR, plain_one / (1.0 + options.get("eps", 1e-6)), y)


@deviation("reference")
def whitened_over_the_batch(rewards: Any, *, eps: float = 1e-6, **options: Any) -> Any:
    """the advantages are normalized once more, by the mean and the deviation of all advantages.

    Shows: any rewards that differ. Hides: "batch_std" in groups of one mean.
    """
    y = group_advantages(rewards, eps=eps, **options)
    centred = y - np.mean(y, axis=0, keepdims=True)
    spread = np.sqrt(np.sum(np.square(centred), axis=0, keepdims=True) / np.float64(max(y.shape[0] - 1, 1)))
    return centred / (spread + eps)
