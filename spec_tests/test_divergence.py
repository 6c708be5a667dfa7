"""What must hold of divergence."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .calls.violation import NotImplementedVariant
from .helpers.assertions import assert_equal, assert_finite, assert_identical, assert_unmoved, assert_within, exactly
from .helpers.conventions import assert_convention
from .inputs.draw import Draw
from .operations.divergence import BETAS, draw_logits, draw_options, draw_removed, draw_targets, draw_teacher, maybe_targets
from .trials.invariant import invariant

GKD = "Agarwal et al. 2024, arXiv:2306.13649, section 3"
NONE = ("keyword:reduction",)


def draw_pair_of_betas(draw: Draw) -> float:
    """Draw a beta whose 1 − beta the domain has as well."""
    allowed = draw.operation.domain.get("beta", BETAS if draw.operation.accepts("beta") else (0.0,))
    both = tuple(b for b in allowed if any(abs(1 - b - other) < 1e-9 for other in allowed))
    if not both:
        raise NotImplementedVariant("its domain has no beta together with 1 − beta")
    return float(draw.one_of(both))


@invariant("B", source=GKD)
def test_equal_logits(divergence: Operation, draw: Draw) -> None:
    """A student that is its teacher, but for a number added to all its scores, has the loss 0."""
    student, _ = draw_logits(draw)
    moved = exactly(student) + draw.rng.choice((0.0, 1.0, -3.0), (*student.shape[:-1], 1))
    loss = divergence(student, moved, **draw_options(draw, "beta", "temperature", "reduction"))
    assert_equal(loss, np.zeros(loss.shape))


@invariant("B", source=GKD)
def test_shift(divergence: Operation, draw: Draw) -> None:
    """Adding a number to all logits of the student, and another to those of the teacher, changes nothing."""
    student, teacher = draw_logits(draw)
    given = draw_options(draw, "beta", "temperature", "reduction")
    a, b = (draw.rng.choice((1.0, -3.0, 64.0), (*student.shape[:-1], 1)) for _ in range(2))
    moved = divergence(exactly(student) + a, exactly(teacher) + b, **given)
    assert_equal(moved, divergence(student, teacher, **given))


@invariant("B", source=GKD)
def test_permutation(divergence: Operation, draw: Draw) -> None:
    """Permuting the vocabulary of both changes nothing."""
    student, teacher = draw_logits(draw)
    given, order = draw_options(draw, "beta", "temperature", "reduction"), draw.rng.permutation(student.shape[-1])
    assert_equal(divergence(student[..., order], teacher[..., order], **given), divergence(student, teacher, **given))


@invariant("B", source=GKD, needs=("keyword:beta",))
def test_exchange(divergence: Operation, draw: Draw) -> None:
    """Exchanging the student and the teacher turns beta into 1 − beta: beta = ½ is symmetric, 0 and 1 are the two KLs."""
    student, teacher = draw_logits(draw)
    beta, given = draw_pair_of_betas(draw), draw_options(draw, "temperature", "reduction")
    exchanged = divergence(teacher, student, **given, beta=1 - beta)
    assert_equal(divergence(student, teacher, **given, beta=beta), exchanged)


@invariant("B", source=GKD, needs=NONE)
def test_between_zero_and_the_entropy_of_beta(divergence: Operation, draw: Draw) -> None:
    """A row has a loss of at least 0, and for 0 < beta < 1 at most −beta ln beta − (1 − beta) ln(1 − beta)."""
    student, teacher = draw_logits(draw)
    given = draw_options(draw, "beta", "temperature")
    beta = given.get("beta", 0.0)
    most = -sum(np.log(exactly(share)) * share for share in (beta, 1 - beta)) if 0 < beta < 1 else np.inf
    assert_within(divergence(student, teacher, **given, reduction="none"), 0.0, most)


@invariant("B", source=GKD, needs=("keyword:temperature",))
def test_temperature_divides_the_logits(divergence: Operation, draw: Draw) -> None:
    """A temperature is the same as logits of both that are divided by it; the loss is not multiplied by its square."""
    student, teacher = draw_logits(draw)
    given = draw_options(draw, "beta", "reduction")
    temperature = draw.one_of(tuple(draw.operation.domain.get("temperature", (0.5, 2.0, 4.0, 0.25))))
    cold = divergence(exactly(student) / temperature, exactly(teacher) / temperature, **given, **draw.only("temperature", 1.0))
    assert_equal(divergence(student, teacher, **given, temperature=temperature), cold)


@invariant("B", source=GKD)
def test_removed_entries_might_be_absent(divergence: Operation, draw: Draw) -> None:
    """Deleting entries that are −inf in both changes nothing, and gives no NaN."""
    student, teacher, left = draw_removed(draw)
    given = draw_options(draw, "beta", "temperature", "reduction")
    loss = divergence(student, teacher, **given)
    assert_finite(loss)
    assert_equal(loss, divergence(student[..., left], teacher[..., left], **given))


@invariant("B", source=GKD, needs=("keyword:beta", "keyword:reduction"))
def test_teacher_of_one_class(divergence: Operation, soft_target_cross_entropy: Operation, draw: Draw) -> None:
    """At beta = 0 and with a teacher that is certain of one class, a row has the backend's own loss of this class."""
    student, _ = draw_logits(draw, longest=257)
    ids = draw.rng.integers(0, student.shape[-1], student.shape[:-1])
    is_target = np.arange(student.shape[-1]) == ids[..., None]
    certain = np.where(is_target, 0.0, -1200.0)
    given = draw.for_operation(soft_target_cross_entropy).only("reduction", "none")
    loss = divergence(student, certain, **draw.only("beta", 0.0), **draw.only("temperature", 1.0), reduction="none")
    assert_equal(loss, soft_target_cross_entropy(student, is_target.astype(float), **given))


