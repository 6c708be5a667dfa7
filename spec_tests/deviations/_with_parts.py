"""dynamic_quantize with other parts in place of those that it is made of."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from reference_numpy._marks import number
from reference_numpy._narrow import spread
from reference_numpy.dynamic_quantize import dynamic_quantize


def with_parts(arrays: tuple[Any, ...], options: dict[str, Any], **parts: Callable[..., Any]) -> Any:
    """Return what dynamic_quantize gives if it calls these functions in place of those of their names."""
    namespace = vars(importlib.import_module("reference_numpy.dynamic_quantize"))
    kept = {name: namespace[name] for name in parts}
    namespace.update(parts)
    try:
        return dynamic_quantize(*arrays, **options)
    finally:
        namespace.update(kept)


def change_numbers(results: Any, where: Any, value: Any, block: Any) -> Any:
    """Return the results with other numbers in these blocks."""
    q, *others = results
    return np.where(spread(where, block, q.shape), value, q), *others


def is_zero(scale: Any) -> Any:
    """Whether a scale is 0, as that of a block of zeros."""
    return number(scale) == 0
