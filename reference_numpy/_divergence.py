"""What the divergence of a student from a teacher and its gradient share."""

from typing import Any

import numpy as np

from ._marks import exact, finite_or_zero
from ._tempered import tempered


def logarithms(logits: Any, temperature: float) -> tuple[Any, Any]:
    """Return the rows of softmax(logits / temperature), and their logarithms, with 0 for that of an entry of -inf."""
    z, p, lse = tempered(logits, temperature)
    return p, finite_or_zero(z - lse[:, None])


def mixed(student: Any, teacher: Any, beta: Any) -> Any:
    """Return log(beta e^teacher + (1 - beta) e^student)."""
    a, b = teacher + np.log(beta), student + np.log(1 - beta)
    top = exact(np.maximum(a, b))
    return top + np.log(np.exp(a - top) + np.exp(b - top))


def mean_gap(p: Any, x: Any, y: Any) -> Any:
    """Return the sum of p (x - y) over each row. Code may subtract two sums, of p x and of p y, whose error is admitted, too."""
    apart = np.sum(p * x, axis=-1) - np.sum(p * y, axis=-1)
    return np.sum(p * (x - y), axis=-1) + (apart - exact(apart))
