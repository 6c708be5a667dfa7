"""What must hold of l2_norm."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, assert_unmoved, exactly
from .helpers.conventions import assert_convention, holds_value
from .helpers.lengths import divisor
from .inputs.draw import EPS, MANY_ROWS, Draw, single
from .trials.invariant import invariant

SOURCE = "l2norm of flash-linear-attention"
EPSILON = "where the eps of a normalization by lengths stands"


def draw_inputs(draw: Draw) -> tuple[np.ndarray, dict[str, Any]]:
    """Draw rows of every regime, and an eps."""
    (d,) = draw.dims(d=300)
    return draw.rows((*draw.batch(MANY_ROWS), d)), draw.keyword("eps", (*EPS, 0.0))


def draw_long_rows(draw: Draw) -> tuple[np.ndarray, dict[str, Any]]:
    """Draw rows beside whose squares eps is nothing: their largest entry is 2^40 or more, in float32 2^20, in 16 bits 2^12."""
    (d,) = draw.dims(d=300)
    x = draw.rng.uniform(-1, 1, (*draw.batch(MANY_ROWS), d))
    x[..., 0] = draw.rng.choice((1.0, -1.5), x.shape[:-1])
    exponent = 12 if draw.format.precision < 24 else 20 if draw.format.precision == 24 else 40
    return draw.held(x * 2.0**exponent), draw.keyword("eps", (1e-6, *single(1e-8, 1e-12), 0.0))


@invariant("E", source=EPSILON)
def test_l2_epsilon(l2_norm: Operation, draw: Draw) -> None:
    """Rows whose lengths are near eps or its root are divided as the convention l2_epsilon says."""
    assert_convention(l2_norm, draw, "l2_epsilon")


@invariant("B", source=SOURCE)
def test_unit_length(l2_norm: Operation, draw: Draw) -> None:
    """Where ε is nothing beside the squares, the squares of the result add up to 1."""
    x, eps = draw_long_rows(draw)
    expected = np.sum(np.square(exactly(x)), axis=-1) / np.square(divisor(l2_norm, x, eps.get("eps", 1e-6)))[..., 0]
    assert_equal(np.sum(np.square(l2_norm(x, **eps)), axis=-1), expected)


@invariant("B", source=SOURCE)
def test_direction(l2_norm: Operation, draw: Draw) -> None:
    """A row keeps its direction: x_i y_j = x_j y_i."""
    (d,) = draw.dims(d=300)
    x, eps = draw.normal((*draw.batch(MANY_ROWS), d)), draw.keyword("eps", (*EPS, 0.0))
    y = l2_norm(x, **eps)
    assert_equal(exactly(x) * y[..., ::-1], exactly(x[..., ::-1]) * y)


@invariant("B", source=SOURCE)
def test_scale_invariance(l2_norm: Operation, draw: Draw) -> None:
    """Where ε is nothing beside the squares, a row that is longer gives the same."""
    x, eps = draw_long_rows(draw)
    factor = 2.0 ** draw.rng.integers(0, 3, (*x.shape[:-1], 1))
    assert_equal(l2_norm(x * factor, **eps), l2_norm(x, **eps))


@invariant("B", source=SOURCE, needs=("keyword:eps",))
def test_scale_with_eps(l2_norm: Operation, draw: Draw) -> None:
    """l2_norm(2^k x; 4^k ε) = l2_norm(x; ε). Where ε stands beside the length, it is 2^k ε."""
    (d,) = draw.dims(d=300)
    x, eps = draw.normal((*draw.batch(MANY_ROWS), d)), draw.one_of(single(1e-5, 1e-3, 0.1, 1.0))
    x, scale = np.where(np.abs(x) < 2.0**-6, 0.0, x), 2.0 ** draw.one_of((1, -1, 3, -6, 8))
    power = 2 if holds_value(l2_norm, "l2_epsilon", "inside") else 1
    assert_equal(l2_norm(scale * x, eps=scale**power * eps), l2_norm(x, eps=eps))


@invariant("B", source=SOURCE, needs=("keyword:eps",))
def test_eps_as_given(l2_norm: Operation, draw: Draw) -> None:
    """y √(‖x‖² + ε) = x for every ε from 1e-12 to 1, near ‖x‖² and far from it, so the code uses the ε that is given. Where ε
    stands beside the length, y (‖x‖ + ε) = x, or y max(‖x‖, ε) = x.
    """
    (d,) = draw.dims(d=300)
    (eps,) = single(10.0 ** draw.rng.uniform(-12, 0)) if "eps" not in l2_norm.domain else (draw.one_of(EPS),)
    size = np.sqrt(eps) if holds_value(l2_norm, "l2_epsilon", "inside") else eps
    x = draw.held(draw.normal((4, d)) * 2.0 ** draw.integer(-4, 3) * size / np.sqrt(d))
    assert_equal(l2_norm(x, eps=eps), exactly(x) / divisor(l2_norm, x, eps))


@invariant("E", source=SOURCE)
def test_zeros(l2_norm: Operation, draw: Draw) -> None:
    """A row of zeros gives exactly zeros, beside other rows."""
    (d,) = draw.dims(d=300)
    x = draw.normal((3, d))
    x[1] = 0.0
    assert_identical(l2_norm(x, **draw.keyword("eps", EPS)).value[1], np.zeros(d))


@invariant("B", source=SOURCE)
def test_odd(l2_norm: Operation, draw: Draw) -> None:
    """l2_norm(−x) = −l2_norm(x)."""
    x, eps = draw_inputs(draw)
    assert_unmoved(l2_norm(-x, **eps), -l2_norm(x, **eps))


@invariant("B", source=SOURCE)
def test_permutation(l2_norm: Operation, draw: Draw) -> None:
    """Permuting the features permutes the result."""
    x, eps = draw_inputs(draw)
    order = draw.rng.permutation(x.shape[-1])
    assert_equal(l2_norm(x[..., order], **eps), l2_norm(x, **eps)[..., order])
