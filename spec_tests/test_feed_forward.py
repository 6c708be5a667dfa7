"""What must hold of feed_forward."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from .calls.operation import Operation
from .calls.violation import NotImplementedVariant
from .helpers.assertions import assert_equal, assert_identical, exactly
from .helpers.batch import draw_other_tokens
from .inputs import regimes
from .inputs.draw import Draw
from .operations.linear import SMALL_TOKEN_BATCHES
from .trials.invariant import invariant

EQUATION = "CS336 assignment 1, earlier edition, eq. (3)"
ACTIVATIONS = ("relu", "gelu")
# An infinity here would reach its neighbours, as 0 · ∞.
MODERATE_REGIMES: Mapping[str, regimes.Fill] = MappingProxyType(
    {"normal": regimes.normal, "tails": regimes.tails, "small": regimes.small}
)


def draw_inputs(draw: Draw) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw x, W₁ and W₂."""
    d, h = draw.dims(d=129, h=257)
    return draw.vectors((*draw.batch(SMALL_TOKEN_BATCHES), d)), draw.weight(h, d), draw.weight(d, h)


def draw_biases(draw: Draw, w1: np.ndarray, *names: str) -> dict[str, np.ndarray]:
    """Draw some of the named biases."""
    used = draw.variants(*names)
    h, d = w1.shape
    return {name: draw.gain(size) for name, size in (("b1", h), ("b2", d)) if name in used}


def require_relu(draw: Draw) -> dict[str, Any]:
    """Return the keyword that selects relu. Skip the law where the domain has no relu."""
    if "relu" not in draw.operation.domain.get("activation", ACTIVATIONS):
        raise NotImplementedVariant("its domain has no relu")
    return {"activation": "relu"} if draw.operation.accepts("activation") else {}


@invariant("B", source=EQUATION)
def test_opposite_units(feed_forward: Operation, draw: Draw) -> None:
    """f(x; W₁, b₁) − f(x; −W₁, −b₁) = W₂ (W₁x + b₁), since relu(z) − relu(−z) = z and gelu(z) − gelu(−z) = z."""
    x, w1, w2 = draw_inputs(draw)
    given, activation = draw_biases(draw, w1, "b1", "b2"), draw.keyword("activation", ACTIVATIONS)
    opposite = given | {"b1": -given["b1"]} if "b1" in given else given
    linear = (exactly(x) @ w1.T + given.get("b1", 0.0)) @ w2.T
    assert_equal(feed_forward(x, w1, w2, **given, **activation) - feed_forward(x, -w1, w2, **opposite, **activation), linear)


@invariant("E", source=EQUATION)
def test_zero(feed_forward: Operation, draw: Draw) -> None:
    """W₂ = 0, or x = 0 without b₁, gives exactly b₂, or zeros."""
    x, w1, w2 = draw_inputs(draw)
    given, activation = draw_biases(draw, w1, "b1", "b2"), draw.keyword("activation", ACTIVATIONS)
    x, w2 = draw.one_of(((x, 0 * w2), (x, w2) if "b1" in given else (0 * x, w2)))
    if "b1" in given:
        w2 = 0 * w2
    assert_identical(feed_forward(x, w1, w2, **given, **activation), np.broadcast_to(given.get("b2", 0.0), x.shape))


@invariant("E", source=EQUATION)
def test_dead_units(feed_forward: Operation, draw: Draw) -> None:
    """Where W₁x + b₁ ≤ 0 everywhere, relu gives exactly b₂, or zeros."""
    x, w1, w2 = draw_inputs(draw)
    given = draw_biases(draw, w1, "b1", "b2")
    if "b1" in given:
        given["b1"] = -np.abs(given["b1"])
    y = feed_forward(np.abs(x), -np.abs(w1), w2, **given, **require_relu(draw))
    assert_identical(y, np.broadcast_to(given.get("b2", 0.0), x.shape))


@invariant("E", source=EQUATION)
def test_absolute_value(feed_forward: Operation, draw: Draw) -> None:
    """relu(x) + relu(−x) = |x| and relu(x) − relu(−x) = x, bit for bit."""
    (d,) = draw.dims(d=129)
    if draw.size("h", (2 * d,)) != 2 * d:
        return
    x, one = draw.normal((*draw.batch(SMALL_TOKEN_BATCHES), d)), np.eye(d)
    sign = draw.one_of((1.0, -1.0))
    w1, w2 = np.concatenate([one, -one]), np.concatenate([one, sign * one], axis=1)
    assert_identical(feed_forward(x, w1, w2, **require_relu(draw)), np.abs(x) if sign > 0 else x)


@invariant("B", source=EQUATION, needs=("keyword:activation",))
def test_gelu(feed_forward: Operation, gelu: Operation, draw: Draw) -> None:
    """With W₁ = W₂ = 1 the network is its activation: here the backend's own gelu, the exact one."""
    if "gelu" not in draw.operation.domain.get("activation", ACTIVATIONS):
        return
    (d,) = draw.dims(d=65)
    if draw.size("h", (d,)) == d:
        x, one = draw.array((*draw.batch(SMALL_TOKEN_BATCHES), d), MODERATE_REGIMES), np.eye(d)
        assert_equal(feed_forward(x, one, one, activation="gelu"), gelu(x))


