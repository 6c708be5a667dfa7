"""How adamw_steps is drawn."""

from typing import Any

import numpy as np

from reference_numpy.adamw_steps import adamw_steps
from spec_tests.inputs.draw import MANY_ROWS, Draw
from spec_tests.operations.adamw_step import draw_settings
from spec_tests.specification.declaration import Declaration

COUNTS = (1, 2, 3, 5, 8)  # of steps


def draw_run(draw: Draw, counts: tuple[int, ...] = COUNTS) -> tuple[np.ndarray, np.ndarray]:
    """Draw a parameter and the gradients of some steps, sometimes zeros among them."""
    (d,) = draw.dims(d=65)
    shape, t = (*draw.batch(MANY_ROWS), d), draw.size("t", counts)
    gradients = draw.normal((*shape, t), draw.one_of((1.0, 1e-4, 1e3)))
    return draw.normal(shape), np.where(draw.rng.random((*shape, t)) < draw.one_of((0.0, 0.0, 0.2)), 0.0, gradients)


def draw_run_settings(draw: Draw) -> dict[str, Any]:
    """Draw the scalars."""
    return {name: value for name, value in draw_settings(draw).items() if name != "step"}


def draw_question(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw a few steps with an eps and a decay that show."""
    (d,), t = draw.dims(d=17), draw.size("t", (1, 2, 3))
    settings = draw_run_settings(draw) | {"learning_rate": 0.1}
    for name, value in (("eps", 0.1), ("weight_decay", 1.0), ("beta2", 0.999)):
        if name in settings:
            settings[name] = value
    return (draw.normal((d,), 8.0), draw.normal((d, t))), settings


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return draw_run(draw), draw_run_settings(draw)


declaration = Declaration(
    equation=adamw_steps,
    arguments=arguments,
    core={"parameter": 1, "gradients": 2},
    cost=2.0,
    dtypes=("float32", "float64"),
    changeable=("weight_decay",),
    open_questions={"adamw_epsilon": draw_question, "adamw_decay": draw_question},
    linear=("parameter",),
)
