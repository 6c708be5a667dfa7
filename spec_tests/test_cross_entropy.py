"""What must hold of cross_entropy."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, assert_unmoved, assert_within, exactly
from .helpers.conventions import assert_convention
from .inputs.draw import Draw
from .operations.cross_entropy import SMOOTHINGS, Z_LOSSES, draw_inputs, draw_many_rows, draw_weighted
from .trials.invariant import invariant

EQUATION = "CS336 assignment 1, section 4.1"
NONE = ("keyword:reduction",)
WEIGHT = "torch.nn.functional.cross_entropy"


@invariant("B", source=EQUATION)
def test_shift(cross_entropy: Operation, draw: Draw) -> None:
    """Adding a number to all logits of a row changes nothing."""
    logits, targets, given = draw_inputs(draw, "ignore_index", "label_smoothing", "reduction")
    shift = draw.rng.choice((1.0, -3.0, 64.0), (*logits.shape[:-1], 1))
    assert_equal(cross_entropy(exactly(logits) + shift, targets, **given), cross_entropy(logits, targets, **given))


@invariant("B", source=EQUATION)
def test_permutation(cross_entropy: Operation, draw: Draw) -> None:
    """Permuting the vocabulary, in the logits and in the targets, changes nothing."""
    logits, targets, given = draw_inputs(draw, "label_smoothing", "z_loss", "softcap", "reduction")
    order = draw.rng.permutation(logits.shape[-1])
    moved = np.where(targets == -100, -100, np.argsort(order)[np.maximum(targets, 0)])
    assert_equal(cross_entropy(logits[..., order], moved, **given), cross_entropy(logits, targets, **given))


@invariant("B", source=EQUATION)
def test_ignored_rows_might_be_absent(cross_entropy: Operation, draw: Draw) -> None:
    """Deleting the ignored rows changes neither the mean nor the sum."""
    logits, targets, given = draw_inputs(draw, "ignore_index", "label_smoothing", "z_loss", "softcap")
    given |= draw.only("reduction", "mean", "sum")
    kept = targets != given.get("ignore_index", -100)
    assert_equal(cross_entropy(logits[kept], targets[kept], **given), cross_entropy(logits, targets, **given))


@invariant("E", source=EQUATION)
def test_ignored_rows_do_not_show(cross_entropy: Operation, draw: Draw) -> None:
    """What an ignored row holds does not matter."""
    logits, targets, given = draw_inputs(draw, "ignore_index", "label_smoothing", "z_loss", "softcap", "reduction")
    ignored = targets == given.get("ignore_index", -100)
    other = np.where(ignored[..., None], draw.normal(logits.shape, 8.0), logits)
    assert_unmoved(cross_entropy(other, targets, **given), cross_entropy(logits, targets, **given))


@invariant("B", source=EQUATION, needs=NONE)
def test_reductions(cross_entropy: Operation, draw: Draw) -> None:
    """The sum adds up the rows' losses, and the mean is the sum over the number of rows that are kept."""
    logits, targets, given = draw_many_rows(draw, "ignore_index", "label_smoothing", "z_loss", "softcap")
    rows, total, mean = (cross_entropy(logits, targets, **given, reduction=how) for how in ("none", "sum", "mean"))
    kept = int(np.sum(targets != given.get("ignore_index", -100)))
    assert_equal(np.sum(np.reshape(rows, (-1,)), axis=0), total)  # type: ignore[call-overload]
    assert_equal(mean * float(kept), total)


@invariant("E", source=EQUATION, needs=NONE)
def test_ignored_rows_are_zero(cross_entropy: Operation, draw: Draw) -> None:
    """Without a reduction an ignored row is exactly 0, smoothed or not, and with a z_loss as well."""
    logits, targets, given = draw_inputs(draw, "ignore_index", "label_smoothing", "z_loss", "softcap")
    ignored = targets == given.get("ignore_index", -100)
    rows = cross_entropy(logits, targets, **given, reduction="none").value
    assert_identical(rows[ignored], np.zeros(np.sum(ignored)))


