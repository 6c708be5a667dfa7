"""What the laws of gated_activation and of its gradient share: the two halves, how they are packed, and plain options."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..calls.violation import NotImplementedVariant
from ..inputs.draw import Draw
from ..operations.gated_activation import draw_options


def draw_halves(draw: Draw) -> tuple[np.ndarray, np.ndarray]:
    """Draw the half that gates and the half that is gated, moderate enough for their products."""
    (h,) = draw.dims(h=257)
    shape = (*draw.batch(), h)
    return draw.normal(shape, draw.one_of((1.0, 4.0, 9.0))), draw.normal(shape, 3.0)


def pack(g: Any, u: Any, options: dict[str, Any]) -> np.ndarray:
    """Return the packed array with these halves."""
    first, second = (g, u) if options.get("gate", "first") == "first" else (u, g)
    if options.get("layout", "concatenated") == "concatenated":
        return np.concatenate([first, second], axis=-1)
    return np.stack([first, second], axis=-1).reshape(*first.shape[:-1], 2 * first.shape[-1])


def draw_plain_options(draw: Draw, **changed: Any) -> dict[str, Any]:
    """Draw the options without a limit and without an offset. Skip the law if the domain has no such options."""
    options = draw_options(draw) | {"limit": None, "offset": 0.0} | changed
    return {name: value for name, value in options.items() if draw.operation.accepts(name) or name in draw.operation.domain}


def require(draw: Draw, *keywords: str) -> None:
    """Skip the law unless the function takes the keywords."""
    for name in keywords:
        if not draw.operation.accepts(name):
            raise NotImplementedVariant(f"the function takes no {name}", "signature")
