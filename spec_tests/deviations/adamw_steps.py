"""What goes wrong between the steps of AdamW: the count, the moments, and what is kept of them."""

from typing import Any

import numpy as np

from reference_numpy._marks import double
from reference_numpy.adamw_step import adamw_step

from . import deviation


def _run(parameter: Any, gradients: Any, settings: dict[str, Any], *, count: Any = None, forget: tuple[str, ...] = ()) -> Any:
    """Return the parameters after each step, with another count of steps, or with moments that are forgotten."""
    p, m, v = parameter, np.zeros(parameter.shape), np.zeros(parameter.shape)
    after = []
    for i in range(gradients.shape[-1]):
        p, m_new, v_new = adamw_step(p, gradients[..., i], m, v, step=count(i) if count else i + 1, **settings)
        m, v = (old if name in forget else new for name, old, new in (("m", m, m_new), ("v", v, v_new)))
        after.append(p)
    return np.stack(after, axis=-1)


@deviation("reference", "equal_gradients")
def step_never_counted(parameter: Any, gradients: Any, **settings: Any) -> Any:
    """the step stays 1: every step is corrected as the first one.

    Shows: the second step. Hides: the first one.
    """
    return _run(parameter, gradients, settings, count=lambda i: 1)


@deviation("reference", "equal_gradients")
def step_counted_twice(parameter: Any, gradients: Any, **settings: Any) -> Any:
    """the step grows by two each time: 1, 3, 5.

    Shows: the second step. Hides: the first one.
    """
    return _run(parameter, gradients, settings, count=lambda i: 2 * i + 1)


@deviation("reference", "equal_gradients")
def moments_not_kept(parameter: Any, gradients: Any, **settings: Any) -> Any:
    """the moments are not stored: each step begins from zeros.

    Shows: the second step. Hides: the first one.
    """
    return _run(parameter, gradients, settings, forget=("m", "v"))


@deviation("reference", "equal_gradients")
def first_moment_not_kept(parameter: Any, gradients: Any, **settings: Any) -> Any:
    """the first moment is not stored.

    Shows: the second step, with β₁ > 0. Hides: the first one.
    """
    return _run(parameter, gradients, settings, forget=("m",))


@deviation("reference", "equal_gradients")
def second_moment_not_kept(parameter: Any, gradients: Any, **settings: Any) -> Any:
    """the second moment is not stored.

    Shows: the second step. Hides: the first one.
    """
    return _run(parameter, gradients, settings, forget=("v",))


@deviation("reference")
def gradients_added_up(parameter: Any, gradients: Any, **settings: Any) -> Any:
    """the gradients are never set to zero: each step sees the sum of all so far.

    Shows: the second step. Hides: the first one.
    """
    sums = [sum(gradients[..., j] for j in range(i + 1)) for i in range(gradients.shape[-1])]
    return _run(parameter, np.stack(sums, axis=-1), settings)


@deviation("reference")
def first_gradient_kept(parameter: Any, gradients: Any, **settings: Any) -> Any:
    """every step takes the first gradient.

    Shows: the second step. Hides: the first one.
    """
    return _run(parameter, np.stack([gradients[..., 0]] * gradients.shape[-1], axis=-1), settings)


@deviation("reference", "later_gradients_do_not_count")
def count_from_the_end(parameter: Any, gradients: Any, **settings: Any) -> Any:
    """every step is corrected as the last one.

    Shows: several steps. Hides: one.
    """
    return _run(parameter, gradients, settings, count=lambda i: gradients.shape[-1])


@deviation("reference", "learning_rate_of_zero", "no_gradients")
def decay_without_the_learning_rate(parameter: Any, gradients: Any, *, weight_decay: Any = 0.01, **settings: Any) -> Any:
    """the parameter shrinks by the factor 1 − d in each step, whatever the learning rate is.

    Shows: a decay. Hides: none.
    """
    p, m, v = parameter, np.zeros(parameter.shape), np.zeros(parameter.shape)
    after = []
    for i in range(gradients.shape[-1]):
        old = p
        p, m, v = adamw_step(p, gradients[..., i], m, v, step=i + 1, weight_decay=0.0, **settings)
        p = p - double(weight_decay) * old
        after.append(p)
    return np.stack(after, axis=-1)


@deviation("reference", "opposite_gradients")
def always_downward(parameter: Any, gradients: Any, **settings: Any) -> Any:
    """the size of each update is subtracted, without its sign.

    Shows: negative gradients. Hides: positive ones.
    """
    return _run(parameter, np.abs(gradients), settings)
