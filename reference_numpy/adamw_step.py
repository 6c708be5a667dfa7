from typing import Any

import numpy as np

from ._marks import double, float64


def adamw_step(
    parameter: Any,
    gradient: Any,
    first_moment: Any,
    second_moment: Any,
    *,
    step: int,
    learning_rate: float = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.01,
) -> Any:
    """One step of AdamW: Adam with a weight decay of its own.

        m' = beta1 m + (1 - beta1) g,   v' = beta2 v + (1 - beta2) g^2
        p' = p (1 - a d) - a (m' / (1 - beta1^t)) / (sqrt(v' / (1 - beta2^t)) + eps)

    for the parameter p, the gradient g, the moments m and v, the step t, the learning rate a and the decay d.

    Shapes
        parameter (any shape),  gradient, first_moment and second_moment as parameter
        ->  parameter (any shape),  first_moment (any shape),  second_moment (any shape)
    Dtypes
        parameter and first_moment and second_moment as the arguments
    Domain
        All finite; second_moment >= 0; step >= 1, which counts this step; betas from 0 to below 1; eps > 0.
        float32 and float64. The scalars are doubles.
    Edges
        A learning rate of 0 keeps the parameter. From moments of 0, the first step has the size of the learning rate
        wherever the gradient is much larger than eps. The moments are returned as they are, not corrected.
    Choices
        eps is added to the corrected root, and the decay multiplies the old parameter, as in PyTorch. The hand-out of
        CS336 adds eps before the correction and decays the new parameter: conventions adamw_epsilon and adamw_decay.
    Source
        Loshchilov and Hutter 2019, arXiv:1711.05101, algorithm 2. CS336 assignment 1, algorithm 1.

    >>> p, m, v = adamw_step([1.0], [2.0], [0.0], [0.0], step=1, learning_rate=0.1, weight_decay=0.0)
    >>> p.round(4), m.round(4), v.round(4)
    (array([0.9]), array([0.2]), array([0.004]))
    """
    p, g, m, v = (float64(x) for x in (parameter, gradient, first_moment, second_moment))
    a, b1, b2, epsilon, d = (double(x) for x in (learning_rate, beta1, beta2, eps, weight_decay))
    m = b1 * m + (1 - b1) * g
    v = b2 * v + (1 - b2) * np.square(g)
    root = np.sqrt(v / (1 - b2**step)) + epsilon
    return p * (1 - a * d) - a * ((m / (1 - b1**step)) / root), m, v
