from typing import Any

import numpy as np

from ._marks import float64


def group_advantages(rewards: Any, *, group_size: int, normalize: str = "std", baseline: str = "mean", eps: float = 1e-6) -> Any:
    """Advantages of answers: their rewards beside those of the other answers to the same question.

        c_i = r_i - mean of the group                       (baseline "mean")
        c_i = r_i - mean of the group's other rewards       (baseline "leave-one-out"), which is G / (G - 1) of the above
        a_i = c_i / (std + eps)

    A group is group_size = G rewards that follow one another. std is that of the group (normalize "std") or of all rewards
    ("batch_std"), with the divisor n - 1; with normalize "none", a = c.

    Shapes
        rewards (n)  ->  (n)
    Dtypes
        as the arguments
    Domain
        rewards finite; group_size >= 2, and n a multiple of it; eps > 0.
    Edges
        Equal rewards in a group give 0, up to the rounding of their mean divided by eps. A group's advantages have the sum 0.

    Raises
        ValueError where group_size is below 2 or does not divide n, or where normalize or baseline is unknown.
    Choices
        The deviation divides by n - 1, as torch.std does; NumPy's divides by n: the convention advantage_std. eps is added to the
        deviation, and not to the variance. A single reward has no deviation, so group_size is at least 2.
    Source
        Shao et al. 2024, arXiv:2402.03300, section 4.1.2 (GRPO). Liu et al. 2025, arXiv:2503.20783 ("none"). Ahmadian et al.
        2024, arXiv:2402.14740 ("leave-one-out"). CS336 assignment 5, run_compute_group_normalized_rewards.

    Two groups of two, with a deviation of sqrt(2) / 2 in the first:

    >>> group_advantages([0.0, 1.0, 3.0, 3.0], group_size=2).round(4)
    array([-0.7071,  0.7071,  0.    ,  0.    ])
    >>> group_advantages([0.0, 1.0, 3.0, 3.0], group_size=2, normalize="none", baseline="leave-one-out")
    array([-1.,  1.,  0.,  0.])
    """
    if normalize not in ("std", "batch_std", "none"):
        raise ValueError(f"group_advantages: normalize={normalize!r} is unknown; there are 'std', 'batch_std' and 'none'.")
    if baseline not in ("mean", "leave-one-out"):
        raise ValueError(f"group_advantages: baseline={baseline!r} is unknown; there are 'mean' and 'leave-one-out'.")
    r = float64(rewards)
    n = r.shape[0]
    if group_size < 2 or n % group_size:
        raise ValueError(
            f"group_advantages: {n} rewards are no groups of {group_size}, of which there must be two or more in each."
        )
    groups = np.reshape(r, (n // group_size, group_size))
    mean = np.mean(groups, axis=-1, keepdims=True)
    if baseline == "leave-one-out":
        stretch = np.float64(group_size / (group_size - 1))
        c = groups * stretch - mean * stretch
    else:
        c = groups - mean
    if normalize == "std":
        c = c / (_deviation(groups, mean) + eps)
    elif normalize == "batch_std":
        row = np.reshape(r, (1, n))
        c = c / (_deviation(row, np.mean(row, axis=-1, keepdims=True)) + eps)
    return np.reshape(c, (n,))


def _deviation(x: Any, mean: Any) -> Any:
    """Return the standard deviation of each row, with the divisor n - 1."""
    return np.sqrt(np.sum(np.square(x - mean), axis=-1, keepdims=True) / np.float64(max(x.shape[-1] - 1, 1)))
