"""What goes wrong with the gradient of token_log_probs: the temperature, the entropy, and what softmax takes away."""

from typing import Any

import numpy as np

from reference_numpy._acceptance import number
from reference_numpy._marks import finite_or_zero, float64
from reference_numpy.softmax import softmax
from reference_numpy.token_log_probs_vjp import token_log_probs_vjp

from . import deviation


def _replace(cotangent: Any, of_log_probs: float, of_entropy: float) -> Any:
    """Return the cotangents, each multiplied by a number."""
    return tuple(
        None if c is None else factor * float64(c) for c, factor in zip(cotangent, (of_log_probs, of_entropy), strict=True)
    )


@deviation("reference", "entropy_alone")
def entropy_detached(cotangent: Any, logits: Any, targets: Any, **options: Any) -> Any:
    """the entropy has no gradient, as if it were a number to log.

    Shows: a loss with an entropy bonus. Hides: a loss of the log_probs alone.
    """
    return token_log_probs_vjp(_replace(cotangent, 1.0, 0.0), logits, targets, **options)


@deviation("reference", "entropy_alone")
def entropy_negated(cotangent: Any, logits: Any, targets: Any, **options: Any) -> Any:
    """the gradient of the entropy points the other way: a bonus makes the policy less random.

    Shows: a cotangent of the entropy. Hides: a loss of the log_probs alone.
    """
    return token_log_probs_vjp(_replace(cotangent, 1.0, -1.0), logits, targets, **options)


@deviation("reference", "temperature_divides_the_gradient")
def temperature_left_out(cotangent: Any, logits: Any, targets: Any, *, temperature: float = 1.0) -> Any:
    """the inner derivative 1/T is left out.

    Shows: a temperature other than 1. Hides: 1.
    """
    dlogits, *others = token_log_probs_vjp(cotangent, logits, targets, temperature=temperature)
    return dlogits * temperature, *others


@deviation("reference", "temperature_divides_the_gradient")
def temperature_ignored(cotangent: Any, logits: Any, targets: Any, *, temperature: float = 1.0) -> Any:
    """the gradient is that at the temperature 1.

    Shows: a temperature other than 1. Hides: 1.
    """
    return token_log_probs_vjp(cotangent, logits, targets)


@deviation("reference", "rows_sum_to_zero", "log_probs_alone")
def softmax_left_out(cotangent: Any, logits: Any, targets: Any, *, temperature: float = 1.0) -> Any:
    """only the logit of the target has a gradient: the logsumexp is treated as a constant.

    Shows: every row. Hides: nothing.
    """
    dlogits, *others = token_log_probs_vjp(_replace(cotangent, 0.0, 1.0), logits, targets, temperature=temperature)
    if cotangent[0] is None:
        return dlogits, *others
    is_target = np.arange(logits.shape[-1]) == np.asarray(targets)[..., None]
    return dlogits + np.where(is_target, float64(cotangent[0])[..., None] / temperature, 0.0), *others


@deviation("reference", "rows_sum_to_zero", "entropy_alone")
def entropy_as_if_its_logarithms_were_constant(cotangent: Any, logits: Any, targets: Any, *, temperature: float = 1.0) -> Any:
    """the gradient of the entropy is −g p z: the mean of z is not subtracted.

    Shows: a cotangent of the entropy. Hides: a loss of the log_probs alone.
    """
    dlogits, *others = token_log_probs_vjp(_replace(cotangent, 1.0, 0.0), logits, targets, temperature=temperature)
    if cotangent[1] is None:
        return dlogits, *others
    z = logits / temperature
    return dlogits - float64(cotangent[1])[..., None] * softmax(z, axis=-1) * finite_or_zero(z) / temperature, *others


@deviation("reference")
def infinity_times_zero(cotangent: Any, logits: Any, targets: Any, **options: Any) -> Any:
    """a row with an entry of −inf is NaN: −inf times its probability 0 is hidden by torch.where in the entropy alone.

    Shows: −inf, and a cotangent of the entropy. Hides: finite logits, and a loss of the log_probs alone.
    """
    dlogits, *others = token_log_probs_vjp(cotangent, logits, targets, **options)
    if cotangent[1] is None:
        return dlogits, *others
    return np.where(np.any(number(logits) == -np.inf, axis=-1, keepdims=True), np.nan, dlogits), *others


@deviation("reference")
def one_cotangent_for_all(cotangent: Any, logits: Any, targets: Any, **options: Any) -> Any:
    """every token is multiplied by the cotangent of the first.

    Shows: cotangents that differ from token to token. Hides: a sum of all tokens.
    """
    first = (None if c is None else 0 * float64(c) + np.sum(np.reshape(c, (-1,))[:1], axis=0) for c in cotangent)
    return token_log_probs_vjp(tuple(first), logits, targets, **options)
