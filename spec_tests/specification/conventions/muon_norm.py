"""Whether Newton-Schulz adds its eps to the norm of the matrix, or takes it as a floor of the norm."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._convention import Convention, Equation, Value
from ._in_parts import change_part


def _has_norm(named: dict[str, Any], settled: dict[str, str]) -> bool:
    return True


def _floor(normalize: Equation) -> Equation:
    """Return the normalization by the norm, or by eps where the norm is less."""

    def floored(x: Any, eps: Any) -> Any:
        norm = np.sqrt(np.sum(np.sum(np.square(x), axis=-1, keepdims=True), axis=-2, keepdims=True))
        return x / np.maximum(norm.rounded() if hasattr(norm, "rounded") else norm, eps)

    return floored


CONVENTION = Convention(
    "muon_norm",
    "where the eps of the normalization before Newton-Schulz stands",
    ("muon_step", "newton_schulz"),
    {
        "plus": Value("beside the norm: x / (‖x‖ + eps)", lambda equation: equation),
        "floor": Value("as a floor of the norm: x / max(‖x‖, eps)", change_part("newton_schulz", "of_unit_norm", _floor)),
    },
    _has_norm,
    is_closed=True,
)
