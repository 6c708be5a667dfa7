from typing import Any

import numpy as np


def cosine_schedule(
    *, step: int, max_learning_rate: float, min_learning_rate: float, warmup_steps: int, cosine_steps: int
) -> Any:
    """Learning rate of a step: a linear warm-up, half a cosine down, and then the smallest rate.

        step < warmup:        step / warmup * max
        step <= cosine_steps: min + (1 + cos(pi (step - warmup) / (cosine_steps - warmup))) / 2 * (max - min)
        after that:           min

    Dtypes
        float64
    Units
        Rates in the unit of max_learning_rate; steps are counted from 0. cosine_steps is the step at which the decay ends,
        not its length.
    Domain
        step >= 0; 0 <= warmup_steps < cosine_steps.
    Edges
        Step 0 of a warm-up has rate 0. The step warmup_steps has max, cosine_steps has min, the step halfway their mean.
    Choices
        The warm-up starts at 0 and reaches max at warmup_steps, as in CS336. Hugging Face transformers decays to 0, and counts
        in multiples of max; PyTorch's CosineAnnealingLR has no warm-up.
    Source
        CS336 assignment 1, section 4.4. Loshchilov and Hutter 2017, arXiv:1608.03983, eq. 5.

    >>> rates = {"max_learning_rate": 1.0, "min_learning_rate": 0.1, "warmup_steps": 2, "cosine_steps": 6}
    >>> [round(float(cosine_schedule(step=step, **rates)), 4) for step in range(8)]
    [0.0, 0.5, 1.0, 0.8682, 0.55, 0.2318, 0.1, 0.1]
    """
    if step < warmup_steps:
        return max_learning_rate * (step / warmup_steps)
    if step > cosine_steps:
        return min_learning_rate
    turn = np.pi * ((step - warmup_steps) / (cosine_steps - warmup_steps))
    return min_learning_rate + 0.5 * (1 + np.cos(turn)) * (max_learning_rate - min_learning_rate)
