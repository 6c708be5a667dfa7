"""The momentum of Muon: a moving average of gradients, and the matrix that is orthogonalized."""

from typing import Any


def momentum_and_direction(m: Any, g: Any, mu: float, *, nesterov: bool) -> tuple[Any, Any]:
    """Return the new buffer, and the direction of the step, which looks ahead with nesterov."""
    averaged = mu * m + (1 - mu) * g
    return averaged, mu * averaged + (1 - mu) * g if nesterov else averaged
