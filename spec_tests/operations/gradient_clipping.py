"""How gradient_clipping is drawn."""

from typing import Any

import numpy as np

from reference_numpy.gradient_clipping import gradient_clipping
from spec_tests.inputs.draw import Draw
from spec_tests.specification.declaration import Declaration

EPSILONS = (1e-6, 1e-6, 1e-3, 0.1, 0.0)  # doubles, as people write them
SIZES = (1.0, 1.0, 1e-2, 100.0, 8000.0)  # of the largest the norm is beyond float16
SHARES = (0.5, 0.1, 0.9, 1.0, 1.0001, 0.9999, 1.1, 2.0, 1000.0, 1e-3)  # of the norm, where it is clipped to


def draw_gradients(draw: Draw, least: int = 1) -> list[np.ndarray]:
    """Draw the gradients of a few parameters of several ranks, sometimes of very different sizes, one of them sometimes empty."""
    (d,) = draw.dims(d=1025)
    shapes = [(d,), (), (2, 3), (3, min(d, 65)), (0,), (1,), (2, 1, 3)]
    count = draw.one_of((least, 2, 3, 5))
    chosen = [shapes[0], *(draw.shape.one_of(shapes) for _ in range(count - 1))]
    size, uneven = draw.one_of(SIZES), draw.one_of((False, True))
    order = draw.rng.permutation(len(chosen)) if draw.one_of((False, True)) else range(len(chosen))
    return [draw.normal(chosen[i], size * (10.0 ** draw.integer(-2, 0) if uneven else 1.0)) for i in order]


def joint_norm(gradients: list[np.ndarray]) -> float:
    """Return the norm of all arrays together."""
    return float(np.sqrt(sum(np.sum(np.square(g)) for g in gradients)))


def draw_limit(draw: Draw, gradients: list[np.ndarray], shares: tuple[float, ...] = SHARES) -> dict[str, Any]:
    """Draw max_norm, as a share of the norm, and eps."""
    limit = (joint_norm(gradients) or 1.0) * draw.one_of(shares)
    return draw.keyword("max_norm", (float(np.float32(limit)),)) | draw.keyword("eps", EPSILONS)


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    gradients = draw_gradients(draw)
    return (gradients,), draw_limit(draw, gradients)


declaration = Declaration(
    equation=gradient_clipping,
    arguments=arguments,
    results={"gradients": ""},
    list_like="gradients",
    changeable=("max_norm",),
)
