"""Whether the decay of AdamW multiplies the old or the new parameter."""

from __future__ import annotations

from functools import wraps
from typing import Any

from ._convention import Convention, Equation, Value
from ._in_parts import change_part


def _decays_parameter(named: dict[str, Any], settled: dict[str, str]) -> bool:
    return bool(named["learning_rate"]) and bool(named["weight_decay"])


def _decay_last(equation: Equation) -> Equation:
    """Return the equation with the decay multiplied into the new parameter."""

    @wraps(equation)
    def decayed(*arrays: Any, learning_rate: Any = 1e-3, weight_decay: Any = 0.01, **options: Any) -> Any:
        rate, decay = (float(getattr(x, "value", x)) for x in (learning_rate, weight_decay))
        parameter, *moments = equation(*arrays, learning_rate=learning_rate, weight_decay=0.0, **options)
        return (parameter * (1 - rate * decay), *moments)

    return decayed


CONVENTION = Convention(
    "adamw_decay",
    "whether the decay multiplies the old or the new parameter",
    ("adamw_step", "adamw_steps"),
    {
        "before": Value("p (1 − a d) less the update", lambda equation: equation),
        "after": Value(
            "(p less the update) (1 − a d)",
            _decay_last,
            elsewhere={"adamw_steps": change_part("adamw_steps", "adamw_step", _decay_last)},
        ),
    },
    _decays_parameter,
    is_closed=True,
    in_pytorch="before",
)
