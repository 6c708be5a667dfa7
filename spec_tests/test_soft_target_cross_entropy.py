"""What must hold of soft_target_cross_entropy."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_within, exactly
from .helpers.rows import one_hot
from .inputs.draw import Draw
from .operations.cross_entropy import SMOOTHINGS
from .operations.soft_target_cross_entropy import draw_inputs, draw_many_rows, draw_probabilities, draw_weighted
from .trials.invariant import invariant

PYTORCH = "torch.nn.functional.cross_entropy"
NONE = ("keyword:reduction",)


@invariant("B", source=PYTORCH)
def test_shift(soft_target_cross_entropy: Operation, draw: Draw) -> None:
    """Adding a number to all logits of a row changes nothing."""
    logits, targets, given = draw_inputs(draw, "label_smoothing", "reduction")
    shift = exactly(logits) + draw.rng.choice((1.0, -3.0, 64.0), (*logits.shape[:-1], 1))
    assert_equal(soft_target_cross_entropy(shift, targets, **given), soft_target_cross_entropy(logits, targets, **given))


@invariant("B", source=PYTORCH)
def test_permutation(soft_target_cross_entropy: Operation, draw: Draw) -> None:
    """Permuting the classes, in the logits and in the targets, changes nothing."""
    logits, targets, given = draw_inputs(draw, "label_smoothing", "reduction")
    order = draw.rng.permutation(logits.shape[-1])
    permuted = soft_target_cross_entropy(logits[..., order], targets[..., order], **given)
    assert_equal(permuted, soft_target_cross_entropy(logits, targets, **given))


@invariant("B", source=PYTORCH, needs=NONE)
def test_reductions(soft_target_cross_entropy: Operation, draw: Draw) -> None:
    """The sum adds up the rows' losses, and the mean is the sum over the number of rows."""
    logits, targets, given = draw_many_rows(draw, "label_smoothing")
    rows, total, mean = (soft_target_cross_entropy(logits, targets, **given, reduction=how) for how in ("none", "sum", "mean"))
    assert_equal(np.sum(np.reshape(rows, (-1,)), axis=0), total)  # type: ignore[call-overload]
    assert_equal(mean * float(np.prod(logits.shape[:-1])), total)


@invariant("B", source=PYTORCH)
def test_one_class(soft_target_cross_entropy: Operation, cross_entropy: Operation, draw: Draw) -> None:
    """A target of one class alone gives the backend's own cross_entropy of this class."""
    logits, targets, given = draw_inputs(draw, "reduction")
    ids = np.argmax(targets, axis=-1)
    soft = soft_target_cross_entropy(logits, one_hot(ids, logits.shape[-1]), **given)
    assert_equal(soft, cross_entropy(logits, ids, **given))


@invariant("B", source="Zhang et al. 2018, arXiv:1710.09412, section 2")
def test_mixtures(soft_target_cross_entropy: Operation, draw: Draw) -> None:
    """The loss of a mixture of two targets is the mixture of their losses."""
    logits, targets, given = draw_inputs(draw, "label_smoothing", "reduction")
    other = draw_probabilities(draw, logits)
    one, two = (soft_target_cross_entropy(logits, q, **given) for q in (targets, other))
    assert_equal(soft_target_cross_entropy(logits, (targets + other) / 2, **given), (one + two) / 2)


@invariant("B", source=PYTORCH)
def test_uniform(soft_target_cross_entropy: Operation, draw: Draw) -> None:
    """Equal logits give ln(vocab), whatever the target and the smoothing."""
    logits, targets, given = draw_many_rows(draw, "label_smoothing")
    level = np.repeat(draw.normal((*logits.shape[:-1], 1), 4.0), logits.shape[-1], axis=-1)
    assert_equal(soft_target_cross_entropy(level, targets, **given), np.log(exactly(float(logits.shape[-1]))))


@invariant("B", source="Cover and Thomas, Elements of Information Theory, theorem 2.6.3", needs=NONE)
def test_between_the_entropy_and_the_gap(soft_target_cross_entropy: Operation, draw: Draw) -> None:
    """A row has a loss of at least the entropy of its target, and at most ln(vocab) plus the mean gap to the largest logit."""
    logits, targets, _ = draw_inputs(draw)
    q = exactly(targets)
    entropy = -np.sum(np.where(targets > 0, q * np.log(exactly(np.where(targets > 0, targets, 1.0))), 0.0), axis=-1)
    gap = np.sum(q * (exactly(np.max(logits, axis=-1, keepdims=True)) - logits), axis=-1)
    rows = soft_target_cross_entropy(logits, targets, reduction="none")
    assert_within(rows, entropy, gap + np.log(exactly(float(logits.shape[-1]))))


@invariant("B", source="Szegedy et al. 2015, section 7", needs=("keyword:label_smoothing",))
def test_smoothing_mixes_with_the_uniform_target(soft_target_cross_entropy: Operation, draw: Draw) -> None:
    """Smoothing by e mixes the loss of e = 0 and that of e = 1, which no target shows in, in the ratio 1 − e to e."""
    logits, targets, given = draw_inputs(draw, "reduction")
    other, e = draw_probabilities(draw, logits), draw.one_of(SMOOTHINGS[:2])
    mixed, plain = (soft_target_cross_entropy(logits, targets, **given, label_smoothing=amount) for amount in (e, 0.0))
    even = soft_target_cross_entropy(logits, other, **given, label_smoothing=1.0)
    assert_equal(mixed, (1 - e) * plain + e * even)


@invariant("B", source=PYTORCH, needs=("keyword:weight",))
def test_weights_of_one(soft_target_cross_entropy: Operation, draw: Draw) -> None:
    """Where every class has the weight 1, the weight changes nothing."""
    logits, targets, given = draw_weighted(draw, "label_smoothing", "reduction")
    weight = np.ones(given.pop("weight").shape)
    weighted = soft_target_cross_entropy(logits, targets, **given, weight=weight)
    assert_equal(weighted, soft_target_cross_entropy(logits, targets, **given))


@invariant("B", source=PYTORCH, needs=("keyword:weight", *NONE))
def test_classes_have_their_own_weights(soft_target_cross_entropy: Operation, log_softmax: Operation, draw: Draw) -> None:
    """Each class's part of a row's loss, −q log_softmax, is multiplied by its own weight."""
    logits, targets, given = draw_weighted(draw)
    rows = soft_target_cross_entropy(logits, targets, **given, reduction="none")
    assert_equal(rows, np.sum(log_softmax(logits, axis=-1) * -(exactly(targets) * given["weight"]), axis=-1))


@invariant("B", source=PYTORCH, needs=("keyword:weight", *NONE))
def test_the_mean_is_over_rows(soft_target_cross_entropy: Operation, draw: Draw) -> None:
    """With weights, too, the mean divides by the number of rows, and not by their weights."""
    logits, targets, given = draw_weighted(draw, "label_smoothing")
    total, mean = (soft_target_cross_entropy(logits, targets, **given, reduction=how) for how in ("sum", "mean"))
    assert_equal(mean * float(np.prod(logits.shape[:-1])), total)
