"""Whether a global scale multiplies the scales of the blocks, or divides them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._convention import Convention, Equation, Value
from ._in_parts import change_part

NAMES = ("global_scale", "global_scale_a", "global_scale_b")


def _has_global_scale(named: dict[str, Any], settled: dict[str, str]) -> bool:
    given = [g for name in NAMES if (g := named.get(name)) is not None]
    return any(np.any(np.asarray(getattr(g, "value", g)) != 1) for g in given)


def _divide(quotient: Equation) -> Equation:
    """Return the quotient whose second divisor is given by its reciprocal."""

    def divided(x: Any, *divisors: Any, roundings: int) -> Any:
        scale, *others = divisors
        return quotient(x, scale, *(1 / np.asarray(getattr(g, "value", g)) for g in others), roundings=roundings)

    return divided


def _divide_product(product: Equation) -> Equation:
    """Return the product whose second factor is given by its reciprocal, which may be rounded."""

    def divided(x: Any, *factors: Any, roundings: int) -> Any:
        scale, *others = factors
        reciprocals = [1 / np.asarray(getattr(g, "value", g)) for g in others]
        return product(x, scale, *reciprocals, roundings=roundings + len(others))

    return divided


def _invert(two_levels: Equation) -> Equation:
    """Return the reciprocals of the factors. A factor of 1 beside each stands for the rounding of the reciprocal."""

    def inverted(*global_scales: Any) -> Any:
        return [x for g in two_levels(*global_scales) for x in (1 / np.asarray(getattr(g, "value", g)), np.ones(()))]

    return inverted


CONVENTION = Convention(
    "global_scale",
    "whether the global scale multiplies the scales, or its reciprocal does",
    ("quantize", "dequantize", "dynamic_quantize", "scaled_matmul"),
    {
        "multiplier": Value("it multiplies them: x / (scale · global_scale)", lambda equation: equation),
        "divisor": Value(
            "its reciprocal does: x · global_scale / scale",
            change_part("quantize", "quotient", _divide),
            elsewhere={
                "dequantize": change_part("dequantize", "product", _divide_product),
                "dynamic_quantize": change_part("dynamic_quantize", "quotient", _divide),
                "scaled_matmul": change_part("scaled_matmul", "two_levels", _invert),
            },
        ),
    },
    _has_global_scale,
    is_closed=True,
    decides_every_call=True,
)
