"""What the loss of preferences and its gradient share."""

from typing import Any

import numpy as np

from ._marks import float64


def margin(policy_chosen: Any, policy_rejected: Any, reference_chosen: Any, reference_rejected: Any) -> Any:
    """Return by how much more the policy prefers the chosen answer than the reference does. Code groups the sum in any way."""
    terms = [float64(policy_chosen), -float64(policy_rejected), -float64(reference_chosen), float64(reference_rejected)]
    return np.sum(np.stack(terms, axis=0), axis=0)
