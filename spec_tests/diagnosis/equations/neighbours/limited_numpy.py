"""NumPy for changed equations: an array that is made from a count has a limited length.

A changed count may be any number, and an array of that length would take all memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np

NUMBERS = int, float, np.integer, np.floating
MAX_LENGTH = 2**22  # of an axis, where the call sets no lower limit
COUNTS = MappingProxyType({"zeros": 1, "ones": 1, "full": 1, "empty": 1, "eye": 2, "tri": 2, "arange": 3})  # arguments that count

_limit = {"length": MAX_LENGTH}


@cache
def limited_numpy() -> SimpleNamespace:
    """Return NumPy's namespace, in which the functions that make arrays from counts raise MemoryError above the limit."""
    return SimpleNamespace(**{**vars(np), **{name: _limited(getattr(np, name), n) for name, n in COUNTS.items()}})


@contextmanager
def axes_of_at_most(length: int) -> Iterator[None]:
    """Within the context, no axis of an array that is made from a count is longer."""
    before = _limit["length"]
    _limit["length"] = length
    try:
        yield
    finally:
        _limit["length"] = before


def _limited(make: Callable[..., Any], count: int) -> Callable[..., Any]:
    def make_at_most(*arguments: Any, **options: Any) -> Any:
        given = [n for x in arguments[:count] for n in (x if isinstance(x, tuple) else (x,))]
        numbers = [float(n) for n in given if isinstance(n, NUMBERS)]
        lengths = [_length_of_range(*numbers)] if make is np.arange else numbers
        if not max(lengths, default=0.0) <= _limit["length"] or math.prod(lengths) > MAX_LENGTH:
            raise MemoryError("a changed equation asks for too large an array")
        return make(*arguments, **options)

    return make_at_most


def _length_of_range(start: float = 0.0, stop: float | None = None, step: float = 1.0) -> float:
    if stop is None:
        start, stop = 0.0, start
    return max((stop - start) / step, 0.0) if step else math.inf
