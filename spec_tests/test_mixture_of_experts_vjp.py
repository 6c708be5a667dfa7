"""What must hold of mixture_of_experts' gradients. Nothing is claimed of a call in which the choice of a token is open."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, assert_unmoved
from .helpers.experts import row_sums
from .inputs.draw import Draw
from .operations.mixture_of_experts import draw_k, draw_stack
from .trials.invariant import invariant

EQUATION = "Jiang et al. 2024, section 2.1, differentiated"


def _draw(draw: Draw) -> tuple[list[np.ndarray], np.ndarray, dict[str, Any]]:
    """Draw a cotangent and the arguments, with a router that ranks the experts of every token in one order, the order, and k."""
    d, h = draw.dims(d=33, h=33)
    experts, n = draw.size("experts", (3, 2, 4, 5)), draw.shape.one_of((3, 1, 8))
    order = draw.rng.permutation(experts)
    x, router = draw.grid((n, d), largest=3), np.zeros((experts, d))
    x[:, 0], router[order, 0] = 1.0, np.arange(experts, 0, -1) * 0.5
    weights = [draw_stack(draw, experts, *shape) for shape in ((h, d), (d, h), (h, d))]
    return [draw.vectors((n, d)), x, router, *weights], order, draw_k(draw, experts)


@invariant("E", source=EQUATION, cost=2)
def test_idle_experts_learn_nothing(mixture_of_experts_vjp: Operation, draw: Draw) -> None:
    """The weights of an expert that no token chose have gradients of exactly 0."""
    arrays, order, given = _draw(draw)
    idle = order[given["k"] :]
    for name in ("w1", "w2", "w3"):
        gradient = mixture_of_experts_vjp(*arrays, **given, wrt=name).value[idle]
        assert_identical(gradient, np.zeros(gradient.shape))


@invariant("E", source=EQUATION, cost=2)
def test_idle_experts_do_not_show(mixture_of_experts_vjp: Operation, draw: Draw) -> None:
    """The weights of an expert that no token chose do not matter to the gradients of x and of the router."""
    (c, x, router, *weights), order, given = _draw(draw)
    given |= draw.keyword("renormalize", (False, True))
    other = [w.copy() for w in weights]
    for w in other:
        w[order[given["k"] :]] = draw.one_of((0.0, 0.125, -0.0625))  # so small that nothing overflows
    for name in ("x", "router"):
        after = mixture_of_experts_vjp(c, x, router, *other, **given, wrt=name)
        assert_unmoved(after, mixture_of_experts_vjp(c, x, router, *weights, **given, wrt=name))


@invariant("B", source=EQUATION, cost=2)
def test_router_sums_to_zero(mixture_of_experts_vjp: Operation, draw: Draw) -> None:
    """The gradient of the router sums to 0 over the experts, since the same row added to all shifts all logits alike."""
    arrays, _, given = _draw(draw)
    given |= draw.keyword("renormalize", (True, False))
    drouter = mixture_of_experts_vjp(*arrays, **given, wrt="router")
    assert_equal(row_sums(np.swapaxes(drouter, 0, 1))[..., 0], 0.0)  # type: ignore[call-overload]


@invariant("B", source=EQUATION, cost=2)
def test_one_chosen_expert_is_swiglu(mixture_of_experts_vjp: Operation, swiglu_vjp: Operation, draw: Draw) -> None:
    """With k = 1, renormalized, the gradients of x and of the chosen expert are swiglu's."""
    (c, x, router, w1, w2, w3), order, given = _draw(draw)
    given["k"], first = 1, order[0]
    plain = (c, x, w1[first], w2[first], w3[first])
    for name in ("x", "w1", "w2", "w3"):
        whole = mixture_of_experts_vjp(c, x, router, w1, w2, w3, **given, wrt=name)
        assert_equal(whole if name == "x" else whole[first], swiglu_vjp(*plain, wrt=name))


@invariant("B", source=EQUATION, cost=2)
def test_equal_outputs_teach_the_router_nothing(mixture_of_experts_vjp: Operation, draw: Draw) -> None:
    """With equal experts whose weights are renormalized, the router has a gradient of 0."""
    (c, x, router, *weights), _, given = _draw(draw)
    equal = [np.broadcast_to(w[:1], w.shape).copy() for w in weights]
    assert_equal(mixture_of_experts_vjp(c, x, router, *equal, **given, wrt="router"), 0.0)