@invariant("B", source=EQUATION, needs=NONE)
def test_chunks(cross_entropy: Operation, draw: Draw) -> None:
    """Cut into two chunks of rows, the sums add up, and each row has the loss that it has among all others."""
    logits, targets, given = draw_inputs(draw, "ignore_index", "label_smoothing", "z_loss", "softcap")
    logits, targets = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    cut = draw.integer(0, len(targets))
    parts = [(logits[:cut], targets[:cut]), (logits[cut:], targets[cut:])]
    first, second = (cross_entropy(*part, **given, reduction="sum") for part in parts)
    assert_equal(first + second, cross_entropy(logits, targets, **given, reduction="sum"))
    rows = cross_entropy(logits, targets, **given, reduction="none")
    assert_equal(cross_entropy(*parts[1], **given, reduction="none"), rows[cut:])


@invariant("B")
def test_all_ignored(cross_entropy: Operation, draw: Draw) -> None:
    """The mean of no rows, or of ignored rows alone, is what the backend states. If it states nothing, it is always the same:
    NaN or 0.
    """
    assert_convention(cross_entropy, draw, "all_ignored")


@invariant("B", source=EQUATION)
def test_single_entry(cross_entropy: Operation, draw: Draw) -> None:
    """A vocabulary of one entry leaves no doubt: the loss is 0."""
    size = draw.size("vocab", (1,))
    logits, given = draw.normal((*draw.batch(), size), 8.0), draw.keyword("reduction", ("mean", "sum", "none"))
    y = cross_entropy(logits, np.zeros(logits.shape[:-1], dtype=int), **given)
    if size == 1:
        assert_equal(y, np.zeros(y.shape))


@invariant("B", source=EQUATION)
def test_uniform(cross_entropy: Operation, draw: Draw) -> None:
    """Equal logits give ln(vocab), whatever the target and the smoothing."""
    logits, targets, given = draw_many_rows(draw, "label_smoothing")
    level = np.repeat(draw.normal((*logits.shape[:-1], 1), 4.0), logits.shape[-1], axis=-1)
    assert_equal(cross_entropy(level, targets, **given), np.log(exactly(float(logits.shape[-1]))))


@invariant("B", source=EQUATION, needs=NONE)
def test_log_softmax(cross_entropy: Operation, log_softmax: Operation, draw: Draw) -> None:
    """Each row's loss is −log_softmax at its target, made of the backend's own log_softmax."""
    logits, targets, _ = draw_inputs(draw)
    logits, targets = logits.reshape(-1, logits.shape[-1]), np.maximum(targets.reshape(-1), 0)
    rows = cross_entropy(logits, targets, reduction="none")
    assert_equal(rows, -log_softmax(logits, axis=-1)[np.arange(len(targets)), targets])


@invariant("B", source="Szegedy et al. 2015, section 7", needs=("keyword:label_smoothing",))
def test_smoothing_is_linear(cross_entropy: Operation, draw: Draw) -> None:
    """Smoothing by e mixes the loss of e = 0 and that of e = 1 in the ratio 1 − e to e."""
    logits, targets, given = draw_inputs(draw, "z_loss", "softcap", "reduction")
    e = draw.one_of(SMOOTHINGS[:2])
    mixed, plain, even = (cross_entropy(logits, targets, **given, label_smoothing=amount) for amount in (e, 0.0, 1.0))
    assert_equal(mixed, (1 - e) * plain + e * even)


@invariant("B", source="Szegedy et al. 2015, section 7", needs=("keyword:label_smoothing",))
def test_even_smoothing_ignores_targets(cross_entropy: Operation, draw: Draw) -> None:
    """With a smoothing of 1 the target does not matter."""
    logits, targets, given = draw_inputs(draw, "z_loss", "softcap", "reduction")
    other = np.where(targets == -100, -100, (np.maximum(targets, 0) + 1) % logits.shape[-1])
    one, two = (cross_entropy(logits, ids, **given, label_smoothing=1.0) for ids in (targets, other))
    assert_equal(one, two)


@invariant("B", source="PaLM, arXiv:2204.02311, section 5", needs=("keyword:z_loss", "keyword:reduction"))
def test_z_loss(cross_entropy: Operation, logsumexp: Operation, draw: Draw) -> None:
    """z_loss adds that many times the square of logsumexp to each row that is kept."""
    logits, targets, given = draw_inputs(draw, "label_smoothing")
    logits, targets, amount = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1), draw.one_of(Z_LOSSES[:3])
    with_z, without = (cross_entropy(logits, targets, **given, z_loss=z, reduction="none") for z in (amount, 0.0))
    square = np.square(logsumexp(logits, axis=-1)) * amount
    assert_equal(with_z, without + np.where(targets == -100, 0.0, square))


