from typing import Any

import numpy as np

from ._divergence import logarithms, mixed
from ._marks import double, exact, float64, is_one, through_maximum
from ._sums import rows
from ._targets import is_kept


def divergence_vjp(
    cotangent: Any,
    student_logits: Any,
    teacher_logits: Any,
    targets: Any = None,
    *,
    beta: float = 0.0,
    temperature: float = 1.0,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Any:
    """Gradient of divergence: with c the share of the cotangent that a row gets, and m = p for beta = 1,

        dstudent_i = c (q_i - p_i) / T                                              (beta = 0)
        dstudent_i = c (1 - beta) q_i (log(q_i / m_i) - KL(q || m)) / T             (0 < beta < 1; without 1 - beta for beta = 1)

    c is 0 for an ignored row, and for the others the row's cotangent (none), the cotangent (sum), or the cotangent over the
    number of rows that are kept (mean).

    Shapes
        cotangent () or (...),  student_logits (..., vocab),  teacher_logits (..., vocab),  targets (...) integers  ->
        (dstudent_logits, None, None)
    Dtypes
        as the arguments
    Domain
        As in divergence; cotangents finite.
    Edges
        Each row has the sum 0. An ignored row has exactly 0, also where all are ignored. Equal logits give 0.

    Raises
        ValueError as divergence does.
    Choices
        The teacher is a constant. The gradient through log m has the sum 0, so that code may leave it out.
    Source
        Differentiation of Agarwal et al. 2024, arXiv:2306.13649, section 3.

    >>> divergence_vjp(4.0, [[0.0, 0.0]], [[0.0, np.log(3.0)]])[0]
    array([[ 1., -1.]])
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"divergence_vjp: reduction={reduction!r} is unknown; there are 'mean', 'sum' and 'none'.")
    shape, c = float64(student_logits).shape, float64(cotangent)
    q, student = logarithms(student_logits, temperature)
    p, teacher = logarithms(teacher_logits, temperature)
    kept = np.full(q.shape[0], True) if targets is None else is_kept(targets, ignore_index)[0]
    share = np.reshape(c, (-1, 1)) if reduction == "none" else c
    if reduction == "mean":
        share = share / np.float64(max(int(np.sum(kept)), 1))
    if double(beta) == 0:
        dlog = -p
    elif double(beta) == 1:
        dlog = q * (student - teacher + 1)
    else:
        own = (1 - beta) * q
        dlog = (1 - beta) * (q * (student - mixed(student, teacher, float64(beta)) + 1)) + (own - exact(own))
    dz = share * (dlog - q * np.sum(dlog, axis=-1, keepdims=True))
    dz = through_maximum(dz, np.sum(dz, axis=-1, keepdims=True), rows(float64(student_logits)), axis=-1)
    dz = np.where(kept[:, None], dz if is_one(temperature) else dz / temperature, 0.0)
    return np.reshape(dz, shape), None, None
