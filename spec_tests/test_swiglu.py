"""What must hold of swiglu."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, exactly
from .helpers.batch import draw_other_tokens
from .helpers.keywords import accepted_keywords
from .inputs.draw import Draw, within_domain
from .operations.linear import SMALL_TOKEN_BATCHES
from .trials.invariant import invariant

EQUATION = "CS336 assignment 1, eq. (7)"
BIASES = "the book's exercise 7"


def draw_inputs(draw: Draw) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Draw x, W₁, W₂ and W₃, whose gates are half open, or nearly shut and nearly open."""
    d, h = draw.dims(d=129, h=257)
    x = draw.vectors((*draw.batch(SMALL_TOKEN_BATCHES), d))
    return x, draw.held(draw.weight(h, d) * draw.one_of((1.0, 4.0, 30.0))), draw.weight(d, h), draw.weight(h, d)


@invariant("E", source=EQUATION)
def test_zero(swiglu: Operation, draw: Draw) -> None:
    """x = 0, or any weight of zeros, W₁ = 0 included, gives exactly zeros."""
    x, *weights = draw_inputs(draw)
    arguments = [np.clip(x, -4.0, 4.0), *weights]  # what overflows in 16 bits, on its way to W₂ = 0, becomes NaN
    arguments[draw.integer(0, 3)] *= 0
    assert_identical(swiglu(*arguments).value, np.zeros(arguments[0].shape))


@invariant("E", source=EQUATION)
def test_shut(swiglu: Operation, draw: Draw) -> None:
    """A gate so far shut that e^(W₁x) vanishes gives exactly 0, whatever W₃ x is: W₁ is the gate, not W₃."""
    x, w1, w2, w3 = draw_inputs(draw)
    x[..., 0], w1[...] = draw.one_of((0.5, 1.0, 3.0)), 0.0
    w1[:, 0] = -4096.0
    assert_identical(swiglu(x, w1, w2, w3).value, np.zeros(x.shape))


@invariant("B", source=EQUATION)
def test_opposite_gates(swiglu: Operation, draw: Draw) -> None:
    """swiglu(x; W₁) − swiglu(x; −W₁) = W₂ (W₁x ⊙ W₃x), since silu(z) − silu(−z) = z."""
    x, w1, w2, w3 = draw_inputs(draw)
    ungated = ((exactly(x) @ w1.T) * (exactly(x) @ w3.T)) @ w2.T
    assert_equal(swiglu(x, w1, w2, w3) - swiglu(x, -w1, w2, w3), ungated)


@invariant("B", source=EQUATION)
def test_gate_and_signal(swiglu: Operation, draw: Draw) -> None:
    """With W₃ x = c, the same for each unit, y = c W₂ silu(W₁x); with W₁ x = c instead, y = silu(c) W₂ W₃ x."""
    x, w1, w2, w3 = draw_inputs(draw)
    x[..., 0], constant = draw.one_of((1.0, -2.0)), np.zeros(w1.shape)
    constant[:, 0] = 1.0
    c, z, signal = exactly(x[..., :1]), exactly(x) @ w1.T, exactly(x) @ w3.T
    assert_equal(swiglu(x, w1, w2, constant), (z / (1 + np.exp(-z)) * c) @ w2.T)
    assert_equal(swiglu(x, constant, w2, w3), (c / (1 + np.exp(-c)) * signal) @ w2.T)


@invariant("B", source=EQUATION)
def test_linear_in_w2(swiglu: Operation, draw: Draw) -> None:
    """swiglu is linear in W₂."""
    x, w1, w2, w3 = draw_inputs(draw)
    v, w = draw.grid(w2.shape), draw.grid(w2.shape)
    assert_equal(swiglu(x, w1, v + w, w3), swiglu(x, w1, v, w3) + swiglu(x, w1, w, w3))


