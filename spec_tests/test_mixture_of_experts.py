"""What must hold of mixture_of_experts, whatever the router chooses."""

from typing import Any

import numpy as np

from .bounds.bounded import Bounded
from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, assert_unmoved, exactly
from .helpers.batch import draw_other_tokens
from .helpers.keywords import accepted_keywords, require_accepted
from .inputs.draw import Draw
from .operations.mixture_of_experts import BIASES, EXPERTS, GATE, draw_biases, draw_inputs, draw_k, draw_own_gate
from .trials.invariant import invariant

EQUATION = "Jiang et al. 2024, section 2.1"


def _draw(draw: Draw, pool: tuple[int, ...] = EXPERTS) -> tuple[np.ndarray, tuple[np.ndarray, ...], dict[str, Any]]:
    """Draw x, the weights, and the keywords."""
    x, *weights = draw_inputs(draw, pool)
    return x, tuple(weights), draw_k(draw, len(weights[0])) | draw.keyword("renormalize", (True, False))


def _decided(draw: Draw, x: np.ndarray, router: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return x and a router that ranks the experts of every token in this order, by far."""
    x, router = x.copy(), router.copy()
    x[..., 0], router[...] = 1.0, 0.0
    router[order, 0] = np.arange(len(router), 0, -1) * draw.one_of((1.0, 2.0))
    return x, router


def _softmax(z: Bounded) -> Bounded:
    e = np.exp(z - np.max(z.value, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


@invariant("B", source=EQUATION)
def test_one_expert(mixture_of_experts: Operation, swiglu: Operation, draw: Draw) -> None:
    """A single expert is swiglu: its weight is 1, renormalized or not."""
    x, (router, w1, w2, w3), given = _draw(draw, (1,))
    assert_equal(mixture_of_experts(x, router, w1, w2, w3, **given), swiglu(x, w1[0], w2[0], w3[0]))


@invariant("B", source=EQUATION)
def test_equal_experts(mixture_of_experts: Operation, swiglu: Operation, draw: Draw) -> None:
    """Equal experts are one of them, times the sum of the weights: 1 where they are renormalized."""
    x, (router, *weights), given = _draw(draw)
    w1, w2, w3 = (np.broadcast_to(w[:1], w.shape).copy() for w in weights)
    x, router = _decided(draw, x, router, draw.rng.permutation(len(router)))
    total = exactly(np.ones((*x.shape[:-1], 1)))
    if not given.get("renormalize", True):
        scores = _softmax(exactly(router[:, 0]))
        top = np.argsort(-router[:, 0])[: given["k"]]
        total = total * np.sum(scores[top], axis=0)  # type: ignore[call-overload]
    assert_equal(mixture_of_experts(x, router, w1, w2, w3, **given), swiglu(x, w1[0], w2[0], w3[0]) * total)


@invariant("B", source=EQUATION)
def test_chosen_experts_are_weighted(mixture_of_experts: Operation, swiglu: Operation, draw: Draw) -> None:
    """Where the router ranks the experts clearly, the result is the sum of the first k experts' outputs, by their weights."""
    x, (router, w1, w2, w3), given = _draw(draw)
    order = draw.rng.permutation(len(router))
    x, router = _decided(draw, x, router, order)
    scores, chosen = _softmax(exactly(router[:, 0])), order[: given["k"]]
    weights = scores[chosen]
    if given.get("renormalize", True):
        weights = weights / np.sum(weights, axis=0)  # type: ignore[call-overload]
    outputs = [swiglu(x, w1[e], w2[e], w3[e]) * weights[i] for i, e in enumerate(chosen)]
    assert_equal(mixture_of_experts(x, router, w1, w2, w3, **given), sum(outputs[1:], start=outputs[0]))


@invariant("B", source="OpenAI 2025, gpt-oss model card, arXiv:2508.10925")
def test_experts_have_biases_and_gates(
    mixture_of_experts: Operation, linear: Operation, gated_activation: Operation, draw: Draw
) -> None:
    """Each expert is the backend's own linear and gated_activation, its biases included, and its weight is on the whole result.
    The router's bias is part of the logits: it chooses, and it weighs."""
    names = accepted_keywords(draw, *BIASES, *GATE)
    x, (router, w1, w2, w3), given = _draw(draw)
    used = {*names} if draw.one_of((True, True, True, False)) else {draw.one_of(names)}
    order, biases, gate = draw.rng.permutation(len(router)), draw_biases(draw, used, *w1.shape), draw_own_gate(draw, used)
    if "b_router" in biases:
        router, ranks = 0 * router, np.zeros(len(router))
        ranks[order] = np.arange(len(router), 0, -1) * draw.one_of((1.0, 2.0))
        biases["b_router"] = ranks
    else:
        x, router = _decided(draw, x, router, order)
        ranks = router[:, 0]
    scores, chosen = _softmax(exactly(ranks)), order[: given["k"]]
    weights = scores[chosen]
    if given.get("renormalize", True):
        weights = weights / np.sum(weights, axis=0)  # type: ignore[call-overload]

    def expert(e: int) -> Any:
        def affine(h: Any, weight: np.ndarray, bias: str) -> Any:
            own = require_accepted({"bias": biases[bias][e]} if bias in biases else {}, linear)
            return linear(h, weight[e], **own)

        packed = np.concatenate([affine(x, w1, "b1"), affine(x, w3, "b3")], axis=-1)
        return affine(gated_activation(packed, **require_accepted(gate, gated_activation)), w2, "b2")

    outputs = [expert(e) * weights[i] for i, e in enumerate(chosen)]
    whole = mixture_of_experts(x, router, w1, w2, w3, **given, **biases, **gate)
    assert_equal(whole, sum(outputs[1:], start=outputs[0]))


@invariant("B", source=EQUATION)
def test_permuted_experts(mixture_of_experts: Operation, draw: Draw) -> None:
    """The order of the experts does not matter, if the router's rows are in the same order."""
    x, weights, given = _draw(draw)
    order = draw.rng.permutation(len(weights[0]))
    assert_equal(mixture_of_experts(x, *(w[order] for w in weights), **given), mixture_of_experts(x, *weights, **given))


@invariant("B", source=EQUATION)
def test_linear_in_w2(mixture_of_experts: Operation, draw: Draw) -> None:
    """It is linear in W₂: the weight is that of the output, whose choice W₂ has no part in."""
    x, (router, w1, w2, w3), given = _draw(draw)
    x, router = _decided(draw, x, router, draw.rng.permutation(len(router)))
    v, w = draw.grid(w2.shape), draw.grid(w2.shape)
    whole, one, other = (mixture_of_experts(x, router, w1, m, w3, **given) for m in (v + w, v, w))
    assert_equal(whole, one + other)


@invariant("E", source=EQUATION)
def test_idle_experts_do_not_show(mixture_of_experts: Operation, draw: Draw) -> None:
    """The weights of an expert that no token chooses do not matter."""
    x, (router, *weights), given = _draw(draw, EXPERTS[1:])
    order = draw.rng.permutation(len(router))
    x, router = _decided(draw, x, router, order)
    other = [w.copy() for w in weights]
    for w in other:
        w[order[given["k"] :]] = draw.one_of((0.0, 1.0, -8.0))
    assert_unmoved(mixture_of_experts(x, router, *other, **given), mixture_of_experts(x, router, *weights, **given))


@invariant("E", source=EQUATION, level="quarantine")
def test_idle_experts_may_be_poisoned(mixture_of_experts: Operation, draw: Draw) -> None:
    """NaN and infinities in an expert that no token chooses do not show."""
    x, (router, *weights), given = _draw(draw, EXPERTS[1:])
    order = draw.rng.permutation(len(router))
    x, router = _decided(draw, x, router, order)
    clean = mixture_of_experts(x, router, *weights, **given)
    for w in weights:
        w[order[given["k"] :]] = draw.one_of((np.nan, np.inf))
    assert_unmoved(mixture_of_experts(x, router, *weights, **given), clean)


@invariant("B", source=EQUATION)
def test_tokens_in_any_number(mixture_of_experts: Operation, draw: Draw) -> None:
    """A token that stands beside many copies of itself, all for the same experts, gets what it gets alone: no expert is full."""
    x, weights, given = _draw(draw)
    token = x.reshape(-1, x.shape[-1])[:1]
    crowd = np.repeat(token, draw.one_of((7, 33)), axis=0)
    assert_equal(mixture_of_experts(crowd, *weights, **given), mixture_of_experts(token, *weights, **given).value)


@invariant("E", source=EQUATION, level="batch-invariant")
def test_tokens_are_independent(mixture_of_experts: Operation, draw: Draw) -> None:
    """What the other tokens are changes no bit of a token's result."""
    x, weights, given = _draw(draw)
    kept, *changed = draw_other_tokens(draw, x)
    plain = mixture_of_experts(x, *weights, **given)
    for other in changed:
        assert_identical(mixture_of_experts(other, *weights, **given).value[kept], plain.value[kept])
