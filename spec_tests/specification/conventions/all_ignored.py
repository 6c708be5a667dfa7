"""The mean of a loss whose rows are all ignored, or that has no rows."""

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


CONVENTION = Convention(
    "all_ignored",
    "the mean of a loss whose rows are all ignored, or that has no rows",
    ("cross_entropy", "divergence", "linear_cross_entropy"),
    {"nan": Value("NaN, which is 0 / 0", lambda equation: equation), "zero": Value("0", _fill_empty_mean)},
    _averages_no_row,
    is_closed=True,
    in_pytorch="nan",
)
