"""What goes wrong with the gradients of attention that returns its weights."""

from typing import Any

from reference_numpy._marks import float64
from reference_numpy.attention_with_weights_vjp import attention_with_weights_vjp

from . import deviation


@deviation("reference", "one_weight_among_others")
def cotangent_of_weights_ignored(cotangent: Any, q: Any, k: Any, v: Any, mask: Any = None, **options: Any) -> Any:
    """the cotangent of the weights is ignored, as where they are returned detached.

    Shows: a loss that contains the weights. Hides: a loss of out alone.
    """
    c, w = cotangent
    return attention_with_weights_vjp((c, None if w is None else 0.0 * float64(w)), q, k, v, mask, **options)


@deviation("reference", "one_weight_among_others")
def cotangent_of_weights_added_twice(cotangent: Any, q: Any, k: Any, v: Any, mask: Any = None, **options: Any) -> Any:
    """the cotangent of the weights is added twice.

    Shows: a loss that contains the weights. Hides: a loss of out alone.
    """
    c, w = cotangent
    return attention_with_weights_vjp((c, None if w is None else 2.0 * float64(w)), q, k, v, mask, **options)
