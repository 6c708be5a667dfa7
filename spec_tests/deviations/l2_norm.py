"""What goes wrong with l2_norm: another statistic, another epsilon."""

from typing import Any

import numpy as np

from reference_numpy._recurrence import L2_EPS
from reference_numpy.l2_norm import l2_norm

from . import deviation
from ._steps import mean_square


def _squares(x: Any) -> Any:
    return np.sum(np.square(x), axis=-1, keepdims=True)


@deviation("reference", "unit_length", "eps_as_given")
def mean_in_place_of_the_sum(x: Any, *, eps: float = L2_EPS) -> Any:
    """the squares are averaged, as in rms_norm: the result has the length √d.

    Shows: two features and more. Hides: d = 1.
    """
    return x / np.sqrt(mean_square(x) + eps)


@deviation("reference", "unit_length", "scale_invariance", "scale_with_eps")
def root_left_out(x: Any, *, eps: float = L2_EPS) -> Any:
    """the root is left out: x / (sum(x²) + eps).

    Shows: rows whose length is not 1. Hides: rows of length 1.
    """
    return x / (_squares(x) + eps)


@deviation("reference", "unit_length")
def sum_of_magnitudes(x: Any, *, eps: float = L2_EPS) -> Any:
    """the length is the sum of magnitudes: the l1 norm.

    Shows: two features and more. Hides: d = 1, and rows with one entry other than 0.
    """
    return x / (np.sum(np.abs(x), axis=-1, keepdims=True) + np.sqrt(eps))


@deviation("reference", "direction")
def divided_by_its_own_magnitude(x: Any, *, eps: float = L2_EPS) -> Any:
    """each feature is divided by its own magnitude: no sum is taken.

    Shows: two features and more. Hides: d = 1.
    """
    return x / np.sqrt(np.square(x) + eps)


@deviation("reference", "unit_length")
def centred(x: Any, *, eps: float = L2_EPS) -> Any:
    """the mean is subtracted before the length is taken.

    Shows: rows whose mean is not 0. Hides: centred rows.
    """
    return x / np.sqrt(_squares(x - np.mean(x, axis=-1, keepdims=True)) + eps)


@deviation("reference", "eps_as_given", "zeros")
def eps_ignored(x: Any, *, eps: float = L2_EPS) -> Any:
    """epsilon is ignored: x / sqrt(sum(x²)).

    Shows: a row of zeros (NaN), short rows. Hides: ordinary rows.
    """
    return x / np.sqrt(_squares(x))


@deviation("reference", "eps_as_given", seen=("https://github.com/NVIDIA/cutlass/pull/1112",))
def eps_hardcoded(x: Any, *, eps: float = L2_EPS) -> Any:
    """epsilon is 1e-6, whatever is given.

    Shows: another eps on short rows, or an eps of 0.1 on any row. Hides: eps = 1e-6.
    """
    return l2_norm(x)


@deviation("reference", "eps_as_given", "l2_epsilon")
def eps_as_floor_of_the_squares(x: Any, *, eps: float = L2_EPS) -> Any:
    """epsilon is a floor of the sum of squares: x / sqrt(max(sum(x²), eps)).

    Shows: rows whose length is near sqrt(eps), or a large eps. Hides: rows far above it or far below it.
    """
    return x / np.sqrt(np.maximum(_squares(x), eps))


@deviation("reference", "eps_as_given", "scale_with_eps", "l2_epsilon")
def eps_squared(x: Any, *, eps: float = L2_EPS) -> Any:
    """epsilon is squared: x / sqrt(sum(x²) + eps²).

    Shows: rows whose length is near eps or its root. Hides: longer rows.
    """
    return l2_norm(x, eps=eps * eps)


@deviation("reference", "eps_as_given", "l2_epsilon")
def eps_times_the_size(x: Any, *, eps: float = L2_EPS) -> Any:
    """epsilon counts once for each feature, as where rms_norm is divided by √d.

    Shows: short rows of two features and more. Hides: ordinary rows, and d = 1.
    """
    return l2_norm(x, eps=eps * x.shape[-1])


@deviation("reference", "odd")
def eps_added_to_x(x: Any, *, eps: float = L2_EPS) -> Any:
    """epsilon is added to x before it is squared.

    Shows: short rows, a large eps. Hides: ordinary rows and a small eps.
    """
    return x / np.sqrt(_squares(x + eps) + eps)


@deviation("reference", "permutation", "unit_length")
def first_features_alone(x: Any, *, eps: float = L2_EPS) -> Any:
    """the squares of the first half of the features are added up alone.

    Shows: two features and more. Hides: d = 1.
    """
    return x / np.sqrt(_squares(x[..., : (x.shape[-1] + 1) // 2]) + eps)
