"""What must hold of adamw_step."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, exactly
from .helpers.conventions import assert_convention
from .inputs.draw import Draw
from .operations.adamw_step import draw_settings, draw_state
from .trials.invariant import invariant

EQUATION = "Loshchilov and Hutter 2019, algorithm 2"


@invariant("E", source=EQUATION)
def test_learning_rate_of_zero(adamw_step: Operation, draw: Draw) -> None:
    """A learning rate of 0 keeps the parameter, bit for bit, and changes the moments as any other does."""
    state, settings = draw_state(draw), draw_settings(draw)
    still = adamw_step(*state, **{**settings, "learning_rate": 0.0}).parts
    moved = adamw_step(*state, **settings).parts
    assert_identical(still["parameter"], state[0])
    for name in ("first_moment", "second_moment"):
        assert_identical(still[name], moved[name])


@invariant("B", source=EQUATION)
def test_moments_are_averages(adamw_step: Operation, draw: Draw) -> None:
    """The moments are moving averages of the gradient and of its square, not corrected."""
    state, settings = draw_state(draw), draw_settings(draw)
    _, g, m, v = map(exactly, state)
    after = adamw_step(*state, **settings).parts
    beta1, beta2 = settings.get("beta1", 0.9), settings.get("beta2", 0.999)
    assert_equal(after["first_moment"], beta1 * m + (1 - beta1) * g)
    assert_equal(after["second_moment"], beta2 * v + (1 - beta2) * np.square(g))


@invariant("E", source=EQUATION)
def test_decay_is_decoupled(adamw_step: Operation, draw: Draw) -> None:
    """The decay does not pass through the moments."""
    state, settings = draw_state(draw), draw_settings(draw)
    plain, decayed = (adamw_step(*state, **{**settings, "weight_decay": d}).parts for d in (0.0, 0.5))
    for name in ("first_moment", "second_moment"):
        assert_identical(decayed[name], plain[name])


@invariant("B", source=EQUATION)
def test_decay_alone(adamw_step: Operation, draw: Draw) -> None:
    """Without a gradient and without moments the parameter shrinks by the factor 1 − a d."""
    (p, *others), settings = draw_state(draw), draw_settings(draw)
    after = adamw_step(p, *(0 * x for x in others), **settings).parts["parameter"]
    a, d = settings.get("learning_rate", 1e-3), settings.get("weight_decay", 0.01)
    assert_equal(after, exactly(p) * (1 - a * d))


@invariant("B", source=EQUATION)
def test_opposite_gradients(adamw_step: Operation, draw: Draw) -> None:
    """The opposite gradient and first moment give the opposite update, without a decay."""
    (p, g, m, v), settings = draw_state(draw), draw_settings(draw)
    settings = {**settings, "weight_decay": 0.0}
    up, down = (adamw_step(p, sign * g, sign * m, v, **settings).parts["parameter"] for sign in (1.0, -1.0))
    assert_equal(up + down, 2.0 * exactly(p))


@invariant("B", source=EQUATION)
def test_first_step(adamw_step: Operation, draw: Draw) -> None:
    """From moments of 0 the first step is a g / (|g| + eps): both corrections undo the averages.

    Where eps is added before the correction, it is eps / √(1 − β₂)."""
    (p, g, *_), settings = draw_state(draw), draw_settings(draw)
    settings = {**settings, "step": 1, "weight_decay": 0.0}
    result = adamw_step(p, g, 0 * g, 0 * g, **settings)
    a, eps = settings.get("learning_rate", 1e-3), settings.get("eps", 1e-8)
    if result.call.conventions.get("adamw_epsilon") == "uncorrected":
        eps = eps / np.sqrt(1 - settings.get("beta2", 0.999))
    assert_equal(result.parts["parameter"], exactly(p) - a * (exactly(g) / (np.abs(exactly(g)) + eps)))


@invariant("B")
def test_adamw_epsilon(adamw_step: Operation, draw: Draw) -> None:
    """eps is added to the corrected root or to the root that is corrected afterwards, always the same."""
    assert_convention(adamw_step, draw, "adamw_epsilon")


@invariant("B")
def test_adamw_decay(adamw_step: Operation, draw: Draw) -> None:
    """The decay multiplies the old parameter or the new one, always the same."""
    assert_convention(adamw_step, draw, "adamw_decay")
