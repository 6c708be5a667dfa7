"""Other scales for a cache of few bits."""

from collections.abc import Callable
from typing import Any

import numpy as np

from reference_numpy._marks import number
from spec_tests.specification.narrow_formats import NARROW_FORMATS

SCALES = ("k_scale", "v_scale")


def read_as(x: Any, held: str, read: str) -> Any:
    """Return the numbers of a cache, of any number type, if the codes of one format are read as those of another."""
    numbers = np.reshape(number(x), (-1, *x.shape))[0]  # a sample has them several times
    y = np.nan_to_num(NARROW_FORMATS[read].decode(NARROW_FORMATS[held].encode(numbers)))
    return x.constant(y) if hasattr(x, "constant") else y


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
