"""What must hold of the gradient of soft_target_cross_entropy."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, exactly
from .inputs.draw import Draw
from .operations.soft_target_cross_entropy import draw_inputs, draw_weighted
from .trials.invariant import invariant

EQUATION = "differentiation of torch.nn.functional.cross_entropy"


def draw_cotangent(draw: Draw, shape: tuple[int, ...], reduction: str) -> np.ndarray:
    """Draw a cotangent of the result: one number, or one of each row without a reduction."""
    return draw.grid(shape if reduction == "none" else ())


@invariant("B", source=EQUATION, cost=2)
def test_rows_sum_to_zero(soft_target_cross_entropy_vjp: Operation, draw: Draw) -> None:
    """The gradient of each row sums to 0, with weights as well: the loss does not change when a row is shifted."""
    has_weight = draw.operation.accepts("weight") and draw.one_of((False, True))
    logits, targets, given = (draw_weighted if has_weight else draw_inputs)(draw, "label_smoothing", "reduction")
    c = draw_cotangent(draw, logits.shape[:-1], given.get("reduction", "mean"))
    dz: Any = soft_target_cross_entropy_vjp(c, logits, targets, **given, wrt="logits")
    assert_equal(np.sum(dz, axis=-1), np.zeros(logits.shape[:-1]))


@invariant("B", source=EQUATION, cost=2)
def test_probabilities(soft_target_cross_entropy_vjp: Operation, softmax: Operation, draw: Draw) -> None:
    """It is c (softmax(z) − q), made of the backend's own softmax; the mean has c over the number of rows."""
    logits, targets, _ = draw_inputs(draw)
    given = draw.only("reduction", "sum", "mean")
    n = 1.0 if given.get("reduction", "mean") == "sum" else float(np.prod(logits.shape[:-1]))
    c = draw.grid(()) * n
    dz = soft_target_cross_entropy_vjp(c, logits, targets, **given, wrt="logits")
    assert_equal(dz, (softmax(logits, axis=-1) - exactly(targets)) * (c / n))


@invariant("B", source=EQUATION, cost=2, needs=("keyword:reduction",))
def test_mean_and_sum(soft_target_cross_entropy_vjp: Operation, draw: Draw) -> None:
    """The mean's gradient is the sum's over the number of rows."""
    logits, targets, given = draw_inputs(draw, "label_smoothing")
    c = draw.grid(())
    of_sum, of_mean = (
        soft_target_cross_entropy_vjp(c, logits, targets, **given, reduction=r, wrt="logits") for r in ("sum", "mean")
    )
    assert_equal(of_mean * float(np.prod(logits.shape[:-1])), of_sum)


@invariant("B", source=EQUATION, cost=2, needs=("keyword:weight", "keyword:reduction"))
def test_classes_have_their_own_weights(soft_target_cross_entropy_vjp: Operation, softmax: Operation, draw: Draw) -> None:
    """With a weight w the gradient of the sum is c (softmax(z) Σ w q − w q)."""
    logits, targets, given = draw_weighted(draw)
    c, q = draw.grid(()), exactly(targets) * given["weight"]
    dz = soft_target_cross_entropy_vjp(c, logits, targets, **given, reduction="sum", wrt="logits")
    assert_equal(dz, (softmax(logits, axis=-1) * np.sum(q, axis=-1, keepdims=True) - q) * c)
