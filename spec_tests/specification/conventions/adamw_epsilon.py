"""Whether AdamW adds eps to the corrected root of the second moment, or to the root that is corrected afterwards."""

from __future__ import annotations

from functools import wraps
from typing import Any

import numpy as np

from ._convention import Convention, Equation, Value
from ._in_parts import change_part


def _updates_parameter(named: dict[str, Any], settled: dict[str, str]) -> bool:
    return bool(named["learning_rate"])


def _add_epsilon_first(equation: Equation) -> Equation:
    """Return the equation with eps added to the root before it is corrected: an eps of eps / √(1 − β₂^t)."""

    @wraps(equation)
    def uncorrected(*arrays: Any, step: int, beta2: Any = 0.999, eps: Any = 1e-8, **options: Any) -> Any:
        number = float(getattr(eps, "value", eps)) / np.sqrt(1 - float(getattr(beta2, "value", beta2)) ** step)
        return equation(*arrays, step=step, beta2=beta2, eps=number, **options)

    return uncorrected


CONVENTION = Convention(
    "adamw_epsilon",
    "whether eps is added to the root before or after the correction of the second moment",
    ("adamw_step", "adamw_steps"),
    {
        "corrected": Value("added to √(v / (1 − β₂^t))", lambda equation: equation),
        "uncorrected": Value(
            "added to √v, which is corrected afterwards",
            _add_epsilon_first,
            elsewhere={"adamw_steps": change_part("adamw_steps", "adamw_step", _add_epsilon_first)},
        ),
    },
    _updates_parameter,
    is_closed=True,
    in_pytorch="corrected",
)