@invariant("B", source="Gemma 2, arXiv:2408.00118, section 2", needs=("keyword:softcap",))
def test_softcap(cross_entropy: Operation, draw: Draw) -> None:
    """A softcap of c is the loss of c tanh(z / c)."""
    logits, targets, given = draw_inputs(draw, "label_smoothing", "z_loss", "reduction")
    c = draw.one_of((30.0, 15.0, 1.0))
    capped = cross_entropy(logits, targets, **given, softcap=c)
    assert_equal(capped, cross_entropy(np.tanh(exactly(logits) / c) * c, targets, **given))


@invariant("B", source=EQUATION, needs=NONE)
def test_between_the_gap_and_the_vocabulary(cross_entropy: Operation, draw: Draw) -> None:
    """The loss lies between max(z) − z_target and that plus ln(vocab)."""
    logits, targets, _ = draw_inputs(draw)
    targets = np.maximum(targets, 0)
    rows = cross_entropy(logits, targets, reduction="none")
    gap = exactly(np.max(logits, axis=-1)) - np.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    assert_within(rows, gap, gap + np.log(exactly(float(logits.shape[-1]))))


@invariant("B", source=WEIGHT, needs=("keyword:weight",))
def test_weights_of_one(cross_entropy: Operation, draw: Draw) -> None:
    """Where every entry of the vocabulary has the weight 1, the weight changes nothing."""
    logits, targets, given = draw_weighted(draw, "ignore_index", "label_smoothing", "softcap", "reduction")
    weight = np.ones(given.pop("weight").shape)
    assert_equal(cross_entropy(logits, targets, **given, weight=weight), cross_entropy(logits, targets, **given))


@invariant("B", source=WEIGHT, needs=("keyword:weight", *NONE))
def test_rows_have_the_weights_of_their_targets(cross_entropy: Operation, draw: Draw) -> None:
    """Without smoothing each row's loss is multiplied by the weight of its target, and its sum with it."""
    logits, targets, given = draw_weighted(draw, "ignore_index", "softcap")
    weight, kept = given.pop("weight"), targets != given.get("ignore_index", -100)
    of_target = exactly(np.where(kept, weight[np.where(kept, targets, 0)], 0.0))
    rows, total = (cross_entropy(logits, targets, **given, weight=weight, reduction=how) for how in ("none", "sum"))
    expected = cross_entropy(logits, targets, **given, reduction="none") * of_target
    assert_equal(rows, expected)
    assert_equal(total, np.sum(np.reshape(expected, (-1,)), axis=0))


@invariant("B", source=WEIGHT, needs=("keyword:weight", *NONE))
def test_the_mean_is_weighted(cross_entropy: Operation, draw: Draw) -> None:
    """The mean is the sum over the sum of the weights of the targets that are kept."""
    logits, targets, given = draw_weighted(draw, "ignore_index", "label_smoothing", "softcap")
    kept = targets[targets != given.get("ignore_index", -100)]
    total, mean = (cross_entropy(logits, targets, **given, reduction=how) for how in ("sum", "mean"))
    if kept.size:
        assert_equal(mean * np.sum(exactly(given["weight"][kept]), axis=0), total)  # type: ignore[call-overload]


@invariant("B", source=WEIGHT, needs=("keyword:weight", "keyword:label_smoothing", *NONE))
def test_smoothed_entries_have_their_own_weights(cross_entropy: Operation, log_softmax: Operation, draw: Draw) -> None:
    """With a smoothing of 1 a row's loss is the mean of −log_softmax times the weight of each entry."""
    logits, targets, given = draw_weighted(draw)
    rows = cross_entropy(logits, targets, **given, label_smoothing=1.0, reduction="none")
    even = np.mean(log_softmax(logits, axis=-1) * -exactly(given["weight"]), axis=-1)
    assert_equal(rows, np.where(targets == -100, 0.0, 1.0) * even)
