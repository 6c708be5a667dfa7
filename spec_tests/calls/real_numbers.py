"""The real numbers in the arguments of a call: wrapped in a number type, or without the errors that they carry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..bounds.bounded import Bounded
from ..specification.pytree import tree_map


def wrap_numbers(name: str, value: Any, wrap: Callable[[Any], Any]) -> Any:
    """Wrap the real numbers of an argument: floating ones, and positions, which are integers that the equation multiplies.

    An eps may be kept in float32, whatever the dtype: that rounding is admitted. Arrays of integers and truth values are copied,
    since a changed equation may write into them.
    """

    def wrap_leaf(x: Any) -> Any:
        if name == "eps" and isinstance(x, float):
            number = wrap(x)
            return number.or_in_float32() if hasattr(number, "or_in_float32") else number
        if isinstance(x, Bounded | float | np.floating):
            return wrap(x)
        if isinstance(x, np.ndarray) and (x.dtype.kind == "f" or name == "positions"):
            return wrap(x.astype(np.float64))
        return x.copy() if isinstance(x, np.ndarray) else x

    return tree_map(wrap_leaf, value)


def drop_errors(tree: Any) -> Any:
    """Return the arguments without the errors that they carry."""
    return tree_map(lambda x: x.value if isinstance(x, Bounded) else x, tree)
