from typing import Any

import numpy as np

from ._marks import beside_one, float64, normal_cdf


def gelu_vjp(cotangent: Any, x: Any, *, approximate: str = "none") -> Any:
    """Gradient of gelu: with the cotangent c,

        none:  dx = c (Phi(x) + x exp(-x^2 / 2) / sqrt(2 pi))
        tanh:  dx = c ((1 + t) / 2 + x (1 - t^2) u' / 2),   t = tanh(u)
               u = sqrt(2 / pi) (x + 0.044715 x^3),   u' = sqrt(2 / pi) (1 + 3 * 0.044715 x^2)

    Shapes
        cotangent as x,  x (any shape)  ->  (dx,), as x
    Dtypes
        as the arguments
    Domain
        x and cotangents finite.
    Edges
        c / 2 at 0; the slopes at x and -x sum to 1, in both forms.

    Raises
        ValueError where approximate is neither "none" nor "tanh".
    Choices
        Each form has the derivative of its own: they differ by up to 1.1e-3. That of x^3 multiplies last, as in
        automatic differentiation: what underflows before is lost 3 x^2 times over.
    Source
        Differentiation of Hendrycks and Gimpel 2016, arXiv:1606.08415.

    >>> gelu_vjp([2.0, 1.0], [0.0, 1.0])[0].round(6), gelu_vjp([2.0, 1.0], [0.0, 1.0], approximate="tanh")[0].round(6)
    (array([1.      , 1.083315]), array([1.      , 1.082964]))
    """
    c, x = float64(cotangent), float64(x)
    if approximate == "none":
        return (c * normal_cdf(x) + c * x * (np.exp(-np.square(x) / 2) / np.sqrt(2 * np.pi)),)
    if approximate == "tanh":
        factor = np.sqrt(2 / np.pi)
        t = beside_one(np.tanh(factor * (x + 0.044715 * (x * x * x))))
        inner = factor * (0.5 * (c * x) * (1 - np.square(t)))
        return (c * (0.5 * (1 + t)) + inner + 0.044715 * inner * 3 * np.square(x),)
    raise ValueError(f"gelu_vjp: approximate={approximate!r} is unknown; there are 'none' and 'tanh'.")
