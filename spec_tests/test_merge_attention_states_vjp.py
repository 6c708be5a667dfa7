"""What must hold of the gradients of merging attention states."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_all_zero, assert_equal, assert_identical
from .helpers.lse_base import from_nats
from .inputs.draw import Draw
from .operations.merge_attention_states import draw_states
from .trials.invariant import invariant

SOURCE = "Ye et al. 2025, section 2.2, differentiated"


@invariant("B", source=SOURCE, cost=2)
def test_shift_of_both(merge_attention_states_vjp: Operation, draw: Draw) -> None:
    """A constant added to both lse is added to the merged one: the gradients of lse_a and lse_b sum to the cotangent of lse."""
    states = draw_states(draw)
    c, g = draw.vectors(states[0].shape), draw.vectors(states[1].shape)
    of_a, of_b = (merge_attention_states_vjp((c, g), *states, wrt=name) for name in ("lse_a", "lse_b"))
    assert_equal(of_a + of_b, g)


@invariant("B", source=SOURCE, cost=2)
def test_lse_gain_what_the_other_loses(merge_attention_states_vjp: Operation, draw: Draw) -> None:
    """Of equal lse and outs of 1 and 0, lse_a in nats gets a quarter of the cotangent of out, and lse_b minus as much."""
    _, lse, _, _ = draw_states(draw)
    ones, zeros, c = np.ones((*lse.shape, 1)), np.zeros((*lse.shape, 1)), draw.grid((*lse.shape, 1))
    for name, quarter in (("lse_a", 0.25), ("lse_b", -0.25)):
        of_nats = from_nats(merge_attention_states_vjp, merge_attention_states_vjp((c, None), ones, lse, zeros, lse, wrt=name))
        assert_equal(of_nats, quarter * c[..., 0])


@invariant("E", source=SOURCE, cost=2)
def test_a_part_without_keys(merge_attention_states_vjp: Operation, draw: Draw) -> None:
    """A part with lse = −∞ gets exactly 0, and what is in its out, NaN included, does not show in the other's gradients, which
    are the cotangents."""
    out_a, lse_a, out_b, _ = draw_states(draw)
    rubbish = np.full(out_b.shape, draw.one_of((0.0, np.nan, np.inf, 1.0)))
    c, g = draw.vectors(out_a.shape), draw.vectors(lse_a.shape)
    states = (out_a, lse_a, rubbish, np.full(lse_a.shape, -np.inf))
    for name in ("out_b", "lse_b"):
        assert_all_zero(merge_attention_states_vjp((c, g), *states, wrt=name))
    assert_identical(merge_attention_states_vjp((c, g), *states, wrt="out_a"), c)
