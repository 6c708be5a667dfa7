"""The sizes of the steps in time of state space models."""

from typing import Any

import numpy as np

from ._marks import double, float64
from ._softplus import softplus

Limits = tuple[float, float]
UNLIMITED = (0.0, np.inf)


def step_sizes(dt: Any, dt_bias: Any, dt_softplus: bool, dt_limit: Limits) -> Any:
    """Return min(max(softplus(dt + dt_bias), lowest), highest); without dt_softplus the argument of softplus is its result.

    A limit beyond which nothing lies is left out: 0 below softplus, and infinity.
    """
    y = float64(dt)
    if dt_bias is not None:
        y = y + np.reshape(float64(dt_bias), (-1, 1))
    lowest, highest = dt_limit
    if dt_softplus:
        y = softplus(y)
    if not (dt_softplus and double(lowest) <= 0):
        y = np.maximum(y, lowest)
    return y if double(highest) == np.inf else np.minimum(y, highest)
