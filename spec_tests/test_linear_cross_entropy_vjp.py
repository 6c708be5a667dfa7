"""What must hold of linear_cross_entropy's gradients."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical
from .inputs.draw import Draw
from .operations.linear_cross_entropy import draw_inputs
from .trials.invariant import invariant

EQUATION = "Hsu et al. 2024, arXiv:2410.10989, section 3.2"


@invariant("E", source=EQUATION, cost=2)
def test_ignored_tokens_have_none(linear_cross_entropy_vjp: Operation, draw: Draw) -> None:
    """An ignored token has a gradient of exactly 0."""
    x, weight, targets, given = draw_inputs(draw, "ignore_index", "label_smoothing", "z_loss", "softcap")
    ignored = targets == given.get("ignore_index", -100)
    dx = linear_cross_entropy_vjp(draw.grid(()), x, weight, targets, **given, wrt="x").value[ignored]
    assert_identical(dx, np.zeros(dx.shape))


@invariant("B", source=EQUATION, cost=2)
def test_weights_sum_to_zero(linear_cross_entropy_vjp: Operation, draw: Draw) -> None:
    """Without z_loss and softcap the weight's gradient, summed over the vocabulary, is 0: a shift of all logits does nothing."""
    x, weight, targets, given = draw_inputs(draw, "ignore_index", "label_smoothing")
    dweight: Any = linear_cross_entropy_vjp(draw.grid(()), x, weight, targets, **given, wrt="weight")
    assert_equal(np.sum(dweight, axis=0), np.zeros(x.shape[-1]))


@invariant("B", source=EQUATION, cost=2)
def test_chunks(linear_cross_entropy_vjp: Operation, draw: Draw) -> None:
    """The gradients of two chunks of tokens, each weighed by the rows that it keeps, add up to that of the whole."""
    x, weight, targets, given = draw_inputs(draw, "ignore_index", "label_smoothing", "z_loss", "softcap")
    x, targets = x.reshape(-1, x.shape[-1]), targets.reshape(-1)
    cut, c = draw.integer(0, len(targets)), draw.one_of((1.0, -0.5, 2.0))
    kept = [float(np.sum(ids != given.get("ignore_index", -100))) for ids in (targets[:cut], targets[cut:])]
    if min(kept) == 0:
        return
    cotangent = np.asarray(c)
    first = linear_cross_entropy_vjp(cotangent, x[:cut], weight, targets[:cut], **given, wrt="weight") * kept[0]
    second = linear_cross_entropy_vjp(cotangent, x[cut:], weight, targets[cut:], **given, wrt="weight") * kept[1]
    whole = linear_cross_entropy_vjp(cotangent, x, weight, targets, **given, wrt="weight") * sum(kept)
    assert_equal(whole, first + second)
