"""Matrices divided by their Frobenius norms."""

from typing import Any

import numpy as np

from ._marks import rounded


def frobenius_norm(x: Any) -> Any:
    """Return the norms of matrices (..., m, n) as (..., 1, 1)."""
    return np.sqrt(np.sum(np.sum(np.square(x), axis=-1, keepdims=True), axis=-2, keepdims=True))


def of_unit_norm(x: Any, eps: Any) -> Any:
    """Return matrices (..., m, n), each divided by its Frobenius norm plus eps."""
    return x / (rounded(frobenius_norm(x)) + eps)
