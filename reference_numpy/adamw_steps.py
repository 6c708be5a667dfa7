from typing import Any

import numpy as np

from ._marks import float64
from .adamw_step import adamw_step


def adamw_steps(
    parameter: Any,
    gradients: Any,
    *,
    learning_rate: float = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.01,
) -> Any:
    """Several steps of AdamW from moments of 0: what an optimizer makes of a parameter whose moments it keeps itself.

        (p_i, m_i, v_i) = adamw_step(p_(i-1), g_i, m_(i-1), v_(i-1), step=i),   m_0 = v_0 = 0

    Shapes
        parameter (..., d),  gradients (..., d, t)  ->  (..., d, t)
    Dtypes
        as the arguments
    Domain
        All finite; t >= 1; the others as in adamw_step. float32 and float64. The scalars are doubles.
    Edges
        A learning rate of 0 repeats the parameter t times. The results are the parameters after each step, along the
        last axis, and the gradients are given along the last axis.
    Choices
        As adamw_step: conventions adamw_epsilon and adamw_decay.
    Source
        Loshchilov and Hutter 2019, arXiv:1711.05101, algorithm 2. CS336 assignment 1, algorithm 1.

    >>> adamw_steps([1.0], [[2.0, 2.0]], learning_rate=0.1, weight_decay=0.0).round(4)
    array([[0.9, 0.8]])
    """
    p, g = float64(parameter), float64(gradients)
    m, v = np.zeros(p.shape), np.zeros(p.shape)
    settings: dict[str, Any] = {"learning_rate": learning_rate, "beta1": beta1, "beta2": beta2, "eps": eps}
    after = []
    for i in range(g.shape[-1]):
        p, m, v = adamw_step(p, g[..., i], m, v, step=i + 1, weight_decay=weight_decay, **settings)
        after.append(p)
    return np.stack(after, axis=-1)
