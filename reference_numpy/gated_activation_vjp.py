from types import MappingProxyType
from typing import Any

import numpy as np

from ._halves import join_halves, split_halves
from ._marks import float64, positive, rounded
from .gated_activation import ACTIVATIONS
from .gelu_vjp import gelu_vjp
from .relu_vjp import relu_vjp
from .sigmoid_vjp import sigmoid_vjp
from .silu_vjp import silu_vjp

SLOPES = MappingProxyType(
    {
        "silu": silu_vjp,
        "gelu": gelu_vjp,
        "gelu_tanh": lambda c, x: gelu_vjp(c, x, approximate="tanh"),
        "relu": relu_vjp,
        "sigmoid": sigmoid_vjp,
    }
)


def gated_activation_vjp(
    cotangent: Any,
    x: Any,
    *,
    activation: str = "silu",
    layout: str = "concatenated",
    gate: str = "first",
    limit: float | None = None,
    alpha: float = 1.0,
    offset: float = 0.0,
) -> Any:
    """Gradient of gated_activation: with the cotangent c of y = act(alpha g) / alpha * (u + offset),

        dg = c (u + offset) act'(alpha g),   du = c act(alpha g) / alpha

    and 0 for a g above the limit, and for a u beyond the limit on either side.

    Shapes
        cotangent (..., h),  x (..., 2 h)  ->  (dx,), as x
    Dtypes
        as the arguments
    Domain
        As in gated_activation; cotangents finite.
    Edges
        Where u = -offset the gate has no gradient, where act(alpha g) = 0 what it gates has none. At the limit
        itself any slope between 0 and that inside will do, and nothing is claimed.

    Raises
        ValueError as gated_activation does.
    Choices
        The gradient is packed as x is.
    Source
        Differentiation of Shazeer 2020, arXiv:2002.05202, eqs. 5 and 6.

    >>> gated_activation_vjp([1.0, 1.0], [1.0, 2.0, 3.0, 4.0], activation="relu")
    (array([3., 4., 1., 2.]),)
    """
    if activation not in SLOPES:
        raise ValueError(f"gated_activation_vjp: activation={activation!r} is unknown; there are {', '.join(SLOPES)}.")
    c = float64(cotangent)
    g, u = split_halves(float64(x), layout=layout, gate=gate)
    below, within = 1.0, 1.0
    if limit is not None:
        below, within = positive(limit - g), positive(limit - np.abs(u))
        g, u = np.minimum(g, limit), np.maximum(np.minimum(u, limit), -limit)
    (dg,) = SLOPES[activation](rounded(c * rounded(u + offset)), g * alpha)
    du = c * rounded(ACTIVATIONS[activation](g * alpha) / alpha)
    return (join_halves(dg * below, du * within, layout=layout, gate=gate),)
