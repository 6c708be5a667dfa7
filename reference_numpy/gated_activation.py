from types import MappingProxyType
from typing import Any

import numpy as np

from ._halves import split_halves
from ._marks import float64, rounded
from .gelu import gelu
from .relu import relu
from .sigmoid import sigmoid
from .silu import silu

ACTIVATIONS = MappingProxyType(
    {
        "silu": silu,
        "gelu": gelu,
        "gelu_tanh": lambda x: gelu(x, approximate="tanh"),
        "relu": relu,
        "sigmoid": sigmoid,
    }
)


def gated_activation(
    x: Any,
    *,
    activation: str = "silu",
    layout: str = "concatenated",
    gate: str = "first",
    limit: float | None = None,
    alpha: float = 1.0,
    offset: float = 0.0,
) -> Any:
    """Gated activation of a packed array: one half of the features gates the other half.

        y = act(alpha * min(g, limit)) / alpha * (clip(u, -limit, limit) + offset)

    g is the half that the activation is applied to, u the other one. Without a limit nothing is clipped.

    Shapes
        x (..., 2 h)  ->  (..., h)
    Dtypes
        as the arguments
    Domain
        x finite; limit >= 0; alpha > 0, and 1 unless the activation is silu.
    Edges
        A gate of 0 gives exactly 0, except with sigmoid, where it gives (u + offset) / 2. Linear in u where
        offset is 0 and nothing is clipped. A limit of 0 is a limit.

    Raises
        ValueError where activation, layout or gate is unknown, or the number of features is odd.
    Choices
        concatenated: the first h features and the last h, as vLLM's silu_and_mul has them. interleaved: the
        even and the odd features, as gpt-oss has them. torch.nn.functional.glu gates with the second half.
        gpt-oss has limit = 7, alpha = 1.702, offset = 1, and clips g from above alone.
    Source
        Shazeer 2020, arXiv:2002.05202, eqs. 5 and 6. OpenAI 2025, gpt-oss model card, arXiv:2508.10925.

    The half g = (1, 2) gates the half u = (3, 4), then the other way round:

    >>> gated_activation([1.0, 2.0, 3.0, 4.0], activation="relu")
    array([3., 8.])
    >>> gated_activation([-1.0, 2.0, 3.0, 4.0], activation="relu", gate="second")
    array([-3.,  8.])
    >>> gated_activation([9.0, 9.0], activation="relu", limit=7.0, offset=1.0)
    array([56.])
    """
    if activation not in ACTIVATIONS:
        raise ValueError(f"gated_activation: activation={activation!r} is unknown; there are {', '.join(ACTIVATIONS)}.")
    g, u = split_halves(float64(x), layout=layout, gate=gate)
    if limit is not None:
        g, u = np.minimum(g, limit), np.maximum(np.minimum(u, limit), -limit)
    return rounded(ACTIVATIONS[activation](g * alpha) / alpha) * rounded(u + offset)
