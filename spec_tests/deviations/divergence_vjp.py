"""What goes wrong with the gradient of divergence: its direction, its factors, and which rows count."""

import math
from typing import Any

import numpy as np

from reference_numpy._divergence import logarithms, mixed
from reference_numpy._marks import double, float64
from reference_numpy.divergence_vjp import divergence_vjp

from . import deviation


@deviation("reference", "temperature_divides_the_gradient")
def temperature_left_out(
    cotangent: Any, student_logits: Any, teacher_logits: Any, targets: Any = None, *, temperature: float = 1.0, **options: Any
) -> Any:
    """the inner derivative 1/T is left out.

    Shows: a temperature other than 1. Hides: 1.
    """
    dz, *others = divergence_vjp(cotangent, student_logits, teacher_logits, targets, temperature=temperature, **options)
    return dz * temperature, *others


@deviation("reference", "forward")
def opposite_sign(cotangent: Any, student_logits: Any, teacher_logits: Any, targets: Any = None, **options: Any) -> Any:
    """the gradient points away from the teacher: p − q in place of q − p.

    Shows: logits that differ. Hides: equal ones.
    """
    dz, *others = divergence_vjp(cotangent, student_logits, teacher_logits, targets, **options)
    return -dz, *others


@deviation("reference")
def forward_for_all(
    cotangent: Any, student_logits: Any, teacher_logits: Any, targets: Any = None, *, beta: float = 0.0, **options: Any
) -> Any:
    """the gradient is that of beta = 0, q − p, whatever beta is.

    Shows: another beta. Hides: beta = 0.
    """
    return divergence_vjp(cotangent, student_logits, teacher_logits, targets, **options)


@deviation("reference", "rows_sum_to_zero")
def logarithms_alone(
    cotangent: Any,
    student_logits: Any,
    teacher_logits: Any,
    targets: Any = None,
    *,
    beta: float = 0.0,
    temperature: float = 1.0,
    reduction: str = "mean",
    **options: Any,
) -> Any:
    """the gradient through softmax is left out for beta > 0: q (log q − log m), whose mean is not subtracted.

    Shows: beta > 0, and logits that differ. Hides: beta = 0, equal logits.
    """
    given = {"beta": beta, "temperature": temperature, "reduction": reduction, **options}
    dz, *others = divergence_vjp(cotangent, student_logits, teacher_logits, targets, **given)
    if double(beta) == 0:
        return dz, *others
    (q, student), (_, teacher) = (logarithms(x, temperature) for x in (student_logits, teacher_logits))
    middle = teacher if double(beta) == 1 else mixed(student, teacher, float64(beta))
    weight = 1.0 if double(beta) == 1 else 1 - beta
    divergences = weight * np.sum(q * (student - middle), axis=-1, keepdims=True) * q
    ones = np.ones(student_logits.shape[:-1])
    c = float64(cotangent) * ones if reduction != "mean" else float64(cotangent) * ones / max(ones.size, 1)
    kept = ones > 0 if targets is None else np.asarray(targets) != options.get("ignore_index", -100)
    if reduction == "mean":
        c = c * (ones.size / max(int(np.sum(kept)), 1))
    added = np.reshape(divergences, student_logits.shape) * c[..., None] / temperature
    return dz + np.where(kept[..., None], added, 0.0), *others


@deviation("reference", "forward")
def mean_not_divided(
    cotangent: Any, student_logits: Any, teacher_logits: Any, targets: Any = None, *, reduction: str = "mean", **options: Any
) -> Any:
    """the mean's gradient is not divided by the number of rows.

    Shows: the mean of two rows or more. Hides: sums, a single row.
    """
    reduction = {"mean": "sum"}.get(reduction, reduction)
    return divergence_vjp(cotangent, student_logits, teacher_logits, targets, reduction=reduction, **options)


@deviation("reference", "ignored_rows")
def ignored_rows_have_a_gradient(
    cotangent: Any, student_logits: Any, teacher_logits: Any, targets: Any = None, **options: Any
) -> Any:
    """ignored rows have a gradient, as if they counted.

    Shows: ignored rows. Hides: none.
    """
    return divergence_vjp(cotangent, student_logits, teacher_logits, None, **options)


@deviation("reference", "forward")
def cotangent_ignored(cotangent: Any, student_logits: Any, teacher_logits: Any, targets: Any = None, **options: Any) -> Any:
    """the cotangent is treated as 1, as in kernels that compute the gradient in the forward pass.

    Shows: a cotangent other than 1. Hides: loss.backward().
    """
    return divergence_vjp(np.ones(cotangent.shape), student_logits, teacher_logits, targets, **options)


@deviation("reference")
def first_cotangent_for_all(cotangent: Any, student_logits: Any, teacher_logits: Any, targets: Any = None, **options: Any) -> Any:
    """with reduction none, every row is multiplied by the cotangent of the first: the kernel loads one number.

    Shows: cotangents that differ from row to row. Hides: the mean and the sum, a single row.
    """
    one = np.ones(cotangent.shape) * np.reshape(cotangent, (-1,))[0] if math.prod(cotangent.shape) else cotangent
    return divergence_vjp(one, student_logits, teacher_logits, targets, **options)
