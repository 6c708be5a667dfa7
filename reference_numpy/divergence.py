from typing import Any

import numpy as np

from ._divergence import logarithms, mean_gap, mixed
from ._marks import double, float64
from ._targets import counted_mean, is_kept, summed_losses


def divergence(
    student_logits: Any,
    teacher_logits: Any,
    targets: Any = None,
    *,
    beta: float = 0.0,
    temperature: float = 1.0,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Any:
    """Generalized Jensen-Shannon divergence of a student from a teacher: the loss of distillation on a policy's own answers.

        p = softmax(teacher_logits / T),   q = softmax(student_logits / T),   m = beta p + (1 - beta) q
        l = beta KL(p || m) + (1 - beta) KL(q || m),   KL(p || q) for beta = 0,   KL(q || p) for beta = 1

    A row whose target is ignore_index has l = 0. The mean divides by the number of the other rows.

    Shapes
        student_logits (..., vocab),  teacher_logits (..., vocab),  targets (...) integers
        ->  () for mean and sum, (...) for none
    Dtypes
        as the arguments, or float32 or wider
    Units
        Nats.
    Domain
        logits finite, or -inf in both at once; 0 <= beta <= 1; T > 0; ignore_index any integer; one row or more for the mean.
    Edges
        Equal logits give 0. beta 0 and 1 are not the limits of the formula between them, which are 0. The sum of no rows is 0.
        The mean of rows that are all ignored is 0 / 0, NaN here (the convention all_ignored).

    Raises
        ValueError where reduction is none of "mean", "sum" and "none".
    Choices
        The targets say only which rows count. The loss is not multiplied by T^2. The result is float32 or wider, or has the
        dtype of the logits.
    Source
        Agarwal et al. 2024, arXiv:2306.13649, section 3 (GKD). Liger's fused_linear_jsd and TRL's generalized_jsd_loss.

    A student that is sure of less than its teacher, forwards, backwards, and halfway:

    >>> s, t = [[0.0, 0.0]], [[0.0, np.log(3.0)]]
    >>> [divergence(s, t, beta=beta).round(4) for beta in (0.0, 1.0, 0.5)]
    [np.float64(0.1308), np.float64(0.1438), np.float64(0.0338)]
    """
    shape = float64(student_logits).shape[:-1]
    q, student = logarithms(student_logits, temperature)
    p, teacher = logarithms(teacher_logits, temperature)
    if double(beta) == 0:
        loss, terms = mean_gap(p, teacher, student), p * (teacher - student)
    elif double(beta) == 1:
        loss, terms = mean_gap(q, student, teacher), q * (student - teacher)
    else:
        middle = mixed(student, teacher, float64(beta))
        loss = beta * mean_gap(p, teacher, middle) + (1 - beta) * mean_gap(q, student, middle)
        terms = beta * (p * (teacher - middle)) + (1 - beta) * (q * (student - middle))
    kept = np.full(q.shape[0], True) if targets is None else is_kept(targets, ignore_index)[0]
    loss = np.where(kept, loss, 0.0)
    if reduction == "none":
        return np.reshape(loss, shape)
    if reduction == "sum":
        return summed_losses(loss, kept, terms)
    if reduction == "mean":
        return counted_mean(loss, kept, terms=terms)
    raise ValueError(f"divergence: reduction={reduction!r} is unknown; there are 'mean', 'sum' and 'none'.")
