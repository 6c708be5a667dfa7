"""Numbers drawn by hypothesis.extra.numpy, judged by this suite's derived bounds: what its own data are worth."""

from __future__ import annotations

from . import Judging
from .hypothesis_arrays import assert_bounded, judging_by

TITLE = "hypothesis arrays(), derived bounds"
START = ""  # it is this suite, with other numbers


def judging() -> Judging:
    return judging_by(assert_bounded)
