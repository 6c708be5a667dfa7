"""The numbers and values that conditions are about: which are numbers, and how they are said."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np


def is_number(value: Any) -> bool:
    """Whether a value is a number. True and False are none."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool | np.bool_)


def is_integer(value: Any) -> bool:
    return is_number(value) and isinstance(value, int | np.integer)


def join(values: Sequence[Any]) -> str:
    """Return values as a sentence lists them: "72 or 104"."""
    shown = [f"{value:.6g}" if isinstance(value, float) else str(value) for value in values]
    return " or ".join(shown) if len(shown) < 3 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def simplest_between(low: float, high: float) -> float:
    """Return the number with the fewest decimal digits that is at least `low` and below `high`."""
    if not (math.isfinite(low) and math.isfinite(high)) or low >= high:
        return low
    if low < 0 <= high:
        return 0.0 if high > 0 else low
    top = max(abs(low), abs(high))
    for exponent in range(min(math.floor(math.log10(top)) + 1, sys.float_info.max_10_exp), -330, -1):
        step = 10.0**exponent if exponent > -300 else math.ldexp(1.0, -1074)
        candidate = math.ceil(low / step) * step if step else low
        candidate = float(f"{candidate:.{max(1, math.floor(math.log10(top)) - exponent + 2)}g}") if candidate else 0.0
        if low <= candidate < high:
            return candidate
        if exponent < math.floor(math.log10(top)) - 16:
            break
    return low
