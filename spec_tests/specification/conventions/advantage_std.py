"""What the deviation of rewards divides by."""

from __future__ import annotations

import math
from functools import wraps
from typing import Any

from ._convention import Convention, Equation, Value


def _divides_by_a_deviation(named: dict[str, Any], settled: dict[str, str]) -> bool:
    return named.get("normalize", "std") != "none"


def _divide_by_all(equation: Equation) -> Equation:
    """Return the equation with the divisor n of the variance: c / (k s + eps) = c / (s + eps / k) / k, with k² = (n − 1) / n."""

    @wraps(equation)
    def biased(rewards: Any, *, group_size: int, normalize: str = "std", eps: Any = 1e-6, **options: Any) -> Any:
        if normalize == "none":
            return equation(rewards, group_size=group_size, normalize=normalize, eps=eps, **options)
        n = group_size if normalize == "std" else max(rewards.shape[0], 2)
        k = math.sqrt((n - 1) / n)
        return equation(rewards, group_size=group_size, normalize=normalize, eps=eps / k, **options) / k

    return biased


CONVENTION = Convention(
    "advantage_std",
    "what the variance of rewards is divided by",
    ("group_advantages",),
    {
        "unbiased": Value("n − 1, as torch.std", lambda equation: equation),
        "biased": Value("n, as numpy.std", _divide_by_all),
    },
    _divides_by_a_deviation,
    is_closed=True,
)
