"""What goes wrong with divergence: the direction, the mixture, and which rows count."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from reference_numpy._divergence import logarithms, mean_gap, mixed
from reference_numpy._marks import double, float64
from reference_numpy._targets import counted_mean, is_kept
from reference_numpy.divergence import divergence
from reference_numpy.softmax import softmax

from . import deviation
from ._steps import plain


def _reduce(loss: Any, shape: tuple[int, ...], reduction: str) -> Any:
    """Return the losses of rows, their sum, or their mean."""
    if reduction == "none":
        return np.reshape(loss, shape)
    return np.sum(loss, axis=0) if reduction == "sum" else np.mean(loss, axis=0)


def _kept(loss: Any, targets: Any, ignore_index: int) -> Any:
    return loss if targets is None else np.where(is_kept(targets, ignore_index)[0], loss, 0.0)


def _finish(loss: Any, shape: tuple[int, ...], targets: Any, ignore_index: int, reduction: str) -> Any:
    """Return the losses of rows, those that are ignored 0, their sum, or the mean of those that are kept."""
    if targets is None or reduction != "mean":
        return _reduce(_kept(loss, targets, ignore_index), shape, reduction)
    kept = is_kept(targets, ignore_index)[0]
    return counted_mean(np.where(kept, loss, 0.0), kept)


@deviation("reference", "teacher_of_one_class")
def direction_reversed(
    student_logits: Any, teacher_logits: Any, targets: Any = None, *, beta: float = 0.0, **options: Any
) -> Any:
    """the two ends are exchanged: beta = 0 is KL(q‖p) and beta = 1 is KL(p‖q), while the mixture keeps its weights.

    Shows: beta = 0 and beta = 1. Hides: a beta between them.
    """
    beta = {0.0: 1.0, 1.0: 0.0}.get(double(beta), beta)
    return divergence(student_logits, teacher_logits, targets, beta=beta, **options)


@deviation("reference")
def weights_exchanged(student_logits: Any, teacher_logits: Any, targets: Any = None, *, beta: float = 0.0, **options: Any) -> Any:
    """beta weighs the student, and 1 − beta the teacher.

    Shows: every beta but ½. Hides: beta = ½.
    """
    return divergence(student_logits, teacher_logits, targets, beta=1 - beta, **options)


@deviation("reference", "between_zero_and_the_entropy_of_beta")
def negated(student_logits: Any, teacher_logits: Any, targets: Any = None, **options: Any) -> Any:
    """the sign of the divergence is that of its negative: log q − log p in place of log p − log q.

    Shows: logits that differ. Hides: equal ones.
    """
    return -divergence(student_logits, teacher_logits, targets, **options)


def _of_a_mixture(
    find_loss: Callable[..., Any],
    student_logits: Any,
    teacher_logits: Any,
    targets: Any = None,
    *,
    beta: float = 0.0,
    temperature: float = 1.0,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Any:
    """Return the divergence with another loss of the rows where 0 < beta < 1.

    It takes the teacher's distribution and its logarithms, those of the student, and beta.
    """
    if double(beta) in (0.0, 1.0):
        options: dict[str, Any] = {"beta": beta, "temperature": temperature, "reduction": reduction, "ignore_index": ignore_index}
        return divergence(student_logits, teacher_logits, targets, **options)
    loss = find_loss(*logarithms(teacher_logits, temperature), *logarithms(student_logits, temperature), float64(beta))
    return _finish(loss, student_logits.shape[:-1], targets, ignore_index, reduction)


@deviation("reference")
def arguments_of_kl_div_exchanged(student_logits: Any, teacher_logits: Any, targets: Any = None, **options: Any) -> Any:
    """the mixture is taken for the target: KL(m‖p) and KL(m‖q) in place of KL(p‖m) and KL(q‖m), as if by the order of kl_div.

    Shows: 0 < beta < 1. Hides: beta = 0 and 1.
    """

    def loss(p: Any, teacher: Any, q: Any, student: Any, beta: Any) -> Any:
        middle = mixed(student, teacher, beta)
        m = np.exp(middle)
        return beta * mean_gap(m, middle, teacher) + (1 - beta) * mean_gap(m, middle, student)

    return _of_a_mixture(loss, student_logits, teacher_logits, targets, **options)


@deviation("reference", seen=("https://github.com/huggingface/trl/pull/3043",))
def mixture_turned_around(student_logits: Any, teacher_logits: Any, targets: Any = None, **options: Any) -> Any:
    """the mixture has the share beta of the student, m = beta q + (1 − beta) p, while the divergences keep their weights.

    Shows: 0 < beta < 1 other than ½. Hides: beta = 0, ½ and 1.
    """

    def loss(p: Any, teacher: Any, q: Any, student: Any, beta: Any) -> Any:
        middle = mixed(teacher, student, beta)
        return beta * mean_gap(p, teacher, middle) + (1 - beta) * mean_gap(q, student, middle)

    return _of_a_mixture(loss, student_logits, teacher_logits, targets, **options)


@deviation("reference", seen=("https://github.com/modelscope/ms-swift/pull/10213",))
def divergences_with_the_weights_of_the_other(
    student_logits: Any, teacher_logits: Any, targets: Any = None, **options: Any
) -> Any:
    """the divergences exchange their weights, (1 − beta) KL(p‖m) + beta KL(q‖m), while the mixture keeps its own.

    Shows: 0 < beta < 1 other than ½. Hides: beta = 0, ½ and 1.
    """

    def loss(p: Any, teacher: Any, q: Any, student: Any, beta: Any) -> Any:
        middle = mixed(student, teacher, beta)
        return (1 - beta) * mean_gap(p, teacher, middle) + beta * mean_gap(q, student, middle)

    return _of_a_mixture(loss, student_logits, teacher_logits, targets, **options)


@deviation("reference")
def mixture_of_logarithms(student_logits: Any, teacher_logits: Any, targets: Any = None, **options: Any) -> Any:
    """the logarithms are mixed, not the probabilities: m = p^beta q^(1 − beta), whose sum is below 1.

    Shows: 0 < beta < 1. Hides: beta = 0 and 1.
    """

    def loss(p: Any, teacher: Any, q: Any, student: Any, beta: Any) -> Any:
        middle = beta * teacher + (1 - beta) * student
        return beta * mean_gap(p, teacher, middle) + (1 - beta) * mean_gap(q, student, middle)

    return _of_a_mixture(loss, student_logits, teacher_logits, targets, **options)


@deviation("reference", "equal_logits", "exchange")
def cross_entropy_in_its_place(
    student_logits: Any,
    teacher_logits: Any,
    targets: Any = None,
    *,
    beta: float = 0.0,
    temperature: float = 1.0,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Any:
    """the entropy of the teacher is not subtracted: at beta = 0 the loss is a cross-entropy.

    Shows: beta = 0. Hides: other betas.
    """
    if double(beta) != 0:
        options: dict[str, Any] = {"beta": beta, "temperature": temperature, "reduction": reduction, "ignore_index": ignore_index}
        return divergence(student_logits, teacher_logits, targets, **options)
    (_, student), (p, _) = (logarithms(x, temperature) for x in (student_logits, teacher_logits))
    return _finish(-np.sum(p * student, axis=-1), student_logits.shape[:-1], targets, ignore_index, reduction)


@deviation("reference", "teacher_of_one_class")
def ends_as_limits(student_logits: Any, teacher_logits: Any, targets: Any = None, *, beta: float = 0.0, **options: Any) -> Any:
    """beta 0 and 1 are put into the formula of the mixture: the loss is 0 there.

    Shows: beta = 0 and beta = 1. Hides: others.
    """
    loss = divergence(student_logits, teacher_logits, targets, beta=beta, **options)
    return 0 * loss if double(beta) in (0.0, 1.0) else loss


@deviation("reference")
def beta_always_a_half(
    student_logits: Any, teacher_logits: Any, targets: Any = None, *, beta: float = 0.0, **options: Any
) -> Any:
    """every mixture is that of ½: the plain Jensen-Shannon divergence.

    Shows: another beta. Hides: ½, 0 and 1.
    """
    beta = beta if double(beta) in (0.0, 1.0) else 0.5
    return divergence(student_logits, teacher_logits, targets, beta=beta, **options)


@deviation("reference", "temperature_divides_the_logits")
def temperature_of_the_teacher_alone(
    student_logits: Any, teacher_logits: Any, targets: Any = None, *, temperature: float = 1.0, **options: Any
) -> Any:
    """only the teacher has the temperature.

    Shows: a temperature other than 1. Hides: 1.
    """
    return divergence(student_logits, teacher_logits / temperature, targets, **options)


@deviation("reference", "temperature_divides_the_logits", kind="convention")
def times_the_square_of_the_temperature(
    student_logits: Any, teacher_logits: Any, targets: Any = None, *, temperature: float = 1.0, **options: Any
) -> Any:
    """the loss is multiplied by T², as in Hinton's distillation.

    Shows: a temperature other than 1. Hides: 1.
    """
    return divergence(student_logits, teacher_logits, targets, temperature=temperature, **options) * temperature * temperature


@deviation("reference", "temperature_divides_the_logits")
def temperature_ignored(
    student_logits: Any, teacher_logits: Any, targets: Any = None, *, temperature: float = 1.0, **options: Any
) -> Any:
    """the temperature is not used.

    Shows: a temperature other than 1. Hides: 1.
    """
    return divergence(student_logits, teacher_logits, targets, **options)


@deviation(
    "reference",
    "ignored_rows_do_not_show",
    "ignored_rows_might_be_absent",
    "all_ignored",
    seen=("https://github.com/linkedin/Liger-Kernel/pull/974",),
)
def ignored_rows_count(student_logits: Any, teacher_logits: Any, targets: Any = None, **options: Any) -> Any:
    """ignore_index is accepted and not used: every row counts.

    Shows: ignored rows. Hides: none.
    """
    return divergence(student_logits, teacher_logits, None, **options)


@deviation("reference", "reductions", "ignored_rows_might_be_absent")
def mean_over_all_rows(
    student_logits: Any, teacher_logits: Any, targets: Any = None, *, reduction: str = "mean", **options: Any
) -> Any:
    """the mean divides by the number of all rows, the ignored ones among them.

    Shows: ignored rows and the mean. Hides: none, and sums.
    """
    if reduction != "mean":
        return divergence(student_logits, teacher_logits, targets, reduction=reduction, **options)
    total = divergence(student_logits, teacher_logits, targets, reduction="sum", **options)
    return total / max(math.prod(student_logits.shape[:-1]), 1)


@deviation("reference", "reductions")
def mean_over_all_entries(
    student_logits: Any, teacher_logits: Any, targets: Any = None, *, reduction: str = "mean", **options: Any
) -> Any:
    """the mean divides by the number of entries of the logits, as the "mean" of torch.nn.functional.kl_div does.

    Shows: the mean. Hides: sums, a vocabulary of one.
    """
    loss = divergence(student_logits, teacher_logits, targets, reduction=reduction, **options)
    return loss / max(student_logits.shape[-1], 1) if reduction == "mean" else loss


@deviation("reference", "equal_logits", "shift")
def scores_taken_for_logarithms(
    student_logits: Any,
    teacher_logits: Any,
    targets: Any = None,
    *,
    beta: float = 0.0,
    temperature: float = 1.0,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Any:
    """the student's scores stand for its logarithms, without log_softmax.

    Shows: scores that are not normalized. Hides: logarithms of probabilities.
    """
    (q, normalized), (p, teacher) = (logarithms(x, temperature) for x in (student_logits, teacher_logits))
    student = np.where(plain(q) > 0, np.reshape(student_logits, q.shape) / temperature, normalized)
    if double(beta) == 0:
        loss = mean_gap(p, teacher, student)
    elif double(beta) == 1:
        loss = mean_gap(q, student, teacher)
    else:
        middle = mixed(student, teacher, float64(beta))
        loss = beta * mean_gap(p, teacher, middle) + (1 - beta) * mean_gap(q, student, middle)
    return _finish(loss, student_logits.shape[:-1], targets, ignore_index, reduction)


@deviation("reference", "permutation")
def last_entry_left_out(
    student_logits: Any,
    teacher_logits: Any,
    targets: Any = None,
    *,
    beta: float = 0.0,
    temperature: float = 1.0,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Any:
    """the last entry of the vocabulary is not summed: a block ends one entry too early.

    Shows: a last entry of some probability. Hides: others.
    """
    (q, student), (p, teacher) = (logarithms(x, temperature) for x in (student_logits, teacher_logits))
    if double(beta) == 0:
        loss = np.sum((p * (teacher - student))[:, :-1], axis=-1)
    elif double(beta) == 1:
        loss = np.sum((q * (student - teacher))[:, :-1], axis=-1)
    else:
        middle = mixed(student, teacher, float64(beta))
        parts = beta * p * (teacher - middle), (1 - beta) * q * (student - middle)
        loss = np.sum((parts[0] + parts[1])[:, :-1], axis=-1)
    return _finish(loss, student_logits.shape[:-1], targets, ignore_index, reduction)


@deviation("removed_entries_might_be_absent", kind="arithmetic")
def removed_entries_subtracted(student_logits: Any, teacher_logits: Any, targets: Any = None, **options: Any) -> Any:
    """entries of −inf in both are subtracted from each other, which gives NaN, as in kl_div with log_target.

    Shows: entries of −inf. Hides: finite logits.
    """
    loss = divergence(student_logits, teacher_logits, targets, **options)
    removed = np.any(np.isneginf(plain(student_logits)), axis=-1)
    if options.get("reduction", "mean") != "none":
        removed = np.any(removed)
    return np.where(removed, np.nan, loss)


@deviation("reference", kind="arithmetic")
def probabilities_clipped(
    student_logits: Any,
    teacher_logits: Any,
    targets: Any = None,
    *,
    beta: float = 0.0,
    temperature: float = 1.0,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Any:
    """the probabilities are at least 1e-8 before their logarithms.

    Shows: logits 18 or more below the largest. Hides: others.
    """
    q, p = (np.reshape(softmax(x / temperature, axis=-1), (-1, x.shape[-1])) for x in (student_logits, teacher_logits))
    student, teacher = np.log(np.maximum(q, 1e-8)), np.log(np.maximum(p, 1e-8))
    if double(beta) == 0:
        loss = np.sum(p * (teacher - student), axis=-1)
    elif double(beta) == 1:
        loss = np.sum(q * (student - teacher), axis=-1)
    else:
        middle = np.log(np.maximum(beta * p + (1 - beta) * q, 1e-8))
        loss = beta * np.sum(p * (teacher - middle), axis=-1) + (1 - beta) * np.sum(q * (student - middle), axis=-1)
    return _finish(loss, student_logits.shape[:-1], targets, ignore_index, reduction)