@invariant("B", source=EQUATION)
def test_linear_in_w3(swiglu: Operation, draw: Draw) -> None:
    """swiglu is linear in W₃, which is not gated."""
    x, w1, w2, w3 = draw_inputs(draw)
    v, w = draw.grid(w3.shape), draw.grid(w3.shape)
    assert_equal(swiglu(x, w1, w2, v + w), swiglu(x, w1, w2, v) + swiglu(x, w1, w2, w))


@invariant("B", source=EQUATION)
def test_hidden_permutation(swiglu: Operation, draw: Draw) -> None:
    """The order of the hidden units does not matter: rows of W₁ and W₃ together with columns of W₂."""
    x, w1, w2, w3 = draw_inputs(draw)
    order = draw.rng.permutation(len(w1))
    assert_equal(swiglu(x, w1[order], w2[:, order], w3[order]), swiglu(x, w1, w2, w3))


@invariant("B", source=EQUATION)
def test_feature_permutation(swiglu: Operation, draw: Draw) -> None:
    """Permuting the features of x, in the columns of W₁ and W₃ and in the rows of W₂, permutes those of the result."""
    x, w1, w2, w3 = draw_inputs(draw)
    order = draw.rng.permutation(x.shape[-1])
    assert_equal(swiglu(x[..., order], w1[:, order], w2[order], w3[:, order]), swiglu(x, w1, w2, w3)[..., order])


@invariant("B", source=EQUATION)
def test_idle_units(swiglu: Operation, draw: Draw) -> None:
    """Hidden units that nothing leads into, or nothing out of, add nothing: a width may be padded."""
    x, w1, w2, w3 = draw_inputs(draw)
    idle = draw.size("h", (len(w1) + draw.shape.one_of((1, 7, 64)),)) - len(w1)
    if idle > 0:
        extra = [draw.weight(idle, x.shape[-1]), draw.weight(x.shape[-1], idle), draw.weight(idle, x.shape[-1])]
        extra[draw.integer(0, 2)] *= 0
        padded = np.concatenate([w1, extra[0]]), np.concatenate([w2, extra[1]], axis=1), np.concatenate([w3, extra[2]])
        assert_equal(swiglu(x, *padded), swiglu(x, w1, w2, w3))


@invariant("E", source=EQUATION, level="batch-invariant")
def test_tokens_are_independent(swiglu: Operation, draw: Draw) -> None:
    """What the other tokens are changes no bit of a token's result."""
    x, *weights = draw_inputs(draw)
    kept, *changed = draw_other_tokens(draw, x)
    for other in changed:
        assert_identical(swiglu(other, *weights).value[kept], swiglu(x, *weights).value[kept])


# --- biases ---------------------------------------------------------------------------------------------------------


@invariant("B", source=BIASES)
def test_biases_are_a_constant_feature(swiglu: Operation, draw: Draw) -> None:
    """b1 and b3 are the weights of one more feature of x, which is 1."""
    names = accepted_keywords(draw, "b1", "b3")
    x, w1, w2, w3 = draw_inputs(draw)
    d = x.shape[-1]
    within_domain(draw, d=d + 1)
    biases = {name: draw.gain(len(w1)) for name in names if name == names[-1] or draw.one_of((True, False))}
    columns = (np.reshape(biases.get(name, np.zeros(len(w1))), (-1, 1)) for name in ("b1", "b3"))
    gate, signal = (np.concatenate([w, column], axis=-1) for w, column in zip((w1, w3), columns, strict=True))
    last = np.concatenate([w2, np.zeros((1, len(w1)))])
    y = swiglu(np.concatenate([x, np.ones((*x.shape[:-1], 1))], axis=-1), gate, last, signal)
    assert_equal(swiglu(x, w1, w2, w3, **biases), y[..., :d])


@invariant("B", source=BIASES, needs=("keyword:b2",))
def test_last_bias_is_added(swiglu: Operation, draw: Draw) -> None:
    """b2 is added to the result."""
    x, w1, w2, w3 = draw_inputs(draw)
    b2 = draw.gain(x.shape[-1])
    assert_equal(swiglu(x, w1, w2, w3, b2=b2), swiglu(x, w1, w2, w3) + exactly(b2))
