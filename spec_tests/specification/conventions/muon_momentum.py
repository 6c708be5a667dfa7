"""Whether the buffer of Muon is a moving average of gradients, or a sum that decays."""

from __future__ import annotations

from typing import Any

from ._convention import Convention, Equation, Value
from ._in_parts import change_part


def _has_buffer(named: dict[str, Any], settled: dict[str, str]) -> bool:
    return True


def _sum(average: Equation) -> Equation:
    """Return the momentum to which the gradient is added as it is."""

    def summed(m: Any, g: Any, mu: float, *, nesterov: bool) -> tuple[Any, Any]:
        total = mu * m + g
        return total, mu * total + g if nesterov else total

    return summed


CONVENTION = Convention(
    "muon_momentum",
    "whether the momentum of Muon is an average or a sum of gradients",
    ("muon_step",),
    {
        "average": Value("an average: μ m + (1 − μ) g", lambda equation: equation),
        "sum": Value("a sum: μ m + g", change_part("muon_step", "momentum_and_direction", _sum)),
    },
    _has_buffer,
    is_closed=True,
)
