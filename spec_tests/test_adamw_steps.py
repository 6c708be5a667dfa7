"""What must hold of adamw_steps."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, exactly
from .helpers.conventions import assert_convention
from .inputs.draw import Draw
from .operations.adamw_steps import draw_run, draw_run_settings
from .trials.invariant import invariant

EQUATION = "Loshchilov and Hutter 2019, algorithm 2"


@invariant("E", source=EQUATION)
def test_learning_rate_of_zero(adamw_steps: Operation, draw: Draw) -> None:
    """A learning rate of 0 keeps the parameter, bit for bit, in every step."""
    p, g = draw_run(draw)
    after = adamw_steps(p, g, **{**draw_run_settings(draw), "learning_rate": 0.0})
    assert_identical(after, np.broadcast_to(p[..., None], g.shape).copy())


@invariant("B", source=EQUATION)
def test_later_gradients_do_not_count(adamw_steps: Operation, draw: Draw) -> None:
    """The first steps are the same, whatever gradients follow: the steps of a shorter run are those of a longer one."""
    (p, g), settings = draw_run(draw, (2, 3, 5, 8)), draw_run_settings(draw)
    first = draw.integer(1, g.shape[-1] - 1)
    assert_equal(adamw_steps(p, g, **settings)[..., :first], adamw_steps(p, g[..., :first].copy(), **settings))


@invariant("B", source=EQUATION)
def test_equal_gradients(adamw_steps: Operation, draw: Draw) -> None:
    """Without a decay, the same gradient t times takes t equal steps of a g / (|g| + eps): both corrections undo the averages.

    Where eps is added before the correction, it is eps / √(1 − β₂^i) in step i."""
    (p, g), settings = draw_run(draw), draw_run_settings(draw) | {"weight_decay": 0.0}
    g = np.repeat(g[..., :1], g.shape[-1], axis=-1)
    result = adamw_steps(p, g, **settings)
    a, eps, steps = settings.get("learning_rate", 1e-3), settings.get("eps", 1e-8), np.arange(1, g.shape[-1] + 1)
    epsilon = np.full(len(steps), eps)
    if result.call.conventions.get("adamw_epsilon") == "uncorrected":
        epsilon = eps / np.sqrt(1 - settings.get("beta2", 0.999) ** steps)
    size = exactly(g[..., 0])
    total, after = exactly(p), []
    for e in epsilon:
        total = total - a * (size / (np.abs(size) + float(e)))
        after.append(total)
    assert_equal(result, np.stack(after, axis=-1))


@invariant("B", source=EQUATION)
def test_opposite_gradients(adamw_steps: Operation, draw: Draw) -> None:
    """The opposite gradients and the opposite parameter give the opposite results."""
    (p, g), settings = draw_run(draw), draw_run_settings(draw)
    assert_equal(adamw_steps(-p, -g, **settings), -adamw_steps(p, g, **settings))


@invariant("B", source=EQUATION)
def test_no_gradients(adamw_steps: Operation, draw: Draw) -> None:
    """Gradients of zero leave the decay alone: the factor 1 − a d in each step."""
    (p, g), settings = draw_run(draw), draw_run_settings(draw)
    factor = 1 - settings.get("learning_rate", 1e-3) * settings.get("weight_decay", 0.01)
    powers = factor ** np.arange(1, g.shape[-1] + 1)
    assert_equal(adamw_steps(p, 0 * g, **settings), exactly(p)[..., None] * powers)


@invariant("B")
def test_adamw_epsilon(adamw_steps: Operation, draw: Draw) -> None:
    """eps is added to the corrected root or to the root that is corrected afterwards, always the same."""
    assert_convention(adamw_steps, draw, "adamw_epsilon")


@invariant("B")
def test_adamw_decay(adamw_steps: Operation, draw: Draw) -> None:
    """The decay multiplies the old parameter or the new one, always the same."""
    assert_convention(adamw_steps, draw, "adamw_decay")
