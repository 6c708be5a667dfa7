"""How much an error matters to a person: a NaN or an infinity, a wrong digit that a print shows, or less.

It decides which of several failing examples or elements is shown. It never decides whether an answer is wrong.
"""

from __future__ import annotations

import numpy as np

HIDDEN, VISIBLE, NOT_FINITE = 0, 1, 2
PRINTED_DIGITS = 4  # after the point; PyTorch prints as many


def severity(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return how much the error of each wrong element matters.

    NOT_FINITE: one of the two numbers is NaN or infinite. VISIBLE: they differ in a digit that is printed.

    >>> severity(np.array([np.nan, 0.3, 2e-25]), np.array([0.1, 0.1, 1e-25])).tolist()
    [2, 1, 0]
    """
    with np.errstate(all="ignore"):
        visible = np.abs(got - expected) >= 10.0**-PRINTED_DIGITS * np.maximum(1, np.abs(expected))
    return np.where(np.isfinite(got) & np.isfinite(expected), np.where(visible, VISIBLE, HIDDEN), NOT_FINITE)
