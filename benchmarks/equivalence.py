"""Find the mutants that change nothing.

A mutant counts as equivalent if it returns exactly the bits of the original code on many calls in every dtype. Half of the calls
have the suite's own numbers, the other half numbers that the suite does not draw.
"""

from __future__ import annotations

import warnings
import zlib
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from meta_tests.support.random_draw import RandomDraw
from spec_tests.calls.gradient import Gradient
from spec_tests.calls.operation import Operation
from spec_tests.specification.pytree import leaves, tree_map
from spec_tests.specification.registry import specification

from .wrong_implementations import WrongImplementation, build_correct_backend

CALLS_PER_DTYPE = 150  # with the suite's numbers; as many again with other numbers in the arrays


@dataclass(frozen=True)
class Difference:
    """A call on which a wrong implementation differs from the correct code."""

    operation: str
    dtype: str
    share: float  # largest difference divided by the largest number of the result; infinite if they cannot be compared


def find_difference(wrong: WrongImplementation) -> Difference | None:
    """Return the first difference that is larger than 2**-20, else the largest difference found, or None."""
    backend, found = wrong.backend(), None
    for name in wrong.operations:
        function = backend.function(name)
        for dtype in _tested_dtypes(name, backend.dtypes):
            for (positional, keywords), expected in _draw_calls(wrong.origin, name, dtype):
                share = _measure_distance(_call(function, *_copy(positional, keywords)), expected)
                if share and (found is None or share > found.share):
                    found = Difference(name, dtype, share)
                if found and found.share > 2.0**-20:
                    return found  # too large for a difference in rounding
    return found


def _tested_dtypes(name: str, offered: tuple[str, ...]) -> tuple[str, ...]:
    return (fixed,) if (fixed := specification(name).dtype) else offered


@cache
def _draw_calls(origin: str, name: str, dtype: str) -> list[tuple[Any, Any]]:
    """Return native arguments with the correct code's answers; calls on which it raises are left out."""
    backend, spec = build_correct_backend(origin), specification(name)
    operation = (Gradient if spec.is_gradient else Operation)(spec, backend, dtype, "eager")
    calls = []
    for example in range(2 * CALLS_PER_DTYPE):
        seed = zlib.crc32(f"{name} {dtype} {example}".encode())
        call = RandomDraw(operation, seed).call(all_arguments=example % 3 == 0)
        if example >= CALLS_PER_DTYPE:
            call = operation.call(*_refill(call.arguments, seed), **_refill(call.keywords, seed))
        native = operation.native(call)
        answer = _call(operation.function, *_copy(*native))
        if not isinstance(answer, Exception):
            calls.append((native, answer))
    return calls


def _refill(tree: Any, seed: int) -> Any:
    """Replace the numbers of all arrays: rows of many magnitudes; some hold integers, some many zeros, some are sorted."""
    rng = np.random.default_rng(seed)

    def replace(x: Any) -> Any:
        if not isinstance(x, np.ndarray) or x.dtype.kind != "f":
            return x
        y = rng.standard_normal(x.shape) * 10.0 ** rng.uniform(-4, 4, (*x.shape[:-1], 1) if x.ndim else ())
        kind = rng.integers(4)
        y = np.rint(y) if kind == 0 else np.where(rng.random(x.shape) < 0.5, 0.0, y) if kind == 1 else y
        return np.sort(y, axis=-1) if kind == 2 and y.ndim else y

    return tree_map(replace, tree)


def _copy(*trees: Any) -> Any:
    return tree_map(lambda x: x.copy() if isinstance(x, np.ndarray) else x, list(trees))


def _call(function: Any, positional: Any, keywords: Any) -> Any:
    """Return the function's answer, or the exception that it raised."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return function(*positional, **keywords)
    except Exception as error:
        return error


def _measure_distance(answer: Any, expected: Any) -> float:
    """Return the largest distance of any two arrays; infinity after an exception or if the numbers of arrays differ."""
    if isinstance(answer, Exception):
        return np.inf
    pairs = list(zip(leaves(answer), leaves(expected), strict=False))
    if len(pairs) != len(list(leaves(expected))) or len(pairs) != len(list(leaves(answer))):
        return np.inf
    return max((_measure_array_distance(y, z) for (_, y), (_, z) in pairs), default=0.0)


def _measure_array_distance(y: Any, z: Any) -> float:
    """Return the largest difference divided by the largest number of z; infinity if shape or dtype or NaNs differ."""
    y, z = np.asarray(y), np.asarray(z)
    if y.shape != z.shape or y.dtype != z.dtype:
        return np.inf
    y, z = y.astype(np.float64), z.astype(np.float64)
    if np.array_equal(y, z, equal_nan=True):
        return 0.0
    with np.errstate(all="ignore"):
        share = np.max(np.where(y == z, 0.0, np.abs(y - z))) / np.max(np.abs(z))
    return float(share) if np.isfinite(share) and share else np.inf
