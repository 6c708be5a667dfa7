"""ln(1 + e^x), as gates of decays have it."""

from typing import Any

import numpy as np

from ._marks import either, logistic

STRAIGHT = 20.0  # from where on kernels return the argument itself


def softplus(x: Any) -> Any:
    """Return ln(1 + e^x) = max(x, 0) - ln σ(|x|). Nothing overflows, and the slope is σ(x) everywhere.

    Kernels also compute it as it is printed, up to an argument of 20, whose error is that of the exponential.
    """
    value = np.asarray(getattr(x, "value", x))
    above, straight = value > 0, value > STRAIGHT
    y = np.where(above, x, 0.0) - np.log(logistic(np.where(above, x, -x)))
    printed = np.log(1 + np.exp(np.where(straight, 0.0, x)))
    return either(y, np.where(straight, x, printed))
