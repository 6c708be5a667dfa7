"""What must hold of moe_router. The results are sets: laws compare the weights expert by expert."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_true, exactly
from .helpers.experts import chosen_experts, expected_weights, row_sums, weights_by_expert
from .helpers.rows import draw_row_and_exact_offset
from .inputs.draw import MANY_ROWS, Draw
from .operations.moe_router import (
    OPTIONAL,
    draw_bias,
    draw_groups,
    draw_inputs,
    draw_k,
    draw_logits,
    draw_options,
    take_bias,
    with_scoring,
)
from .trials.invariant import invariant

EQUATION = "Jiang et al. 2024, section 2.1"
BIASED = "DeepSeek-AI 2024, arXiv:2412.19437, eqs. 14 to 16"


def _draw_biases(draw: Draw, experts: int) -> list[np.ndarray]:
    """Draw no bias, any, or one that makes every choice score negative."""
    kind = draw.one_of(("none", "any", "negative", "negative")) if draw.operation.accepts("bias") else "none"
    bias = draw_bias(draw, experts)
    return {"none": [], "any": [bias], "negative": [draw.held(-2.0 - np.abs(bias))]}[kind]


@invariant("E", source=EQUATION)
def test_indices_are_a_set(moe_router: Operation, draw: Draw) -> None:
    """The k indices of a token are different experts, at least 0 and less than their number."""
    logits, given = draw_inputs(draw, *OPTIONAL)
    experts = logits.shape[-1]
    indices = chosen_experts(moe_router(logits, *_draw_biases(draw, experts), **given))
    assert_true(bool(np.all((indices >= 0) & (indices < experts))), "an index is no expert's", experts=experts)
    assert_true(bool(np.all(np.diff(indices, axis=-1) > 0)), "an expert is chosen twice", k=given["k"])


@invariant("B", source=EQUATION)
def test_weights_sum_to_the_factor(moe_router: Operation, draw: Draw) -> None:
    """Renormalized weights of a token sum to the scaling factor, whatever the scores; for k = 1, too."""
    logits, given = draw_inputs(draw, "scoring", "scaling_factor", "groups")
    given["renormalize"] = True
    logits = np.maximum(logits, -20.0) if given.get("scoring") == "sigmoid" else logits
    weights = moe_router(logits, **given).parts["weights"]
    assert_equal(row_sums(weights)[..., 0], np.full(logits.shape[:-1], exactly(given.get("scaling_factor", 1.0)).value))


@invariant("B", source=EQUATION)
def test_weights_are_scores(moe_router: Operation, draw: Draw) -> None:
    """Without renormalize, the weight of a chosen expert is its score among all experts, times the scaling factor."""
    logits, given = draw_inputs(draw, "scoring", "scaling_factor", "groups")
    given["renormalize"] = False
    result = moe_router(logits, **given)
    assert_equal(result.parts["weights"], expected_weights(result, logits, given))


@invariant("B", source=EQUATION)
def test_softmax_after_the_choice(moe_router: Operation, draw: Draw) -> None:
    """Renormalized softmax weights are the softmax of the chosen logits: it does not matter which comes first."""
    logits, given = draw_inputs(draw, "scaling_factor", "groups")
    result = moe_router(logits, **with_scoring(draw, given, "softmax") | draw.only("renormalize", True))
    chosen = np.take_along_axis(logits, chosen_experts(result), axis=-1)
    e = np.exp(exactly(chosen - np.max(chosen, axis=-1, keepdims=True)))
    assert_equal(result.parts["weights"], e / np.sum(e, axis=-1, keepdims=True) * given.get("scaling_factor", 1.0))


@invariant("B", source=EQUATION)
def test_shift_of_the_logits(moe_router: Operation, draw: Draw) -> None:
    """A constant added to a token's logits changes nothing of softmax scores."""
    (experts,) = draw.dims(experts=257)
    logits, offset = draw_row_and_exact_offset(draw, (*draw.batch(MANY_ROWS), experts))
    given = with_scoring(draw, draw_options(draw, experts, "renormalize", "scaling_factor", "groups"), "softmax")
    one, other = (weights_by_expert(moe_router(x, **given), experts) for x in (logits, logits + offset))
    assert_equal(one, other)


@invariant("B", source=BIASED)
def test_constant_bias(moe_router: Operation, draw: Draw) -> None:
    """The same bias for all experts changes no choice, and no bias shows in the weights of what is chosen."""
    take_bias(draw)
    logits, given = draw_inputs(draw, *OPTIONAL)
    experts = logits.shape[-1]
    if "groups" not in given and moe_router.accepts("groups") and draw.one_of((True, True, False)):
        given |= draw_groups(draw, experts)
        given |= draw_k(draw, experts, given)
    if "groups" in given:
        given |= draw.keyword("group_score", ("two", "max"))
    bias = np.full(experts, draw.one_of((1.0, -1.0, 0.25, -8.0, 16.0, -8.0)))
    one, other = (weights_by_expert(moe_router(logits, b, **given), experts) for b in (0 * bias, bias))
    assert_equal(one, other)


