"""What must hold of glu."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, assert_unmoved, assert_within, exactly
from .helpers.batch import draw_other_tokens
from .helpers.keywords import accepted_keywords
from .inputs.draw import Draw, within_domain
from .operations.linear import TOKEN_BATCHES
from .trials.invariant import invariant

EQUATION = "CS336 assignment 1, eq. (6)"


def draw_shapes(draw: Draw) -> tuple[tuple[int, ...], int, int]:
    """Draw the shape of x, its number of features, and the number of outputs."""
    d, h = draw.dims(d=257, h=257)
    return (*draw.batch(TOKEN_BATCHES), d), d, h


def draw_inputs(draw: Draw) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw x, W₁ and W₂, whose gates are half open, or nearly shut and nearly open."""
    size, d, h = draw_shapes(draw)
    return draw.vectors(size), draw.held(draw.weight(h, d) * draw.one_of((1.0, 4.0, 30.0))), draw.weight(h, d)


@invariant("B", source=EQUATION)
def test_opposite_gates(glu: Operation, draw: Draw) -> None:
    """What a gate holds back its opposite lets through: glu(x; W₁, W₂) + glu(x; −W₁, W₂) = W₂ x, since σ(z) + σ(−z) = 1."""
    x, w1, w2 = draw_inputs(draw)
    assert_equal(glu(x, w1, w2) + glu(x, -w1, w2), exactly(x) @ w2.T)


@invariant("B", source=EQUATION)
def test_half_open(glu: Operation, draw: Draw) -> None:
    """W₁ = 0 leaves every gate half open: W₂ x / 2. The gate is the first weight; exchanged, the result would be 0."""
    x, w1, w2 = draw_inputs(draw)
    assert_equal(glu(x, 0 * w1, w2), exactly(x) @ w2.T / 2)


@invariant("E", source=EQUATION)
def test_shut(glu: Operation, draw: Draw) -> None:
    """A gate so far shut that e^(W₁x) vanishes gives exactly 0."""
    x, w1, w2 = draw_inputs(draw)
    x[..., 0], w1[...] = draw.one_of((0.5, 1.0, 3.0)), 0.0
    w1[:, 0] = -4096.0
    assert_identical(glu(x, w1, w2).value, np.zeros((*x.shape[:-1], len(w1))))


@invariant("E", source=EQUATION)
def test_zero(glu: Operation, draw: Draw) -> None:
    """W₂ = 0, or x = 0, gives exactly zeros."""
    x, w1, w2 = draw_inputs(draw)
    x, w2 = draw.one_of(((x, 0 * w2), (0 * x, w2)))
    assert_identical(glu(x, w1, w2).value, np.zeros((*x.shape[:-1], len(w1))))


@invariant("B", source=EQUATION)
def test_linear_in_w2(glu: Operation, draw: Draw) -> None:
    """glu is linear in W₂: glu(x; W₁, V + W) = glu(x; W₁, V) + glu(x; W₁, W)."""
    x, w1, w2 = draw_inputs(draw)
    v, w = draw.grid(w2.shape), draw.grid(w2.shape)
    assert_equal(glu(x, w1, v + w), glu(x, w1, v) + glu(x, w1, w))


@invariant("B", source=EQUATION)
def test_between_nothing_and_all(glu: Operation, draw: Draw) -> None:
    """A gate lets through something between nothing and all: 0 ≤ y / W₂x ≤ 1."""
    x, w1, w2 = draw_inputs(draw)
    signal = exactly(x) @ w2.T
    assert_within(glu(x, w1, w2), np.where(signal.value < 0, signal, 0.0), np.where(signal.value > 0, signal, 0.0))


@invariant("B", source=EQUATION)
def test_composition(glu: Operation, sigmoid: Operation, linear: Operation, draw: Draw) -> None:
    """glu(x; W₁, W₂) = σ(W₁x) ⊙ W₂x, made of the backend's own sigmoid and linear."""
    x, w1, w2 = draw_inputs(draw)
    assert_equal(glu(x, w1, w2), sigmoid(linear(x, w1)) * linear(x, w2))


@invariant("B", source=EQUATION)
def test_permutation(glu: Operation, draw: Draw) -> None:
    """Permuting the rows of both weights permutes the outputs; the order of the features does not matter."""
    x, w1, w2 = draw_inputs(draw)
    columns, rows = draw.rng.permutation(x.shape[-1]), draw.rng.permutation(len(w1))
    assert_equal(glu(x[..., columns], w1[rows][:, columns], w2[rows][:, columns]), glu(x, w1, w2)[..., rows])


@invariant("B", source=EQUATION)
def test_outputs_are_independent(glu: Operation, draw: Draw) -> None:
    """Output o depends on the rows o of W₁ and W₂ alone."""
    size, d, h = draw_shapes(draw)
    x, w1, w2 = draw.grid(size), draw.grid((h, d)), draw.grid((h, d))  # sums are exact in any order
    o, v1, v2 = draw.integer(0, h - 1), w1.copy(), w2.copy()
    v1[o], v2[o] = 0.5 - w1[o], 64.0 - w2[o]
    assert_unmoved(glu(x, v1, v2), glu(x, w1, w2), (..., np.arange(h) != o))


@invariant("E", source=EQUATION, level="batch-invariant")
def test_tokens_are_independent(glu: Operation, draw: Draw) -> None:
    """What the other tokens are changes no bit of a token's result."""
    x, w1, w2 = draw_inputs(draw)
    kept, *changed = draw_other_tokens(draw, x)
    for other in changed:
        assert_identical(glu(other, w1, w2).value[kept], glu(x, w1, w2).value[kept])


@invariant("B", source="Dauphin et al. 2017, eq. 1")
def test_biases_are_a_constant_feature(glu: Operation, draw: Draw) -> None:
    """b1 and b2 are the weights of one more feature of x, which is 1."""
    names = accepted_keywords(draw, "b1", "b2")
    x, w1, w2 = draw_inputs(draw)
    within_domain(draw, d=x.shape[-1] + 1)
    biases = {name: draw.gain(len(w1)) for name in names if name == names[-1] or draw.one_of((True, False))}
    columns = (np.reshape(biases.get(name, np.zeros(len(w1))), (-1, 1)) for name in ("b1", "b2"))
    gate, signal = (np.concatenate([w, column], axis=-1) for w, column in zip((w1, w2), columns, strict=True))
    constant = np.concatenate([x, np.ones((*x.shape[:-1], 1))], axis=-1)
    assert_equal(glu(x, w1, w2, **biases), glu(constant, gate, signal))
