from typing import Any

import numpy as np

from ._marks import beside_one, float64, normal_cdf


def gelu(x: Any, *, approximate: str = "none") -> Any:
    """Gaussian error linear unit: each number times the normal distribution function at it.

        none:  y = x * Phi(x) = x * (1 + erf(x / sqrt(2))) / 2
        tanh:  y = x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2

    Shapes
        x (any shape)  ->  as x
    Dtypes
        as the arguments
    Domain
        x finite.
    Edges
        0 gives 0. gelu(x) - gelu(-x) = x, in both forms. The least value of the exact form is -0.16997 at
        -0.75179. At -inf the product is -inf * 0, NaN (see the level limits).

    Raises
        ValueError where approximate is neither "none" nor "tanh".
    Choices
        The two forms differ by up to 4.7e-4, and each is tested as itself, as far as the dtype's rounding tells
        them apart. The default is the exact one, as in PyTorch; jax.nn.gelu defaults to tanh. A third form,
        x * sigmoid(1.702 x), is not this operation.
    Source
        Hendrycks and Gimpel 2016, arXiv:1606.08415. CS336 assignment 1, earlier edition, eq. (2).

    The two forms side by side where they differ most:

    >>> print(gelu([-2.699, 2.699]).round(6), gelu([-2.699, 2.699], approximate="tanh").round(6))
    [-0.009386  2.689614] [-0.008912  2.690088]

    """
    x = float64(x)
    if approximate == "none":
        return x * normal_cdf(x)
    if approximate == "tanh":
        return x * (0.5 * (1 + beside_one(np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * (x * x * x))))))
    raise ValueError(f"gelu: approximate={approximate!r} is unknown; there are 'none' and 'tanh'.")
