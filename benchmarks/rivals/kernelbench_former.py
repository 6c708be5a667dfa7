"""KernelBench's rule as it was before: the same problems, a hundredth."""

from __future__ import annotations

from . import Judging, kernelbench, rules
from . import cases as fixed

TITLE = "KernelBench's rule, 1e-2"
START = "import torch"


def judging() -> Judging:
    return fixed.judging(kernelbench.cases(rules.KERNELBENCH_FORMER))
