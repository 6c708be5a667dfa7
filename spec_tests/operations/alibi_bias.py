"""How alibi_bias is drawn."""

import math
from typing import Any

import numpy as np

from reference_numpy.alibi_bias import alibi_bias
from spec_tests.inputs.draw import Draw
from spec_tests.specification.declaration import Declaration

MAX_BIASES = 2**22  # in one example, so that many heads have fewer positions


def draw_slopes(draw: Draw, h: int) -> np.ndarray:
    """Draw the slopes of h heads: geometric as in the paper, powers of a half, or any numbers."""
    kind = draw.one_of(("geometric", "halves", "any"))
    if kind == "any":
        return draw.normal((h,))
    return draw.held(2.0 ** -(np.arange(1, h + 1) * (8 / h if kind == "geometric" else 1)))


def limit_sizes(draw: Draw, h: int, n: int, m: int) -> tuple[int, int]:
    """Return h and n, or less, so that the biases are no more than MAX_BIASES. Without m they are those of n keys."""
    if not draw.operation.accepts("m"):
        n = m = min(n, math.isqrt(MAX_BIASES))
    return min(h, max(1, MAX_BIASES // max(n * m, 1))), n


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    h, n, m = draw.dims(h=64, n=1025, m=1025)
    h, n = limit_sizes(draw, h, n, m)
    keywords = {"n": n, **draw.columns(m, h * n * n)}
    return (draw_slopes(draw, h),), keywords


declaration = Declaration(
    equation=alibi_bias,
    arguments=arguments,
    core={"slopes": 1},
    unbatched=True,
    linear=("slopes",),
)
