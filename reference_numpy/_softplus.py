"""ln(1 + e^x), as gates of decays have it."""

from typing import Any

import numpy as np

from ._marks import logistic


def softplus(x: Any) -> Any:
    """Return ln(1 + e^x) = max(x, 0) - ln σ(|x|). Nothing overflows, and the slope is σ(x) everywhere."""
    above = np.asarray(getattr(x, "value", x) > 0, dtype=bool)
    return np.where(above, x, 0.0) - np.log(logistic(np.where(above, x, -x)))