@invariant("B", source=BIASED)
def test_bias_decides_the_choice_alone(moe_router: Operation, draw: Draw) -> None:
    """A bias that brings all experts of the last group, or the last k, before all others chooses these; their weights are
    those of a token whose other logits are out of reach."""
    take_bias(draw)
    logits, given = draw_inputs(draw, "scoring", "renormalize", "scaling_factor")
    experts, k = logits.shape[-1], given["k"]
    bias = np.where(np.arange(experts) >= experts - k, draw.one_of((8.0, 64.0)), draw.one_of((0.0, -2.0)))
    result = moe_router(logits, bias, **given)
    assert_equal(
        exactly(chosen_experts(result).astype(float)),
        np.broadcast_to(np.arange(experts - k, experts), result.parts["indices"].shape),
    )
    every = moe_router(logits, **{**given, "k": experts, "renormalize": False})
    weights = weights_by_expert(every, experts)[..., experts - k :]
    if given.get("renormalize", True):
        weights = weights / row_sums(weights) * given.get("scaling_factor", 1.0)
    assert_equal(result.parts["weights"], weights)


@invariant("B", source=EQUATION)
def test_permuted_experts(moe_router: Operation, draw: Draw) -> None:
    """Permuting the experts, in the logits and in the bias, permutes the indices."""
    logits, given = draw_inputs(draw, "scoring", "renormalize", "scaling_factor")
    experts = logits.shape[-1]
    order = draw.rng.permutation(experts)
    biases = [b for b in (draw_bias(draw, experts),) if "bias" in draw.variants("bias")]
    plain = weights_by_expert(moe_router(logits, *biases, **given), experts)
    moved = weights_by_expert(moe_router(logits[..., order], *(b[order] for b in biases), **given), experts)
    assert_equal(moved, plain[..., order])


@invariant("B", source=BIASED)
def test_permuted_groups(moe_router: Operation, draw: Draw) -> None:
    """Permuting the groups, and the experts within each, permutes the indices."""
    (experts,) = draw.dims(experts=129)
    given = draw_groups(draw, experts)
    given |= draw.keyword("group_score", ("two", "max")) | draw.keyword("scoring", ("sigmoid", "softmax"))
    given |= draw_k(draw, experts, given)
    logits = draw_logits(draw, (*draw.batch(MANY_ROWS), experts), given)
    groups = given.get("groups", 1)
    rows = np.arange(experts).reshape(groups, -1)[draw.rng.permutation(groups)]
    order = np.concatenate([draw.rng.permutation(row) for row in rows])
    plain, moved = (weights_by_expert(moe_router(x, **given), experts) for x in (logits, logits[..., order]))
    assert_equal(moved, plain[..., order])


@invariant("E", source=BIASED)
def test_groups_left_out(moe_router: Operation, draw: Draw) -> None:
    """The chosen experts lie in at most top_groups groups, also where every choice score is negative."""
    (experts,) = draw.dims(experts=257)
    given = draw_groups(draw, experts)
    given |= draw.keyword("group_score", ("two", "max")) | draw.keyword("scoring", ("sigmoid", "softmax"))
    given |= draw_k(draw, experts, given)
    logits = draw_logits(draw, (*draw.batch(MANY_ROWS), experts), given)
    chosen = chosen_experts(moe_router(logits, *_draw_biases(draw, experts), **given)) // (experts // given.get("groups", 1))
    count = 1 + np.sum(np.diff(chosen, axis=-1) != 0, axis=-1)
    assert_true(
        bool(np.all(count <= given.get("top_groups", 1))), f"experts of {np.max(count, initial=0)} groups are chosen", **given
    )


@invariant("B", source=EQUATION)
def test_all_experts(moe_router: Operation, draw: Draw) -> None:
    """With k = E all experts are chosen, and softmax weights are the same renormalized or not."""
    logits, given = draw_inputs(draw, "scaling_factor")
    experts = logits.shape[-1]
    given = with_scoring(draw, given, "softmax") | {"k": experts}
    given.pop("renormalize", None)
    results = [moe_router(logits, **given, renormalize=r) for r in (True, False)]
    assert_equal(results[0].parts["weights"], results[1].parts["weights"])
    for result in results:
        assert_equal(exactly(chosen_experts(result).astype(float)), np.broadcast_to(np.arange(experts), logits.shape))


@invariant("B", source=BIASED)
def test_scaling_factor(moe_router: Operation, draw: Draw) -> None:
    """Weights are proportional to the scaling factor, renormalized or not."""
    logits, given = draw_inputs(draw, "scoring", "renormalize", "groups")
    experts = logits.shape[-1]
    one, four = (weights_by_expert(moe_router(logits, **{**given, "scaling_factor": f}), experts) for f in (1.0, 4.0))
    assert_equal(four, one * 4.0)


@invariant("E", source=BIASED, needs=("keyword:groups", "keyword:group_score"))
def test_group_score(moe_router: Operation, draw: Draw) -> None:
    """Of a group with one large score and a group with two a little smaller ones, "max" chooses the first, "two" the second."""
    (size,) = draw.shape.one_of(((2,), (3,), (4,)))
    logits = np.full((2, size), -4.0)
    logits[0, 0], logits[1, 0], logits[1, size - 1] = 2.0, 1.5, 1.25
    turned = draw.one_of((False, True))
    logits = logits[::-1] if turned else logits
    for rule, group in (("max", 0), ("two", 1)):
        given = {"groups": 2, "top_groups": 1, "group_score": rule, "k": 1} | draw.keyword("scoring", ("softmax", "sigmoid"))
        chosen = chosen_experts(moe_router(logits.reshape(1, -1), **given))
        expected = (1 - group if turned else group) * size
        assert_true(chosen.tolist() == [[expected]], f"expert {chosen[0, 0]} is chosen by {rule}", expected=str(expected))
