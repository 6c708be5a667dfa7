"""How l2_norm is drawn."""

from typing import Any

import numpy as np

from reference_numpy.l2_norm import l2_norm
from spec_tests.inputs.draw import EPS, MANY_ROWS, Draw
from spec_tests.specification.conventions import CONVENTIONS
from spec_tests.specification.declaration import Declaration

EPSILONS = (1e-6, *EPS, 0.0)


def draw_question(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw rows whose lengths are near eps, near its root, or between them."""
    (d,) = draw.dims(d=65)
    eps = draw.keyword("eps", (1e-6, 1e-3, 0.1))
    number = eps.get("eps", 1e-6)
    size = number ** draw.rng.permutation((0.5, 0.75, 1.0, 1.0))[:, None] * draw.rng.choice((0.25, 1.0), (4, 1))
    x = draw.rng.choice((1.0, -1.0), (4, d)) * draw.rng.uniform(1, 2, (4, d)) * size / np.sqrt(d)
    return (draw.held(x),), eps


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    (d,) = draw.dims(d=5000)
    batch = draw.batch(MANY_ROWS)
    eps = draw.keyword("eps", EPSILONS)
    x = draw.rows((*batch, d))
    if draw.operation.spec.is_gradient and draw.operation.possible_values(CONVENTIONS["l2_epsilon"])[0] != "inside":
        x = np.where(np.any(x, axis=-1, keepdims=True), x, draw.held(np.full(x.shape, 0.5)))  # a length has no gradient at 0
    return (x,), eps


declaration = Declaration(
    equation=l2_norm,
    arguments=arguments,
    core={"x": 1},
    precision="fused",
    open_questions={"l2_epsilon": draw_question},
)
