"""How adamw_step is drawn."""

from typing import Any

import numpy as np

from reference_numpy.adamw_step import adamw_step
from spec_tests.inputs.draw import Draw
from spec_tests.specification.declaration import Declaration

STEPS = (1, 2, 3, 10, 1000, 100_000)
BETAS1, BETAS2 = (0.9, 0.0, 0.5, 0.95), (0.999, 0.95, 0.5, 0.99)
EPSILONS = (1e-8, 1e-6, 1e-3, 0.1)  # doubles, as people write them


def draw_settings(draw: Draw) -> dict[str, Any]:
    """Draw the step and the scalars. The rates are not powers of two."""
    return {
        **draw.keyword("step", STEPS),
        **draw.keyword("learning_rate", (1e-3, 0.1, 3e-4, 0.0)),
        **draw.keyword("beta1", BETAS1),
        **draw.keyword("beta2", BETAS2),
        **draw.keyword("eps", EPSILONS),
        **draw.keyword("weight_decay", (0.01, 0.0, 0.1, 1.0)),
    }


def draw_state(draw: Draw) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Draw a parameter, its gradient and its moments: those of earlier gradients, or zeros before the first step."""
    (d,) = draw.dims(d=1025)
    shape = draw.rows_or_less(d)
    size = draw.one_of((1.0, 1e-4, 1e3, 1e-8))
    gradient, first = draw.normal(shape, size), draw.normal(shape, size / 3)
    second = draw.held(np.square(first) + np.square(draw.normal(shape, size / 2)))
    if draw.one_of((False, False, True)):
        first, second = np.zeros(shape), np.zeros(shape)
    gradient = np.where(draw.rng.random(shape) < draw.one_of((0.0, 0.0, 0.2)), 0.0, gradient)
    return draw.normal(shape), gradient, first, second


def draw_question(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw an early step with an eps and a decay that show."""
    (d,) = draw.dims(d=17)
    gradient = draw.normal((d,))
    settings = draw_settings(draw) | {"step": draw.one_of((1, 2, 3)), "learning_rate": 0.1}
    for name, value in (("eps", 0.1), ("weight_decay", 1.0), ("beta2", 0.999)):
        if name in settings:
            settings[name] = value
    return (draw.normal((d,), 8.0), gradient, 0 * gradient, 0 * gradient), settings


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return draw_state(draw), draw_settings(draw)


declaration = Declaration(
    equation=adamw_step,
    arguments=arguments,
    core={"parameter": 0, "gradient": 0, "first_moment": 0, "second_moment": 0},
    dtypes=("float32", "float64"),
    results={"parameter": "", "first_moment": "", "second_moment": ""},
    changeable=("weight_decay",),
    open_questions={"adamw_epsilon": draw_question, "adamw_decay": draw_question},
    linear=("parameter", "first_moment"),
)
