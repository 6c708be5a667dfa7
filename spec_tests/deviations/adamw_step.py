"""What goes wrong with adamw_step: the corrections, the decay, and which moment is used."""

from typing import Any

import numpy as np

from reference_numpy._marks import double
from reference_numpy.adamw_step import adamw_step

from . import deviation


def _scalars(settings: dict[str, Any]) -> tuple[float, float, float]:
    """Return the learning rate, both betas."""
    defaults = {"learning_rate": 1e-3, "beta1": 0.9, "beta2": 0.999}
    a, b1, b2 = (double(settings.get(name, default)) for name, default in defaults.items())
    return a, b1, b2


@deviation("reference", "decay_is_decoupled")
def decay_in_the_gradient(
    parameter: Any, gradient: Any, first_moment: Any, second_moment: Any, *, step: int, weight_decay: Any = 0.01, **settings: Any
) -> Any:
    """the decay is added to the gradient, as in Adam with L2 regularization.

    Shows: a decay. Hides: none.
    """
    return adamw_step(
        parameter,
        gradient + double(weight_decay) * parameter,
        first_moment,
        second_moment,
        step=step,
        weight_decay=0.0,
        **settings,
    )


@deviation("reference", "decay_alone")
def decay_without_the_learning_rate(
    parameter: Any, gradient: Any, first_moment: Any, second_moment: Any, *, step: int, weight_decay: Any = 0.01, **settings: Any
) -> Any:
    """the parameter shrinks by the factor 1 − d, whatever the learning rate is.

    Shows: a decay. Hides: none.
    """
    new, *moments = adamw_step(parameter, gradient, first_moment, second_moment, step=step, weight_decay=0.0, **settings)
    return (new - double(weight_decay) * parameter, *moments)


@deviation("reference", "decay_alone")
def decay_ignored(
    parameter: Any, gradient: Any, first_moment: Any, second_moment: Any, *, step: int, weight_decay: Any = 0.01, **settings: Any
) -> Any:
    """there is no decay.

    Shows: a decay. Hides: none.
    """
    return adamw_step(parameter, gradient, first_moment, second_moment, step=step, weight_decay=0.0, **settings)


@deviation("reference", "first_step")
def not_corrected(parameter: Any, gradient: Any, first_moment: Any, second_moment: Any, *, step: int, **settings: Any) -> Any:
    """neither moment is corrected.

    Shows: early steps. Hides: steps beyond 1 / (1 − β₂).
    """
    return adamw_step(parameter, gradient, first_moment, second_moment, step=10**9, **settings)


@deviation("reference", "first_step")
def second_moment_not_corrected(
    parameter: Any, gradient: Any, first_moment: Any, second_moment: Any, *, step: int, **settings: Any
) -> Any:
    """only the first moment is corrected.

    Shows: early steps. Hides: steps beyond 1 / (1 − β₂).
    """
    a, b1, _ = _scalars(settings)
    plain = {**settings, "weight_decay": 0.0, "learning_rate": a / (1 - b1**step)}
    whole, *moments = adamw_step(parameter, gradient, first_moment, second_moment, step=10**9, **plain)
    return (whole - a * double(settings.get("weight_decay", 0.01)) * parameter, *moments)


@deviation("reference", "first_step")
def counted_from_zero(parameter: Any, gradient: Any, first_moment: Any, second_moment: Any, *, step: int, **settings: Any) -> Any:
    """the corrections count one step more.

    Shows: early steps. Hides: late ones.
    """
    return adamw_step(parameter, gradient, first_moment, second_moment, step=step + 1, **settings)


@deviation("reference", "moments_are_averages")
def corrected_moments_returned(
    parameter: Any, gradient: Any, first_moment: Any, second_moment: Any, *, step: int, **settings: Any
) -> Any:
    """the moments are returned corrected, so that the next step corrects them again.

    Shows: early steps. Hides: late ones.
    """
    _, b1, b2 = _scalars(settings)
    new, first_moment, second_moment = adamw_step(parameter, gradient, first_moment, second_moment, step=step, **settings)
    return new, first_moment / (1 - b1**step), second_moment / (1 - b2**step)


@deviation("reference", "moments_are_averages")
def gradient_not_squared(
    parameter: Any, gradient: Any, first_moment: Any, second_moment: Any, *, step: int, **settings: Any
) -> Any:
    """the second moment averages |g|, not g².

    Shows: gradients other than ±1. Hides: none.
    """
    _, _, b2 = _scalars(settings)
    squared = (b2 * second_moment + (1 - b2) * np.abs(gradient) - (1 - b2) * np.square(gradient)) / b2
    return adamw_step(parameter, gradient, first_moment, squared, step=step, **settings)


@deviation("reference", "moments_are_averages")
def betas_exchanged(
    parameter: Any,
    gradient: Any,
    first_moment: Any,
    second_moment: Any,
    *,
    step: int,
    beta1: Any = 0.9,
    beta2: Any = 0.999,
    **settings: Any,
) -> Any:
    """β₁ averages the square and β₂ the gradient.

    Shows: betas that differ. Hides: equal ones.
    """
    return adamw_step(parameter, gradient, first_moment, second_moment, step=step, beta1=beta2, beta2=beta1, **settings)


@deviation("reference", "opposite_gradients")
def always_downward(parameter: Any, gradient: Any, first_moment: Any, second_moment: Any, *, step: int, **settings: Any) -> Any:
    """the size of the update is subtracted, without its sign.

    Shows: negative moments. Hides: positive ones.
    """
    plain = {**settings, "weight_decay": 0.0}
    new, *moments = adamw_step(parameter, gradient, first_moment, second_moment, step=step, **plain)
    a, _, _ = _scalars(settings)
    return (parameter - np.abs(parameter - new) - a * double(settings.get("weight_decay", 0.01)) * parameter, *moments)


@deviation("reference", "learning_rate_of_zero")
def rate_of_zero_is_unset(
    parameter: Any, gradient: Any, first_moment: Any, second_moment: Any, *, step: int, learning_rate: Any = 1e-3, **settings: Any
) -> Any:
    """a learning rate of 0 is replaced by the default, as `rate or 1e-3` does.

    Shows: a learning rate of 0. Hides: every other one.
    """
    return adamw_step(
        parameter, gradient, first_moment, second_moment, step=step, learning_rate=double(learning_rate) or 1e-3, **settings
    )


@deviation("reference", "first_step", "adamw_epsilon")
def eps_inside_the_root(
    parameter: Any, gradient: Any, first_moment: Any, second_moment: Any, *, step: int, eps: Any = 1e-8, **settings: Any
) -> Any:
    """eps stands under the root: √(v / (1 − β₂^t) + eps).

    Shows: gradients near √eps. Hides: large ones.
    """
    a, b1, b2 = _scalars(settings)
    _, first_moment, second_moment = adamw_step(parameter, gradient, first_moment, second_moment, step=step, **settings)
    update = (first_moment / (1 - b1**step)) / np.sqrt(second_moment / (1 - b2**step) + double(eps))
    return parameter * (1 - a * double(settings.get("weight_decay", 0.01))) - a * update, first_moment, second_moment


@deviation("reference", "decay_alone", "adamw_decay")
def decayed_twice(parameter: Any, gradient: Any, first_moment: Any, second_moment: Any, *, step: int, **settings: Any) -> Any:
    """the decay multiplies the old parameter and then the new one.

    Shows: a decay. Hides: none.
    """
    new, *moments = adamw_step(parameter, gradient, first_moment, second_moment, step=step, **settings)
    a, _, _ = _scalars(settings)
    return (new * (1 - a * double(settings.get("weight_decay", 0.01))), *moments)