@invariant("B", source=GKD, needs=NONE)
def test_reductions(divergence: Operation, draw: Draw) -> None:
    """The sum adds up the rows' losses, and the mean is the sum over the number of rows that are kept."""
    student, teacher = draw_logits(draw, longest=257)
    given = draw_options(draw, "beta", "temperature") | maybe_targets(draw, student.shape[:-1])
    rows, total, mean = (divergence(student, teacher, **given, reduction=how) for how in ("none", "sum", "mean"))
    targets = given.get("targets", np.zeros(student.shape[:-1]) - 7)
    kept = int(np.sum(targets != given.get("ignore_index", -100)))
    assert_equal(np.sum(np.reshape(rows, (-1,)), axis=0), total)  # type: ignore[call-overload]
    assert_equal(mean * float(kept), total)


@invariant("E", source=GKD, needs=("keyword:targets",))
def test_ignored_rows_do_not_show(divergence: Operation, draw: Draw) -> None:
    """What an ignored row holds does not matter; without a reduction it is exactly 0."""
    student, teacher = draw_logits(draw, longest=257)
    given = draw_options(draw, "beta", "temperature", "reduction") | draw_targets(draw, student.shape[:-1])
    ignored = given["targets"] == given.get("ignore_index", -100)
    others = [np.where(ignored[..., None], draw_teacher(draw, x), x) for x in (student, teacher)]
    before, after = divergence(student, teacher, **given), divergence(*others, **given)
    assert_unmoved(after, before)
    if given.get("reduction", "mean") == "none":
        assert_identical(after.value[ignored], np.zeros(np.sum(ignored)))


@invariant("B", source=GKD, needs=("keyword:targets",))
def test_ignored_rows_might_be_absent(divergence: Operation, draw: Draw) -> None:
    """Deleting the ignored rows changes neither the mean nor the sum."""
    student, teacher = draw_logits(draw, longest=257)
    given: dict[str, Any] = draw_options(draw, "beta", "temperature") | draw_targets(draw, student.shape[:-1])
    given |= draw.only("reduction", "mean", "sum")
    kept = given["targets"] != given.get("ignore_index", -100)
    alone = given | {"targets": given["targets"][kept]}
    assert_equal(divergence(student[kept], teacher[kept], **alone), divergence(student, teacher, **given))


@invariant("B", source="torch.nn.functional.cross_entropy", needs=("keyword:targets",))
def test_all_ignored(divergence: Operation, draw: Draw) -> None:
    """The mean of rows that are all ignored is NaN, which is 0 / 0, or 0: the convention all_ignored."""
    assert_convention(divergence, draw, "all_ignored")
