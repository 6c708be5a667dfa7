"""Whether Newton-Schulz is computed in the dtype of its argument, or in bfloat16 whatever that is."""

from __future__ import annotations

from functools import wraps
from typing import Any

from ..formats import Arithmetic
from ._convention import Convention, Equation, Value
from ._in_parts import change_part

NARROW = "bfloat16"


def _decides(named: dict[str, Any], settled: dict[str, str]) -> bool:
    return True


def _in_bfloat16(newton_schulz: Equation) -> Equation:
    """Return the iteration that rounds x and its result to bfloat16, and may round each step: published code is not fused."""

    @wraps(newton_schulz)
    def narrow(x: Any, **options: Any) -> Any:
        if not hasattr(x, "computed_in"):
            return newton_schulz(x, **options)
        y = newton_schulz(x.computed_in(Arithmetic.of(NARROW, "eager")).rounded(), **options)
        return y.rounded().computed_in(x.arithmetic)

    return narrow


CONVENTION = Convention(
    "muon_compute",
    "in which dtype Newton-Schulz is computed",
    ("muon_step", "newton_schulz"),
    {
        "argument": Value("in the dtype of its argument, or wider", lambda equation: equation),
        NARROW: Value(
            "in bfloat16, to which x, its norm and every product are rounded",
            _in_bfloat16,
            elsewhere={"muon_step": change_part("muon_step", "newton_schulz", _in_bfloat16)},
            computes_in=NARROW,
            returned_by=("newton_schulz",),
        ),
    },
    _decides,
    is_closed=True,
)
