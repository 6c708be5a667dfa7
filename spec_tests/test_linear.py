"""What must hold of linear."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, assert_unmoved
from .helpers.rows import one_hot
from .inputs.draw import Draw
from .operations.linear import TOKEN_BATCHES
from .trials.invariant import invariant


def draw_shapes(draw: Draw) -> tuple[tuple[int, ...], int, int]:
    """Draw the shape of x, d_in and d_out."""
    d_in, d_out = draw.dims(d_in=300, d_out=257)
    return (*draw.batch(TOKEN_BATCHES), d_in), d_in, d_out


def draw_inputs(draw: Draw) -> tuple[np.ndarray, np.ndarray]:
    """Draw x and a weight."""
    size, d_in, d_out = draw_shapes(draw)
    return draw.vectors(size), draw.weight(d_out, d_in)


def draw_exact_inputs(draw: Draw) -> tuple[np.ndarray, np.ndarray]:
    """Draw x and a weight such that every product and every sum of products is exact, in any order.

    Where ranks answer summands, sums of products are exact in the dtype: at most 2^precision products of 0, 1/16 or -1/16.
    """
    size, d_in, d_out = draw_shapes(draw)
    if not draw.operation.backend.adds_summands(draw.operation.name):
        return draw.grid(size), draw.grid((d_out, d_in))
    is_used = np.arange(d_in) < 2.0**draw.format.precision
    return draw.grid(size, largest=1) * is_used, draw.grid((d_out, d_in), largest=1)


@invariant("E")
def test_exact_sums(linear: Operation, draw: Draw) -> None:
    """Where float32 holds every sum of products, y = W x exactly, rounded once to the dtype."""
    x, weight = draw_exact_inputs(draw)
    assert_identical(linear(x, weight).value, draw.format.round(x @ weight.T))


@invariant("E")
def test_selection(linear: Operation, draw: Draw) -> None:
    """A weight with a single ±2^k in each row, yₒ = ±2^k x_σ(o), picks features and keeps all their bits."""
    size, d_in, d_out = draw_shapes(draw)
    chosen = draw.rng.permutation(d_in) if d_in == d_out else draw.rng.integers(0, d_in, d_out)
    x, factor = draw.normal(size), draw.rng.choice((1.0, -1.0, 0.5, 2.0), d_out)
    x = np.where(np.abs(x) < 2.0**-6, 0.0, x)  # half of a number near 0 need not be one of the dtype
    assert_identical(linear(x, one_hot(chosen, d_in) * factor[:, None]), x[..., chosen] * factor)


@invariant("E")
def test_zero(linear: Operation, draw: Draw) -> None:
    """A weight or an input of zeros gives exactly zeros, or exactly the bias."""
    x, weight = draw_inputs(draw)
    used = draw.variants("bias")
    bias = draw.gain(len(weight))
    x, weight = draw.one_of(((x, 0 * weight), (0 * x, weight)))
    y = linear(x, weight, **({"bias": bias} if used else {}))
    assert_identical(y, np.broadcast_to(bias if used else 0.0, y.shape))


@invariant("B")
def test_additive(linear: Operation, draw: Draw) -> None:
    """W(x + z) = W x + W z."""
    size, d_in, d_out = draw_shapes(draw)
    x, z, weight = draw.grid(size), draw.grid(size), draw.weight(d_out, d_in)
    assert_equal(linear(x + z, weight), linear(x, weight) + linear(z, weight))


@invariant("B")
def test_additive_in_weight(linear: Operation, draw: Draw) -> None:
    """(W + V) x = W x + V x."""
    size, d_in, d_out = draw_shapes(draw)
    w, v, x = draw.grid((d_out, d_in)), draw.grid((d_out, d_in)), draw.vectors(size)
    assert_equal(linear(x, w + v), linear(x, w) + linear(x, v))


@invariant("B")
def test_homogeneous(linear: Operation, draw: Draw) -> None:
    """W(αx) = α W x = (αW) x, for α a power of two of either sign."""
    x, weight = draw_inputs(draw)
    alpha = draw.one_of((2.0, -1.0, 0.5, 64.0, -(2.0**-6)))
    y = alpha * linear(x, weight)
    assert_equal(linear(alpha * x, weight), y)
    assert_equal(linear(x, alpha * weight), y)


@invariant("B")
def test_blocks(linear: Operation, draw: Draw) -> None:
    """Splitting the features in two splits the sum: [W V] [x; z] = W x + V z."""
    x, weight = draw_inputs(draw)
    at = draw.size("d_in", (draw.shape.integer(0, x.shape[-1]),))
    if 0 < at < x.shape[-1] and "d_in" not in draw.operation.domain:
        assert_equal(linear(x, weight), linear(x[..., :at], weight[:, :at]) + linear(x[..., at:], weight[:, at:]))


@invariant("B", needs=("keyword:bias",))
def test_bias_is_added(linear: Operation, draw: Draw) -> None:
    """The bias is added to every token: linear(x, W, b) = linear(x, W) + b."""
    x, weight = draw_inputs(draw)
    bias = draw.gain(len(weight)) * draw.one_of((1.0, 16.0))
    assert_equal(linear(x, weight, bias=bias), linear(x, weight) + bias)


@invariant("B")
def test_outputs_are_independent(linear: Operation, draw: Draw) -> None:
    """Output o depends on row o of the weight, and on bias o, alone."""
    x, weight = draw_exact_inputs(draw)
    o, other = draw.integer(0, len(weight) - 1), weight.copy()
    bias = {"bias": draw.grid((len(weight),))} if draw.variants("bias") else {}
    other[o] = draw.one_of((-1.5, 0.0, 1024.0)) - weight[o]
    changed = {name: np.where(np.arange(len(b)) == o, 7.0, b) for name, b in bias.items()}
    y, z = linear(x, weight, **bias), linear(x, other, **changed)
    assert_unmoved(z, y, (..., np.arange(len(weight)) != o))


@invariant("E")
def test_zero_column(linear: Operation, draw: Draw) -> None:
    """A feature whose weights are zero has no influence, however large it is."""
    x, weight = draw_exact_inputs(draw)
    i, other = draw.integer(0, x.shape[-1] - 1), x.copy()
    weight[:, i] = 0.0
    other[..., i] = draw.one_of((-1.0, 0.5 * draw.format.max, -draw.format.max))
    assert_identical(linear(other, weight), linear(x, weight))


@invariant("B")
def test_permutation(linear: Operation, draw: Draw) -> None:
    """The order of the features does not matter; permuting the rows of the weight permutes the outputs."""
    x, weight = draw_inputs(draw)
    columns, rows = draw.rng.permutation(x.shape[-1]), draw.rng.permutation(len(weight))
    assert_equal(linear(x[..., columns], weight[rows][:, columns]), linear(x, weight)[..., rows])
