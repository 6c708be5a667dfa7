"""Numbers drawn by hypothesis.extra.numpy, judged by this suite's error bounds.

The difference between this rival and the suite shows what the suite's own numbers are worth.
"""

from __future__ import annotations

from . import Judge
from .hypothesis_arrays import assert_bounded, build_judge_with

TITLE = "hypothesis arrays(), derived bounds"
START = ""  # the same start as this suite, which it is, with other numbers


def build_judge() -> Judge:
    return build_judge_with(assert_bounded)
