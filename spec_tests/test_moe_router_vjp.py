"""What must hold of moe_router's gradients. Nothing is claimed of a call in which the choice of a token is open."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical
from .helpers.experts import row_sums
from .inputs.draw import Draw
from .operations.moe_router import draw_bias, draw_options, take_bias, with_scoring
from .trials.invariant import invariant

EQUATION = "Jiang et al. 2024, section 2.1, differentiated"


def draw_clear_logits(draw: Draw, experts: int) -> np.ndarray:
    """Draw logits of few tokens that differ from each other by at least a quarter."""
    tokens = draw.shape.one_of((1, 2, 5))
    return np.stack([draw.rng.permutation(experts) * 0.25 - draw.one_of((0.0, 1.0, 2.0)) for _ in range(tokens)])


@invariant("B", source=EQUATION, cost=2)
def test_sums_to_zero(moe_router_vjp: Operation, draw: Draw) -> None:
    """The gradient of softmax logits sums to 0 in each row, since a shift of the logits changes nothing."""
    (experts,) = draw.dims(experts=33)
    given = draw_options(draw, experts, "renormalize", "scaling_factor")
    given = with_scoring(draw, given, "softmax")
    logits = draw_clear_logits(draw, experts)
    c = draw.vectors((len(logits), given["k"]))
    dx = moe_router_vjp((c, None), logits, **given, wrt="logits")
    assert_equal(row_sums(dx)[..., 0], 0.0)


@invariant("E", source=EQUATION, cost=2)
def test_others_do_not_matter(moe_router_vjp: Operation, draw: Draw) -> None:
    """Sigmoid logits of experts that were not chosen have a gradient of exactly 0."""
    (experts,) = draw.dims(experts=33)
    given = draw_options(draw, experts, "renormalize", "scaling_factor")
    given = with_scoring(draw, given, "sigmoid")
    logits = draw_clear_logits(draw, experts)
    dx = moe_router_vjp((draw.vectors((len(logits), given["k"])), None), logits, **given, wrt="logits")
    out = np.argsort(np.argsort(-logits, axis=-1), axis=-1) >= given["k"]
    assert_identical(dx.value[out], np.zeros(int(np.sum(out))))


@invariant("B", source=EQUATION, cost=2)
def test_equal_cotangents(moe_router_vjp: Operation, draw: Draw) -> None:
    """The same cotangent for all weights of a token gives 0 where weights are renormalized: their sum does not change."""
    (experts,) = draw.dims(experts=33)
    given = draw_options(draw, experts, "scoring", "scaling_factor") | draw.only("renormalize", True)
    logits = draw_clear_logits(draw, experts)
    c = np.broadcast_to(draw.grid((len(logits), 1)), (len(logits), given["k"]))
    assert_equal(moe_router_vjp((c, None), logits, **given, wrt="logits"), 0.0)


@invariant("E", source=EQUATION, cost=2)
def test_bias_has_no_slope(moe_router_vjp: Operation, draw: Draw) -> None:
    """The bias decides the choice alone: it has a gradient of exactly 0, or none."""
    take_bias(draw)
    (experts,) = draw.dims(experts=33)
    given = draw_options(draw, experts)
    logits = draw_clear_logits(draw, experts)
    db = moe_router_vjp((draw.vectors((len(logits), given["k"])), None), logits, draw_bias(draw, experts), **given, wrt="bias")
    assert_identical(db.value, np.zeros(experts))
