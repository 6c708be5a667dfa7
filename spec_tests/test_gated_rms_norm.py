"""What must hold of gated_rms_norm."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_all_zero, assert_equal, assert_unmoved, exactly
from .inputs.draw import EPS, Draw
from .operations.gated_rms_norm import draw_call, draw_gated, draw_group, draw_options, draw_width, group_sizes
from .trials.invariant import invariant

SOURCE = "RMSNormGated of state-spaces/mamba; FusedRMSNormGated of flash-linear-attention"


def size_of(keywords: dict[str, Any], d: int) -> int:
    """Return how many features a group has."""
    return keywords.get("group_size") or d


@invariant("B", source=SOURCE)
def test_root_mean_square(gated_rms_norm: Operation, draw: Draw) -> None:
    """With weights of 1 and norm_before_gate, y over its gate has the mean square q / (q + ε) in each group, where q is that of
    x, for gates that are powers of two from 64 on, which silu leaves as they are."""
    d = draw_width(draw)
    keywords = draw.keyword("eps", EPS) | draw_group(draw, d)
    keywords |= draw.only("norm_before_gate", True) | draw.only("activation", "silu")
    x = draw.normal((3, d))
    gate = 2.0 ** draw.rng.integers(6, 9, x.shape)
    y = gated_rms_norm(x, gate, np.ones(d), **keywords) / exactly(gate)
    groups = (3, d // size_of(keywords, d), size_of(keywords, d))
    square = np.mean(np.square(exactly(np.reshape(x, groups))), axis=-1)
    assert_equal(np.mean(np.square(np.reshape(y, groups)), axis=-1), square / (square + keywords["eps"]))


@invariant("E", source=SOURCE, needs=("keyword:group_size",))
def test_groups_are_separate(gated_rms_norm: Operation, draw: Draw) -> None:
    """Other numbers and gates in the other groups leave a group as it was."""
    d = draw_width(draw)
    keywords = draw_options(draw, d) | draw.only("group_size", *group_sizes(d))
    given, size = draw_gated(draw, d), size_of(keywords, d)
    i = draw.integer(0, d // size - 1)
    own = np.arange(d) // size == i
    others = given._replace(x=np.where(own, given.x, draw.held(3 - 2 * given.x)), gate=np.where(own, given.gate, -given.gate))
    before, after = (gated_rms_norm(*x, **keywords) for x in (given, others))
    assert_unmoved(after, before, (..., own))


@invariant("B", source=SOURCE, needs=("keyword:group_size",))
def test_one_group(gated_rms_norm: Operation, draw: Draw) -> None:
    """A group of all features is what no group_size gives, and groups alone are rows."""
    d = draw_width(draw)
    keywords, given = draw_options(draw, d), draw_gated(draw, d)
    size = draw.only("group_size", d)["group_size"]
    assert_unmoved(
        gated_rms_norm(*given, **keywords | {"group_size": size}),
        gated_rms_norm(*given, **keywords | draw.only("group_size", None)),
    )


@invariant("B", source=SOURCE)
def test_large_gates(gated_rms_norm: Operation, draw: Draw) -> None:
    """Equal gates of 64 and more, which silu leaves as they are: doubled, they double y with norm_before_gate. Without it they
    leave y as it was, where ε is nothing beside the squares."""
    d = draw_width(draw)
    keywords = draw_group(draw, d) | draw.keyword("norm_before_gate", (True, False)) | draw.only("activation", "silu")
    keywords |= draw.keyword("eps", (1e-12, 1e-8))
    before = keywords.get("norm_before_gate", True)
    x = draw.held(draw.rng.uniform(4, 8, (3, d)) * draw.rng.choice((1.0, -1.0), (3, d)))
    gate, weight = np.full(x.shape, draw.one_of((64.0, 128.0))), draw.gain(d)
    one, other = (gated_rms_norm(x, g, weight, **keywords) for g in (gate, 2 * gate))
    if draw.operation.dtype == "float64" and not before:
        n = np.square(exactly(gate * x))
        groups = (3, d // size_of(keywords, d), size_of(keywords, d))
        square: Any = np.mean(np.reshape(n, groups), axis=-1, keepdims=True)
        ratio = np.sqrt((square + keywords["eps"]) / (square + keywords["eps"] / 4))
        one = one * np.reshape(ratio + np.zeros(groups), x.shape)
    assert_equal(other, 2 * one if before else one)


@invariant("B", source=SOURCE)
def test_groups_of_one_feature(gated_rms_norm: Operation, draw: Draw) -> None:
    """In groups of one feature far above √ε, y is sign(x) weight act(gate), or, without norm_before_gate,
    sign(x act(gate)) weight."""
    d = draw_width(draw)
    keywords = draw_options(draw, d) | draw.only("group_size", *((1, None) if d == 1 else (1,))) | draw.keyword("eps", EPS)
    activation, before = keywords.get("activation", "silu"), keywords.get("norm_before_gate", True)
    eps = keywords["eps"]
    x = draw.held(draw.rng.uniform(1, 2, (3, d)) * draw.rng.choice((1.0, -1.0), (3, d)) * 8)
    gate, weight = draw.held(draw.rng.uniform(1, 4, x.shape) * draw.rng.choice((1.0, -1.0), x.shape)), draw.gain(d)
    sigmoid = 1 / (1 + np.exp(-exactly(gate)))
    opened: Any = sigmoid * gate if activation == "silu" else sigmoid
    inside = exactly(x) if before else exactly(x) * opened
    sign: Any = inside / np.sqrt(np.square(inside) + eps)
    assert_equal(gated_rms_norm(x, gate, weight, **keywords), sign * weight * opened if before else sign * weight)


@invariant("E", source=SOURCE)
def test_closed_gates(gated_rms_norm: Operation, draw: Draw) -> None:
    """A gate of 0 gives exactly 0 under silu, and so does a weight of 0."""
    d = draw_width(draw)
    keywords, given = draw_options(draw, d) | draw.only("activation", "silu"), draw_gated(draw, d)
    closed = draw.rng.random(given.x.shape) < 0.3
    weightless = draw.rng.random(d) < 0.2
    gate, weight = np.where(closed, 0.0, given.gate), np.where(weightless, 0.0, given.weight)
    y = gated_rms_norm(given.x, gate, weight, **keywords)
    assert_all_zero(y, closed | weightless)


@invariant("B", source=SOURCE)
def test_sigmoid_at_zero(gated_rms_norm: Operation, draw: Draw) -> None:
    """Gates of 0 under the sigmoid halve: with norm_before_gate the result is half of the norm; without it, that of x / 2."""
    d = draw_width(draw)
    keywords = draw.keyword("eps", EPS) | draw_group(draw, d) | draw.only("activation", "sigmoid")
    keywords |= draw.keyword("norm_before_gate", (True, False))
    given = draw_gated(draw, d)
    y = gated_rms_norm(given.x, np.zeros(given.x.shape), given.weight, **keywords)
    before = keywords.get("norm_before_gate", True)
    x: Any = exactly(given.x) if before else exactly(given.x) / 2
    groups = (*given.x.shape[:-1], d // size_of(keywords, d), size_of(keywords, d))
    z: Any = np.reshape(x, groups)
    n = np.reshape(z / np.sqrt(np.mean(np.square(z), axis=-1, keepdims=True) + keywords["eps"]), given.x.shape)
    assert_equal(y, n * given.weight / 2 if before else n * given.weight)


@invariant("B", source=SOURCE)
def test_gain_is_linear(gated_rms_norm: Operation, draw: Draw) -> None:
    """The weight multiplies what a weight of 1 gives."""
    given, keywords = draw_call(draw)
    ones = gated_rms_norm(given.x, given.gate, np.ones(given.weight.shape), **keywords)
    assert_equal(gated_rms_norm(*given, **keywords), ones * given.weight)


@invariant("B", source=SOURCE)
def test_odd(gated_rms_norm: Operation, draw: Draw) -> None:
    """y(−x) = −y(x): the gate does not see x."""
    given, keywords = draw_call(draw)
    assert_unmoved(gated_rms_norm(-given.x, given.gate, given.weight, **keywords), -gated_rms_norm(*given, **keywords))


@invariant("B", source=SOURCE)
def test_gate_before_the_rounding(gated_rms_norm: Operation, draw: Draw) -> None:
    """With norm_before_gate the product is rounded once: under gates of 64 and more, which silu leaves as they are, y is within
    half a unit of its last place of the equation."""
    d = draw_width(draw)
    keywords = draw.keyword("eps", EPS) | draw_group(draw, d)
    keywords |= draw.only("norm_before_gate", True) | draw.only("activation", "silu")
    x, weight = draw.normal((4, d)), draw.normal((d,))
    gate = draw.held(draw.rng.uniform(64, 128, x.shape))
    groups = (4, d // size_of(keywords, d), size_of(keywords, d))
    z: Any = np.reshape(exactly(x), groups)  # type: ignore[call-overload]
    n = np.reshape(z / np.sqrt(np.mean(np.square(z), axis=-1, keepdims=True) + keywords["eps"]), x.shape)
    assert_equal(gated_rms_norm(x, gate, weight, **keywords), n * weight * gate)
