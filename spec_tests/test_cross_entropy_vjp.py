"""What must hold of cross_entropy's gradient."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, exactly
from .helpers.rows import one_hot
from .inputs.draw import Draw
from .operations.cross_entropy import draw_inputs, draw_weighted, ignores_rows
from .trials.invariant import invariant

EQUATION = "differentiation of CS336 assignment 1, section 4.1"


def draw_cotangent(draw: Draw, shape: tuple[int, ...], reduction: str) -> np.ndarray:
    """Draw a cotangent of the result: one number, or one of each row without a reduction."""
    return draw.grid(shape if reduction == "none" else ())


@invariant("B", source=EQUATION, cost=2)
def test_rows_sum_to_zero(cross_entropy_vjp: Operation, draw: Draw) -> None:
    """Without z_loss and softcap the gradient of each row sums to 0: the loss does not change when a row is shifted."""
    logits, targets, given = draw_inputs(draw, "ignore_index", "label_smoothing", "reduction")
    c = draw_cotangent(draw, targets.shape, given.get("reduction", "mean"))
    dz: Any = cross_entropy_vjp(c, logits, targets, **given, wrt="logits")
    assert_equal(np.sum(dz, axis=-1), np.zeros(targets.shape))


@invariant("E", source=EQUATION, cost=2)
def test_ignored_rows_have_none(cross_entropy_vjp: Operation, draw: Draw) -> None:
    """An ignored row has a gradient of exactly 0, also where every row is ignored."""
    logits, targets, given = draw_inputs(draw, "ignore_index", "label_smoothing", "z_loss", "softcap", "reduction")
    ignore_index = given.get("ignore_index", -100)
    if ignores_rows(draw) and draw.one_of((False, False, True)):
        targets = np.full_like(targets, ignore_index)
    c = draw_cotangent(draw, targets.shape, given.get("reduction", "mean"))
    ignored = targets == ignore_index
    dz = cross_entropy_vjp(c, logits, targets, **given, wrt="logits").value[ignored]
    assert_identical(dz, np.zeros(dz.shape))


@invariant("B", source=EQUATION, cost=2)
def test_probabilities(cross_entropy_vjp: Operation, softmax: Operation, draw: Draw) -> None:
    """Of a row that is kept it is c (softmax(z) − one-hot(target)), made of the backend's own softmax."""
    logits, targets, _ = draw_inputs(draw)
    logits, targets = logits.reshape(-1, logits.shape[-1]), np.maximum(targets.reshape(-1), 0)
    given = draw.only("reduction", "sum", "mean")
    is_sum = given.get("reduction", "mean") == "sum"
    c = draw.grid(()) * (1.0 if is_sum else len(targets))
    dz = cross_entropy_vjp(c, logits, targets, **given, wrt="logits")
    share = c if is_sum else c / len(targets)
    assert_equal(dz, (softmax(logits, axis=-1) - one_hot(targets, logits.shape[-1])) * share)


@invariant("B", source=EQUATION, cost=2, needs=("keyword:reduction",))
def test_mean_and_sum(cross_entropy_vjp: Operation, draw: Draw) -> None:
    """The mean's gradient is the sum's over the number of rows that are kept."""
    logits, targets, given = draw_inputs(draw, "ignore_index", "label_smoothing", "z_loss", "softcap")
    kept = float(np.sum(targets != given.get("ignore_index", -100)))
    c = draw.grid(())
    of_sum, of_mean = (cross_entropy_vjp(c, logits, targets, **given, reduction=r, wrt="logits") for r in ("sum", "mean"))
    assert_equal(of_mean * max(kept, 1.0), of_sum)


@invariant("B", source="torch.nn.functional.cross_entropy", cost=2, needs=("keyword:weight",))
def test_rows_have_the_weights_of_their_targets(cross_entropy_vjp: Operation, draw: Draw) -> None:
    """Without smoothing each row's gradient is multiplied by the weight of its target; the mean's is divided by their sum."""
    logits, targets, given = draw_weighted(draw, "ignore_index", "softcap", "reduction")
    weight, kept = given.pop("weight"), targets != given.get("ignore_index", -100)
    c = draw_cotangent(draw, targets.shape, given.get("reduction", "mean"))
    of_target = np.where(kept, weight[np.where(kept, targets, 0)], 0.0)
    weighted = cross_entropy_vjp(c, logits, targets, **given, weight=weight, wrt="logits")
    plain = cross_entropy_vjp(c, logits, targets, **given, wrt="logits") * of_target[..., None]
    if given.get("reduction", "mean") == "mean" and kept.any():
        plain = plain * float(np.sum(kept)) / np.sum(exactly(of_target.ravel()), axis=0)  # type: ignore[call-overload]
    assert_equal(weighted, plain)
