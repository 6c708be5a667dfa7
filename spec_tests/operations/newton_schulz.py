"""How newton_schulz is drawn."""

from typing import Any

import numpy as np

from reference_numpy.newton_schulz import newton_schulz
from spec_tests.inputs.draw import Draw
from spec_tests.specification.declaration import Declaration

STEPS = (5, 1, 2, 3, 6, 0)
COEFFICIENTS = ((3.4445, -4.775, 2.0315), (1.5, -0.5, 0.0), (2.0, -1.5, 0.5), (1.875, -1.25, 0.375))
EPSILONS = (1e-7, 1e-3, 0.125)
SIZES = (1.0, 2.0**-4, 16.0)
BATCHES = ((), (), (2,), (3,), (2, 3))


def draw_options(draw: Draw) -> dict[str, Any]:
    """Draw the number of steps, the coefficients and eps."""
    return draw.keyword("steps", STEPS) | draw.keyword("coefficients", COEFFICIENTS) | draw.keyword("eps", EPSILONS)


def draw_matrices(draw: Draw, *, batch: bool = True) -> np.ndarray:
    """Draw matrices of normal entries, some of them sparse. They are seldom near singular ones."""
    m, n = draw.dims(m=65, n=65)
    shape = (*(draw.batch(BATCHES) if batch else ()), m, n)
    sparse = draw.rng.random(shape) < draw.one_of((0.0, 0.0, 0.25))
    return np.where(sparse, 0.0, draw.normal(shape, draw.one_of(SIZES)))


def draw_question(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw one step on a row whose norm is near eps."""
    n = draw.size("n", (2, 3, 5, 8))
    options = draw_options(draw) | (draw.keyword("steps", (1,)) if draw.operation.accepts("steps") else {})
    options |= draw.keyword("eps", (0.125, 1e-3))
    x = draw.rng.choice((1.0, -1.0), (1, n)) * draw.rng.uniform(1, 2, (1, n))
    size = options.get("eps", 1e-7) * draw.one_of((0.5, 1.0, 2.0))
    return (draw.held(x / np.linalg.norm(x) * size),), options


def draw_steps_of_a_matrix(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw a few steps on a small matrix, which show in which dtype they are computed."""
    m, n = (draw.size(name, (3, 2, 5, 8)) for name in "mn")
    return (draw.normal((m, n)),), draw_options(draw)


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (draw_matrices(draw),), draw_options(draw)


declaration = Declaration(
    equation=newton_schulz,
    arguments=arguments,
    core={"x": 2},
    precision="mixed",
    composed=True,
    open_questions={"muon_compute": draw_steps_of_a_matrix, "muon_norm": draw_question},
)
