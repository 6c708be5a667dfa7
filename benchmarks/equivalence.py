"""Which changes change nothing: a mutant is held for equivalent where it gives the very bits of the code it was made of, on all
of many calls in every dtype, of the suite's own draws and of others that it does not draw.
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

from .wrong_implementations import Subject, clean

DRAWN = 150  # calls in each dtype; as many again with other numbers in the arrays


@dataclass(frozen=True)
class Difference:
    """The first call that tells the two apart, and by how much: of the largest number in the result, or infinitely."""

    operation: str
    dtype: str
    share: float


def difference(subject: Subject) -> Difference | None:
    backend, found = subject.backend(), None
    for name in subject.operations:
        function = backend.function(name)
        for dtype in _dtypes(name, backend.dtypes):
            for (positional, keywords), expected in _calls(subject.origin, name, dtype):
                share = _distance(_answer(function, *_copied(positional, keywords)), expected)
                if share and (found is None or share > found.share):
                    found = Difference(name, dtype, share)
                if found and found.share > 2.0**-20:
                    return found  # no rounding
    return found


def _dtypes(name: str, offered: tuple[str, ...]) -> tuple[str, ...]:
    return (fixed,) if (fixed := specification(name).dtype) else offered


@cache
def _calls(origin: str, name: str, dtype: str) -> list[tuple[Any, Any]]:
    """Arguments, and what the correct code answers."""
    backend, spec = clean(origin), specification(name)
    operation = (Gradient if spec.is_gradient else Operation)(spec, backend, dtype, "eager")
    found = []
    for example in range(2 * DRAWN):
        seed = zlib.crc32(f"{name} {dtype} {example}".encode())
        call = RandomDraw(operation, seed).call(all_arguments=example % 3 == 0)
        if example >= DRAWN:
            call = operation.call(*_refilled(call.arguments, seed), **_refilled(call.keywords, seed))
        native = operation.native(call)
        answer = _answer(operation.function, *_copied(*native))
        if not isinstance(answer, Exception):
            found.append((native, answer))
    return found


def _refilled(tree: Any, seed: int) -> Any:
    """Other finite numbers: rows of every magnitude, some of whole numbers, some with zeros, some sorted."""
    rng = np.random.default_rng(seed)

    def other(x: Any) -> Any:
        if not isinstance(x, np.ndarray) or x.dtype.kind != "f":
            return x
        y = rng.standard_normal(x.shape) * 10.0 ** rng.uniform(-4, 4, (*x.shape[:-1], 1) if x.ndim else ())
        kind = rng.integers(4)
        y = np.rint(y) if kind == 0 else np.where(rng.random(x.shape) < 0.5, 0.0, y) if kind == 1 else y
        return np.sort(y, axis=-1) if kind == 2 and y.ndim else y

    return tree_map(other, tree)


def _copied(*trees: Any) -> Any:
    return tree_map(lambda x: x.copy() if isinstance(x, np.ndarray) else x, list(trees))


def _answer(function: Any, positional: Any, keywords: Any) -> Any:
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return function(*positional, **keywords)
    except Exception as error:
        return error


def _distance(answer: Any, expected: Any) -> float:
    if isinstance(answer, Exception):
        return np.inf
    pairs = list(zip(leaves(answer), leaves(expected), strict=False))
    if len(pairs) != len(list(leaves(expected))) or len(pairs) != len(list(leaves(answer))):
        return np.inf
    return max((_apart(y, z) for (_, y), (_, z) in pairs), default=0.0)


def _apart(y: Any, z: Any) -> float:
    y, z = np.asarray(y), np.asarray(z)
    if y.shape != z.shape or y.dtype != z.dtype:
        return np.inf
    y, z = y.astype(np.float64), z.astype(np.float64)
    if np.array_equal(y, z, equal_nan=True):
        return 0.0
    with np.errstate(all="ignore"):
        share = np.max(np.where(y == z, 0.0, np.abs(y - z))) / np.max(np.abs(z))
    return float(share) if np.isfinite(share) and share else np.inf
