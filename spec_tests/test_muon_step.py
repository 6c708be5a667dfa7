"""What must hold of muon_step."""

import math

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, exactly
from .helpers.conventions import assert_convention, holds_value
from .helpers.singular_values import iterate
from .inputs.draw import Draw
from .operations.muon_step import draw_settings, draw_state
from .trials.invariant import invariant

SOURCE = "Jordan et al. 2024, Muon"


@invariant("E", source=SOURCE)
def test_learning_rate_of_zero(muon_step: Operation, draw: Draw) -> None:
    """A learning rate of 0 keeps the parameter, bit for bit, and changes the buffer as any other does."""
    state, settings = draw_state(draw), draw_settings(draw)
    still = muon_step(*state, **{**settings, "learning_rate": 0.0}).parts
    moved = muon_step(*state, **settings).parts
    assert_identical(still["parameter"], state[0])
    assert_identical(still["momentum_buffer"], moved["momentum_buffer"])


@invariant("B", source=SOURCE)
def test_momentum(muon_step: Operation, draw: Draw) -> None:
    """The buffer is the average μ m + (1 − μ) g of gradients, or their sum μ m + g: not the direction of the step."""
    state, settings = draw_state(draw), draw_settings(draw)
    _, g, m = map(exactly, state)
    mu = settings.get("momentum", 0.95)
    share = 1 - mu if holds_value(muon_step, "muon_momentum", "average") else 1.0
    assert_equal(muon_step(*state, **settings).parts["momentum_buffer"], mu * m + share * g)


@invariant("B", source=SOURCE)
def test_decay_alone(muon_step: Operation, draw: Draw) -> None:
    """Without a gradient and with a buffer of 0 the parameter shrinks by 1 − a d, whatever its shape."""
    (p, *others), settings = draw_state(draw), draw_settings(draw)
    after = muon_step(p, *(0 * x for x in others), **settings).parts
    assert_equal(after["parameter"], exactly(p) * (1 - settings.get("learning_rate", 0.02) * settings.get("weight_decay", 0.0)))
    assert_identical(after["momentum_buffer"], 0 * p)


@invariant("B", source=SOURCE)
def test_direction(muon_step: Operation, draw: Draw) -> None:
    """Of gradients with one entry in each row and column the step is a f F(y), where y looks ahead with nesterov."""
    m, n = draw.dims(m=17, n=17)
    r, settings = min(m, n), draw_settings(draw)
    place = draw.rng.permutation(m)[:r], draw.rng.permutation(n)[:r]
    gradient, buffer, p = np.zeros((m, n)), np.zeros((m, n)), draw.normal((m, n))
    sign = draw.rng.choice((1.0, -1.0), r)
    gradient[place], buffer[place] = (sign * draw.held(draw.rng.uniform(0.25, 1.0, r)) for _ in "gm")
    mu, rate = settings.get("momentum", 0.95), settings.get("learning_rate", 0.02)
    share = 1 - mu if holds_value(muon_step, "muon_momentum", "average") else 1.0
    g, b = exactly(sign * gradient[place]), exactly(sign * buffer[place])
    y = mu * b + share * g
    y = mu * y + share * g if settings.get("nesterov", True) else y
    root = max(1.0, m / n) if settings.get("adjust", "original") == "original" else 0.04 * max(m, n)
    step = iterate(y, settings, is_floor=holds_value(muon_step, "muon_norm", "floor"))
    kept = exactly(p) * (1 - rate * settings.get("weight_decay", 0.0))
    after = muon_step(p, gradient, buffer, **settings).parts["parameter"]
    assert_equal(after[place], kept[place] - rate * math.sqrt(root) * sign * step)


@invariant("B")
def test_muon_norm(muon_step: Operation, draw: Draw) -> None:
    """eps is added to the norm, or is its floor, always the same."""
    assert_convention(muon_step, draw, "muon_norm")


@invariant("B")
def test_muon_momentum(muon_step: Operation, draw: Draw) -> None:
    """The momentum is an average of gradients, or their sum, always the same."""
    assert_convention(muon_step, draw, "muon_momentum")


@invariant("B")
def test_muon_compute(muon_step: Operation, draw: Draw) -> None:
    """Newton-Schulz is computed in the dtype of its argument, or in bfloat16, and not in fewer bits."""
    assert_convention(muon_step, draw, "muon_compute")
