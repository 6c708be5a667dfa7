"""KernelBench's former rule: the same problems with a tolerance of 1e-2."""

from __future__ import annotations

from . import Judge, kernelbench, rules
from . import cases as fixed

TITLE = "KernelBench's rule, 1e-2"
START = "import torch"


def build_judge() -> Judge:
    return fixed.build_judge(kernelbench.cases(rules.KERNELBENCH_FORMER))
