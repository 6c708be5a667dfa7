from typing import Any

import numpy as np

from ._marks import float64, rounded
from ._unit_norm import of_unit_norm


def newton_schulz(
    x: Any,
    *,
    steps: int = 5,
    coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
    eps: float = 1e-7,
) -> Any:
    """Newton-Schulz orthogonalization: singular values are brought near 1, singular vectors are kept.

        X = x / (|x|_F + eps),   and `steps` times   X <- a X + (b A + c A^2) X   with A = X X^T

    for coefficients (a, b, c). It is U F(s) V^T for the singular value decomposition U s V^T of X, where F is
    p(s) = a s + b s^3 + c s^5, iterated.

    Shapes
        x (..., m, n)  ->  (..., m, n)
    Dtypes
        as the arguments
        Under the convention muon_compute it may be bfloat16 whatever they are.
    Domain
        x finite, and the sum of its squares within the range of the compute dtype; steps >= 0; eps > 0.
    Edges
        Zeros give zeros. x^T gives the transpose. With these coefficients the singular values of the result lie between
        0.68 and 1.21, and are not 1; but those far below 1/485 of the norm grow to 485 times that share alone.
    Choices
        eps is added to the norm, as in Keller Jordan's code. torch.optim.Muon divides by max(|x|_F, eps): the convention
        muon_norm. (b A + c A^2) X = X (b B + c B^2) with B = X^T X, so code may take the smaller of the two.
    Source
        Jordan et al. 2024, Muon: an optimizer for hidden layers in neural networks.

    >>> newton_schulz([[3.0, 0.0], [0.0, 4.0]]).round(4)
    array([[0.7229, 0.    ],
           [0.    , 1.1192]])
    >>> newton_schulz([[1.0, 1.0]], steps=1, coefficients=(1.5, -0.5, 0.0), eps=1.0).round(4)
    array([[0.5503, 0.5503]])
    """
    a, b, c = coefficients
    y = rounded(of_unit_norm(float64(x), eps))
    is_tall = y.shape[-2] > y.shape[-1]
    y = np.swapaxes(y, -1, -2) if is_tall else y
    for _ in range(steps):
        gram = rounded(np.matmul(y, np.swapaxes(y, -1, -2)))
        update = rounded(b * gram + c * rounded(np.matmul(gram, gram)))
        y = rounded(a * y + rounded(np.matmul(update, y)))
    return np.swapaxes(y, -1, -2) if is_tall else y
