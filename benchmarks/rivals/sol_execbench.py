"""SOL-ExecBench's rule: random inputs in bfloat16; |error| <= atol + rtol |expected| in every element, with its defaults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import Judge, flashinfer_bench, rules
from . import cases as fixed

TITLE = "SOL-ExecBench's rule"
START = "import torch"


def build_judge() -> Judge:
    return fixed.build_judge(flashinfer_bench.cases(rules.SOL_EXECBENCH_TRIALS, compare_sum))


def compare_sum(expected: Any) -> Callable[[Any], None]:
    """Return the comparison with the sum of both tolerances. An answer that is not finite fails."""
    y = np.asarray(expected, dtype=np.float64)

    def compare(answer: Any) -> None:
        x = np.asarray(answer).astype(np.float64)
        assert x.shape == y.shape
        assert np.all(np.isfinite(x))
        np.testing.assert_array_less(
            np.abs(x - y), rules.SOL_EXECBENCH["atol"] + rules.SOL_EXECBENCH["rtol"] * np.abs(y) + 1e-300
        )

    return compare
