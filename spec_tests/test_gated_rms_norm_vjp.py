"""What must hold of gated_rms_norm's gradients."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_all_zero, assert_equal, assert_unmoved, exactly
from .inputs.draw import EPS, Draw
from .operations.gated_rms_norm import draw_call, draw_gated, draw_group, draw_options, draw_width
from .trials.invariant import invariant

SOURCE = "RMSNormGated of state-spaces/mamba, differentiated"


@invariant("B", source=SOURCE, needs=("keyword:eps",), cost=2)
def test_orthogonal(gated_rms_norm_vjp: Operation, draw: Draw) -> None:
    """At ε = 0 each dx is orthogonal to x: scaling a row changes nothing, whatever its gates."""
    d = draw_width(draw)
    keywords = draw_group(draw, d) | draw.keyword("norm_before_gate", (True, False)) | draw.only("activation", "sigmoid")
    given = draw_gated(draw, d)
    c = draw.vectors(given.x.shape)
    dx = gated_rms_norm_vjp(c, *given, **keywords, eps=0.0, wrt="x")
    assert_equal(np.sum(exactly(given.x) * dx, axis=-1), 0.0)


@invariant("B", source=SOURCE, cost=2)
def test_gain_s_gradient_ignores_the_gain(gated_rms_norm_vjp: Operation, draw: Draw) -> None:
    """The weight's gradient does not depend on the weight, in which the equation is linear."""
    given, keywords = draw_call(draw)
    c = draw.vectors(given.x.shape)
    one, other = (
        gated_rms_norm_vjp(c, given.x, given.gate, w, **keywords, wrt="weight")
        for w in (given.weight, np.full_like(given.weight, -2.0))
    )
    assert_unmoved(other, one)


@invariant("E", source=SOURCE, cost=2)
def test_closed_gates(gated_rms_norm_vjp: Operation, draw: Draw) -> None:
    """With norm_before_gate, gates of 0 under silu give x and the weight gradients of exactly 0."""
    d = draw_width(draw)
    keywords = draw_options(draw, d) | draw.only("activation", "silu") | draw.only("norm_before_gate", True)
    given = draw_gated(draw, d)
    c = draw.vectors(given.x.shape)
    dx, dweight = gated_rms_norm_vjp(c, given.x, 0 * given.gate, given.weight, **keywords, wrt=("x", "weight"))
    assert_all_zero(dx)
    assert_all_zero(dweight)


@invariant("B", source=SOURCE, cost=2)
def test_gates_that_close(gated_rms_norm_vjp: Operation, draw: Draw) -> None:
    """At gates of 0, silu has the slope ½ and the sigmoid ¼: with norm_before_gate in groups of all features and c = x, the gates
    get that slope times weight x² / √(q + ε)."""
    d = draw_width(draw)
    keywords = (
        draw_options(draw, d) | draw.only("norm_before_gate", True) | draw.only("group_size", None) | draw.keyword("eps", EPS)
    )
    x, weight = draw.normal((4, d)), draw.gain(d)
    slope = 0.5 if keywords.get("activation", "silu") == "silu" else 0.25
    dgate = gated_rms_norm_vjp(x, x, np.zeros(x.shape), weight, **keywords, wrt="gate")
    root = np.sqrt(np.mean(np.square(exactly(x)), axis=-1, keepdims=True) + keywords["eps"])
    assert_equal(dgate, np.square(exactly(x)) * slope * weight / root)
