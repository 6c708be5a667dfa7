"""How muon_step is drawn."""

from typing import Any

import numpy as np

from reference_numpy.muon_step import muon_step
from spec_tests.inputs.draw import Draw
from spec_tests.operations import newton_schulz
from spec_tests.specification.declaration import Declaration

ADJUSTMENTS = ("original", "match_rms_adamw")


def draw_settings(draw: Draw) -> dict[str, Any]:
    """Draw the scalars of the step and those of newton_schulz."""
    return {
        **draw.keyword("learning_rate", (0.02, 0.1, 1e-3, 0.0)),
        **draw.keyword("momentum", (0.95, 0.5, 0.9, 0.0)),
        **draw.keyword("nesterov", (True, False)),
        **draw.keyword("weight_decay", (0.0, 0.1, 1.0)),
        **draw.keyword("adjust", ADJUSTMENTS),
        **newton_schulz.draw_options(draw),
    }


def draw_state(draw: Draw) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw a parameter, its gradient, and a buffer of earlier gradients, which is not 0."""
    m, n = draw.dims(m=33, n=33)
    size = draw.one_of((1.0, 2.0**-4, 8.0))
    return draw.normal((m, n)), draw.normal((m, n), size), draw.normal((m, n), size)


def draw_question(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw a step that shows where eps stands, and how the buffer grows: one row whose norm is near eps."""
    ((row,), _), settings = newton_schulz.draw_question(draw), draw_settings(draw)
    settings |= {name: value for name, value in (("learning_rate", 0.1), ("momentum", 0.5), ("steps", 1)) if name in settings}
    eps = settings.get("eps", 1e-7)
    row = draw.held(row / np.linalg.norm(row) * eps * draw.one_of((0.5, 1.0, 2.0)))
    return (draw.normal(row.shape), row, row), settings


def draw_step_of_a_matrix(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw a step of a small matrix that is larger than the matrix, which shows in which dtype it is computed."""
    ((gradient,), _), settings = newton_schulz.draw_steps_of_a_matrix(draw), draw_settings(draw)
    settings |= {name: value for name, value in (("learning_rate", 1.0), ("momentum", 0.5)) if name in settings}
    return (draw.normal(gradient.shape, 2.0**-4), gradient, draw.normal(gradient.shape)), settings


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return draw_state(draw), draw_settings(draw)


declaration = Declaration(
    equation=muon_step,
    arguments=arguments,
    composed=True,
    results={"parameter": "", "momentum_buffer": ""},
    choices={"adjust": ADJUSTMENTS},
    linear=("parameter",),
    changeable=("weight_decay",),
    open_questions={"muon_compute": draw_step_of_a_matrix, "muon_norm": draw_question, "muon_momentum": draw_question},
)
