"""Other scales for a cache of few bits."""

from collections.abc import Callable
from typing import Any

import numpy as np

SCALES = ("k_scale", "v_scale")


def change_scales(options: dict[str, Any], change: Callable[[Any, Any], tuple[Any, Any]]) -> dict[str, Any]:
    """Return the keywords with other scales, which are made of those of keys and values. None stands for 1."""
    k_scale, v_scale = change(*(options.get(name) for name in SCALES))
    return {**options, "k_scale": k_scale, "v_scale": v_scale}


def each(change: Callable[[Any], Any]) -> Callable[[Any, Any], tuple[Any, Any]]:
    """Return the change that makes each scale that is given another one."""
    return lambda *scales: tuple(scale if scale is None else change(scale) for scale in scales)


def of_head(step: int) -> Callable[[Any, Any], tuple[Any, Any]]:
    """Return the change that gives each head the scale of the first, or, with a step of 1, that of the next."""

    def move(scale: Any) -> Any:
        heads = np.arange(scale.shape[0] if scale.ndim == 1 else 0)
        return scale[(heads + 1) % len(heads) if step else 0 * heads] if len(heads) else scale

    return each(move)
