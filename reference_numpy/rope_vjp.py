from typing import Any

import numpy as np

from ._marks import float64
from .rope import rope


def rope_vjp(
    cotangent: Any,
    x: Any,
    positions: Any,
    inverse_frequencies: Any = None,
    *,
    theta: float = 10000.0,
    layout: str = "interleaved",
    rotary_dim: int | None = None,
    attention_factor: float = 1.0,
    sections: tuple[int, int, int] | None = None,
    section_layout: str = "chunked",
) -> Any:
    """Gradient of rope: the cotangent turned back, by the opposite angle.

        dx = f R(p)^T c = f R(-p) c

    and the cotangent itself for features that are not turned.

    Shapes
        cotangent as x,  x (..., n, d_k),  positions (n) or broadcastable to (..., n),  inverse_frequencies (r/2)
        ->  (dx, None, None), dx as x (with sections: positions as in rope)
    Dtypes
        as the arguments
    Domain
        As in rope; cotangents finite.
    Edges
        Does not depend on x. Lengths are kept with an attention_factor of 1. Positions and frequencies have no gradient.

    Raises
        ValueError as rope does.
    Choices
        The same layout as forward: each pair turns back within itself.
    Source
        Su et al. 2021, arXiv:2104.09864, eq. 15: the matrix is orthogonal.

    >>> rope_vjp([[1.0, 0.0]], [[5.0, 7.0]], [1])[0].round(4)
    array([[ 0.5403, -0.8415]])
    """
    back = np.negative(float64(positions))
    options: dict[str, Any] = {"rotary_dim": rotary_dim, "attention_factor": attention_factor}
    options |= {"sections": sections, "section_layout": section_layout}
    return rope(cotangent, back, inverse_frequencies, theta=theta, layout=layout, **options), None, None