@invariant("B", source=EQUATION)
def test_relu_is_homogeneous(feed_forward: Operation, draw: Draw) -> None:
    """With relu, scaling x and both biases by α > 0 scales the result by α."""
    x, w1, w2 = draw_inputs(draw)
    given, alpha = draw_biases(draw, w1, "b1", "b2"), draw.one_of((2.0, 0.25, 16.0))
    scaled = {name: alpha * b for name, b in given.items()}
    activation = require_relu(draw)
    assert_equal(feed_forward(alpha * x, w1, w2, **scaled, **activation), alpha * feed_forward(x, w1, w2, **given, **activation))


@invariant("B", source=EQUATION, needs=("keyword:b2",))
def test_b2_is_added(feed_forward: Operation, draw: Draw) -> None:
    """b₂ is added to every token, after W₂."""
    x, w1, w2 = draw_inputs(draw)
    given, activation = draw_biases(draw, w1, "b1"), draw.keyword("activation", ACTIVATIONS)
    b2 = draw.gain(x.shape[-1])
    y = feed_forward(x, w1, w2, **given, **activation)
    assert_equal(feed_forward(x, w1, w2, **given, b2=b2, **activation), y + b2)


@invariant("B", source=EQUATION, needs=("keyword:b1",))
def test_b1_weighs_a_constant(feed_forward: Operation, draw: Draw) -> None:
    """b₁ is the weight of one more feature that is 1 everywhere: it is added before the activation."""
    x, w1, w2 = draw_inputs(draw)
    b1, activation = draw.gain(len(w1)), draw.keyword("activation", ACTIVATIONS)
    d = x.shape[-1]
    if draw.size("d", (d + 1,)) == d + 1:
        wider = np.concatenate([x, np.ones((*x.shape[:-1], 1))], axis=-1), np.concatenate([w1, b1[:, None]], axis=1)
        y = feed_forward(*wider, np.concatenate([w2, w2[:1]]), **activation)
        assert_equal(feed_forward(x, w1, w2, b1=b1, **activation), y[..., :d])


@invariant("B", source=EQUATION)
def test_linear_in_w2(feed_forward: Operation, draw: Draw) -> None:
    """Without b₂ the network is linear in W₂."""
    x, w1, w2 = draw_inputs(draw)
    given, activation = draw_biases(draw, w1, "b1"), draw.keyword("activation", ACTIVATIONS)
    v, w = draw.grid(w2.shape), draw.grid(w2.shape)
    parts = (feed_forward(x, w1, part, **given, **activation) for part in (v, w))
    assert_equal(feed_forward(x, w1, v + w, **given, **activation), sum(parts))


@invariant("B", source=EQUATION)
def test_hidden_permutation(feed_forward: Operation, draw: Draw) -> None:
    """The order of the hidden units does not matter: rows of W₁ and b₁ together with columns of W₂."""
    x, w1, w2 = draw_inputs(draw)
    given, activation = draw_biases(draw, w1, "b1", "b2"), draw.keyword("activation", ACTIVATIONS)
    order = draw.rng.permutation(len(w1))
    permuted = given | {"b1": given["b1"][order]} if "b1" in given else given
    y = feed_forward(x, w1, w2, **given, **activation)
    assert_equal(feed_forward(x, w1[order], w2[:, order], **permuted, **activation), y)


@invariant("B", source=EQUATION)
def test_idle_units(feed_forward: Operation, draw: Draw) -> None:
    """Hidden units that nothing leads into, or nothing out of, add nothing: a width may be padded."""
    x, w1, w2 = draw_inputs(draw)
    (h, d), activation = w1.shape, draw.keyword("activation", ACTIVATIONS)
    idle = draw.size("h", (h + draw.one_of((1, 7, 64)),)) - h
    if idle > 0:
        into, out = draw.one_of(((0.0, 1.0), (1.0, 0.0)))
        padded = np.concatenate([w1, into * draw.weight(idle, d)]), np.concatenate([w2, out * draw.weight(d, idle)], axis=1)
        assert_equal(feed_forward(x, *padded, **activation), feed_forward(x, w1, w2, **activation))


@invariant("E", source=EQUATION, level="batch-invariant")
def test_tokens_are_independent(feed_forward: Operation, draw: Draw) -> None:
    """What the other tokens are changes no bit of a token's result."""
    x, w1, w2 = draw_inputs(draw)
    given, activation = draw_biases(draw, w1, "b1", "b2"), draw.keyword("activation", ACTIVATIONS)
    kept, *changed = draw_other_tokens(draw, x)
    for other in changed:
        y, z = (feed_forward(a, w1, w2, **given, **activation).value for a in (x, other))
        assert_identical(z[kept], y[kept])
