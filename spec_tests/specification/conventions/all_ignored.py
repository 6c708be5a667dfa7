"""The mean of a loss whose rows are all ignored, or that has no rows; and that of a policy's loss of which no token counts."""

from __future__ import annotations

from functools import wraps
from typing import Any

import numpy as np

from ._convention import Convention, Equation, Value


def _averages_no_row(named: dict[str, Any], settled: dict[str, str]) -> bool:
    targets = named.get("targets")
    if targets is None or np.asarray(targets).dtype.kind == "f":
        return False  # divergence, of which every row counts
    is_ignored = np.asarray(targets) == named.get("ignore_index", -100)
    return named.get("reduction", "mean") == "mean" and bool(np.all(is_ignored))


def _fill_empty_mean(equation: Equation) -> Equation:
    """Return the equation with 0 in place of NaN where the mean is of no row."""

    @wraps(equation)
    def filled(*arguments: Any, **options: Any) -> Any:
        y = equation(*arguments, **options)
        return (
            np.where(np.isnan(np.asarray(getattr(y, "value", y))), 0.0, y)
            if _averages_no_row({"targets": arguments[-1], **options}, {})
            else y
        )

    return filled


def _averages_no_token(named: dict[str, Any], settled: dict[str, str]) -> bool:
    """Whether the divisor of policy_loss is 0."""
    mask, reduction = np.asarray(named["mask"]), named.get("reduction", "token-mean")
    if reduction == "none" or mask.any():
        return False
    return reduction == "token-mean" or not len(mask) or settled.get("empty_sequences") == "excluded"


def _fill_mean_of_no_token(equation: Equation) -> Equation:
    """Return the loss of a policy with 0 in place of NaN, which it is where its divisor is 0."""

    @wraps(equation)
    def filled(log_probs: Any, advantages: Any, mask: Any, *others: Any, **options: Any) -> Any:
        y = equation(log_probs, advantages, mask, *others, **options)
        return y if np.any(mask) else np.where(np.isnan(np.asarray(getattr(y, "value", y))), 0.0, y)

    return filled


def _is_asked(named: dict[str, Any], settled: dict[str, str]) -> bool:
    return (_averages_no_token if "advantages" in named else _averages_no_row)(named, settled)


CONVENTION = Convention(
    "all_ignored",
    "the mean of a loss whose rows are all ignored, or that has no rows",
    ("cross_entropy", "divergence", "linear_cross_entropy", "policy_loss"),
    {
        "nan": Value("NaN, which is 0 / 0", lambda equation: equation),
        "zero": Value("0", _fill_empty_mean, elsewhere={"policy_loss": _fill_mean_of_no_token}),
    },
    _is_asked,
    is_closed=True,
    in_pytorch="nan",
)
