"""What must hold of linear_cross_entropy: fused or chunked, it is cross_entropy of linear."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_unmoved, exactly
from .helpers.conventions import assert_convention
from .inputs.draw import Draw
from .operations.linear_cross_entropy import draw_inputs
from .trials.invariant import invariant

EQUATION = "Wijmans et al. 2024, arXiv:2411.09009"


@invariant("B", source=EQUATION)
def test_composition(linear_cross_entropy: Operation, cross_entropy: Operation, linear: Operation, draw: Draw) -> None:
    """It is the cross-entropy of the linear map's outputs, made of the backend's own operations."""
    x, weight, targets, given = draw_inputs(draw, "ignore_index", "label_smoothing", "z_loss", "softcap", "reduction")
    assert_equal(linear_cross_entropy(x, weight, targets, **given), cross_entropy(linear(x, weight), targets, **given))


@invariant("B", source=EQUATION)
def test_chunks(linear_cross_entropy: Operation, draw: Draw) -> None:
    """Cut into two chunks of tokens, the means weigh as many rows as they keep: no chunk's mean counts as a row of its own."""
    x, weight, targets, given = draw_inputs(draw, "ignore_index", "label_smoothing", "z_loss", "softcap")
    x, targets = x.reshape(-1, x.shape[-1]), targets.reshape(-1)
    cut = draw.integer(0, len(targets))
    parts = [(x[:cut], targets[:cut]), (x[cut:], targets[cut:])]
    kept = [float(np.sum(ids != given.get("ignore_index", -100))) for _, ids in parts]
    total = sum(
        (linear_cross_entropy(rows, weight, ids, **given) * n for (rows, ids), n in zip(parts, kept, strict=True) if n),
        start=exactly(0.0),
    )
    assert_equal(linear_cross_entropy(x, weight, targets, **given) * sum(kept), total)


@invariant("B", source=EQUATION)
def test_order_of_the_vocabulary(linear_cross_entropy: Operation, draw: Draw) -> None:
    """Permuting the rows of the weight, and the targets with them, changes nothing: any cut of the vocabulary will do."""
    x, weight, targets, given = draw_inputs(draw, "label_smoothing", "z_loss", "softcap", "reduction")
    order = draw.rng.permutation(len(weight))
    moved = np.where(targets == -100, -100, np.argsort(order)[np.maximum(targets, 0)])
    assert_equal(linear_cross_entropy(x, weight[order], moved, **given), linear_cross_entropy(x, weight, targets, **given))


@invariant("B", source=EQUATION)
def test_silent_tokens(linear_cross_entropy: Operation, draw: Draw) -> None:
    """x = 0 leaves all entries equal: ln(vocab), smoothed or not."""
    x, weight, targets, given = draw_inputs(draw, "label_smoothing")
    assert_equal(linear_cross_entropy(0 * x, weight, targets, **given), np.log(exactly(float(len(weight)))))


@invariant("E", source=EQUATION)
def test_ignored_tokens_do_not_show(linear_cross_entropy: Operation, draw: Draw) -> None:
    """The x of an ignored token does not matter."""
    x, weight, targets, given = draw_inputs(draw, "ignore_index", "label_smoothing", "z_loss", "softcap", "reduction")
    ignored = targets == given.get("ignore_index", -100)
    other = np.where(ignored[..., None], draw.normal(x.shape, 8.0), x)
    assert_unmoved(linear_cross_entropy(other, weight, targets, **given), linear_cross_entropy(x, weight, targets, **given))


@invariant("B")
def test_all_ignored(linear_cross_entropy: Operation, draw: Draw) -> None:
    """The mean of no tokens, or of ignored ones alone, is what the backend states. If it states nothing, it is always the same:
    NaN or 0.
    """
    assert_convention(linear_cross_entropy, draw, "all_ignored")
