"""flashinfer-bench's rule: an element is wrong if both its absolute and its relative error are too large.

The problems are those of `kernelbench.py`, in bfloat16. An answer that is not finite fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from ml_dtypes import bfloat16

from spec_tests.specification.pytree import tree_map

from . import Judge, kernelbench, rules
from . import cases as fixed
from .cases import Case, call_oracle

TITLE = "flashinfer-bench's rule"
START = "import torch"
Compare = Callable[[Any], Callable[[Any], None]]


def build_judge() -> Judge:
    return fixed.build_judge(cases(rules.FLASHINFER_BENCH_TRIALS, compare_both))


def cases(trials: int, compare: Compare) -> Iterator[Case]:
    """Yield the problems in bfloat16. The expected values are those of the equation on the very same inputs."""
    for trial in range(trials):
        problems = kernelbench.draw_problems(np.random.default_rng(trial))
        for operation, (arguments, keywords) in problems.items():
            stored = tree_map(_store, arguments)
            wide = tree_map(_widen, stored)
            yield Case(operation, stored, keywords, compare(call_oracle(operation, *wide, **keywords)))


def _store(x: Any) -> Any:
    return x.astype(bfloat16) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x


def _widen(x: Any) -> Any:
    return x.astype(np.float64) if isinstance(x, np.ndarray) and x.dtype == bfloat16 else x


def compare_both(expected: Any) -> Callable[[Any], None]:
    """Return the comparison in which an element must exceed both tolerances to be wrong."""
    y = np.asarray(expected, dtype=np.float64)
    tolerance = rules.FLASHINFER_BENCH

    def compare(answer: Any) -> None:
        x = np.asarray(answer).astype(np.float64)
        error = np.abs(x - y)
        exceeds = (error > tolerance["atol"]) & (error > tolerance["rtol"] * np.abs(y))
        assert x.shape == y.shape
        assert np.all(np.isfinite(x))
        assert not np.any(exceeds)

    return compare
