"""What goes wrong with the gradient of l2_norm: the projection, and epsilon."""

from typing import Any

import numpy as np

from reference_numpy._recurrence import L2_EPS
from reference_numpy.l2_norm_vjp import l2_norm_vjp
from reference_numpy.rms_norm_vjp import rms_norm_vjp

from . import deviation


def _normalized(x: Any, eps: float) -> tuple[Any, Any]:
    """Return the reciprocal of the length, and x times it."""
    r = 1 / np.sqrt(np.sum(np.square(x), axis=-1, keepdims=True) + eps)
    return r, x * r


def _inner(a: Any, b: Any) -> Any:
    return np.sum(a * b, axis=-1, keepdims=True)


@deviation("reference", "orthogonal", "along_the_row")
def length_detached(cotangent: Any, x: Any, *, eps: float = L2_EPS) -> Any:
    """the length counts as a constant: dx = c / length.

    Shows: cotangents that are not orthogonal to x. Hides: orthogonal ones.
    """
    return (cotangent * _normalized(x, eps)[0],)


@deviation("reference", "orthogonal")
def projection_averaged(cotangent: Any, x: Any, *, eps: float = L2_EPS) -> Any:
    """the projection is an average over the features, as in rms_norm.

    Shows: two features and more. Hides: d = 1.
    """
    r, y = _normalized(x, eps)
    return (r * (cotangent - y * np.mean(cotangent * y, axis=-1, keepdims=True)),)


@deviation("reference", "orthogonal")
def projection_of_x(cotangent: Any, x: Any, *, eps: float = L2_EPS) -> Any:
    """the projection takes x for the result: dx = r (c - x sum(c y)).

    Shows: rows whose length is not 1. Hides: rows of length 1.
    """
    r, y = _normalized(x, eps)
    return (r * (cotangent - x * _inner(cotangent, y)),)


@deviation("reference", "along_the_row")
def projection_added(cotangent: Any, x: Any, *, eps: float = L2_EPS) -> Any:
    """the projection is added and not subtracted.

    Shows: cotangents that are not orthogonal to x. Hides: orthogonal ones.
    """
    r, y = _normalized(x, eps)
    return (r * (cotangent + y * _inner(cotangent, y)),)


@deviation("reference", "across_the_row")
def not_divided_by_the_length(cotangent: Any, x: Any, *, eps: float = L2_EPS) -> Any:
    """the gradient is not divided by the length: dx = c - y sum(c y).

    Shows: rows whose length is not 1. Hides: rows of length 1.
    """
    _, y = _normalized(x, eps)
    return (cotangent - y * _inner(cotangent, y),)


@deviation("reference", "across_the_row")
def gradient_of_rms_norm(cotangent: Any, x: Any, *, eps: float = L2_EPS) -> Any:
    """the gradient is that of rms_norm, √d times too large.

    Shows: two features and more. Hides: d = 1.
    """
    return rms_norm_vjp(cotangent, x, np.ones(x.shape[-1]), eps=eps)[:1]


@deviation("reference")
def eps_ignored(cotangent: Any, x: Any, *, eps: float = L2_EPS) -> Any:
    """epsilon is left out of the backward pass.

    Shows: short rows, a large eps. Hides: ordinary rows.
    """
    return l2_norm_vjp(cotangent, x, eps=0.0)
