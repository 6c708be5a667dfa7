import math
from typing import Any

from ._marks import eager, float64, scaled
from ._momentum import momentum_and_direction
from .newton_schulz import newton_schulz


def muon_step(
    parameter: Any,
    gradient: Any,
    momentum_buffer: Any,
    *,
    learning_rate: float,
    momentum: float = 0.95,
    nesterov: bool = True,
    weight_decay: float = 0.0,
    adjust: str = "original",
    steps: int = 5,
    coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
    eps: float = 1e-7,
) -> Any:
    """One step of Muon: gradient descent with a momentum whose singular values are brought near 1.

        m' = mu m + (1 - mu) g,   y = mu m' + (1 - mu) g with nesterov, m' without
        p' = p (1 - a d) - a f newton_schulz(y)

    for the parameter p, the gradient g, the buffer m, the momentum mu, the learning rate a and the decay d. f is
    sqrt(max(1, rows / columns)) with adjust "original", and 0.2 sqrt(max(rows, columns)) with "match_rms_adamw".

    Shapes
        parameter (m, n),  gradient (m, n),  momentum_buffer (m, n)  ->  parameter (m, n),  momentum_buffer (m, n)
    Dtypes
        parameter and momentum_buffer as the arguments
    Domain
        All finite, as newton_schulz needs it of y; steps >= 0; eps > 0; momentum from 0 to below 1.
    Edges
        A learning rate of 0 keeps the parameter, and not the buffer. Without a gradient and with a buffer of 0 the
        parameter shrinks by 1 - a d.

    Raises
        ValueError where adjust is neither "original" nor "match_rms_adamw".
    Choices
        The buffer is an average, as in Keller Jordan's code and torch.optim.Muon; Moonlight adds the gradient itself:
        the convention muon_momentum. What is returned is m', not y. The decay takes the learning rate without f.
    Source
        Jordan et al. 2024, Muon: an optimizer for hidden layers in neural networks. Liu et al. 2025, arXiv:2502.16982,
        section 2.2, for match_rms_adamw.

    >>> p, m = muon_step([[1.0]], [[2.0]], [[1.0]], learning_rate=0.5, momentum=0.5, steps=0)
    >>> p.round(4), m.round(4)
    (array([[0.5]]), array([[1.5]]))
    """
    p, g, m = (float64(x) for x in (parameter, gradient, momentum_buffer))
    rows, columns = p.shape[-2:]
    if adjust == "original":
        factor = math.sqrt(max(1.0, rows / columns))
    elif adjust == "match_rms_adamw":
        factor = 0.2 * math.sqrt(max(rows, columns))
    else:
        raise ValueError(f"muon_step: adjust={adjust!r} is unknown; there are 'original' and 'match_rms_adamw'.")
    averaged, y = momentum_and_direction(m, g, momentum, nesterov=nesterov)
    update = newton_schulz(eager(y), steps=steps, coefficients=coefficients, eps=eps)
    return scaled(p, 1 - learning_rate * weight_decay) - learning_rate * factor * update, averaged
