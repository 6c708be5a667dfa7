"""What goes wrong with the gradients of feed_forward: the slope between the two matrices."""

from typing import Any

from reference_numpy.feed_forward_vjp import feed_forward_vjp
from reference_numpy.linear import linear
from reference_numpy.linear_vjp import linear_vjp
from reference_numpy.relu_vjp import relu_vjp

from . import deviation


@deviation("reference")
def slope_forgotten(cotangent: Any, x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None, **options: Any) -> Any:
    """the backward pass treats the activation as the identity.

    Shows: closed units, gelu. Hides: units of relu that are all open.
    """
    _, _, dw2, _, db2 = feed_forward_vjp(cotangent, x, w1, w2, b1, b2, **options)
    dhidden, _, _ = linear_vjp(cotangent, linear(x, w1), w2)
    dx, dw1, db1 = linear_vjp(dhidden, x, w1, b1)
    return dx, dw1, dw2, db1, db2


@deviation("reference")
def slope_without_the_bias(
    cotangent: Any, x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None, *, activation: str = "relu"
) -> Any:
    """the backward pass decides from w1 x, without the bias, which units of relu are open.

    Shows: a bias that opens or closes units. Hides: no bias, gelu.
    """
    right = feed_forward_vjp(cotangent, x, w1, w2, b1, b2, activation=activation)
    if activation != "relu":
        return right
    dhidden, _, _ = linear_vjp(cotangent, linear(x, w1), w2)
    dx, dw1, db1 = linear_vjp(relu_vjp(dhidden, linear(x, w1))[0], x, w1, b1)
    return dx, dw1, right[2], db1, right[4]


@deviation("reference")
def first_bias_before_the_slope(cotangent: Any, x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None, **options: Any) -> Any:
    """b1's gradient is summed before the activation's slope is applied.

    Shows: closed units, gelu. Hides: no bias.
    """
    dx, dw1, dw2, _, db2 = feed_forward_vjp(cotangent, x, w1, w2, b1, b2, **options)
    dhidden, _, _ = linear_vjp(cotangent, linear(x, w1), w2)
    return dx, dw1, dw2, None if b1 is None else linear_vjp(dhidden, x, w1, b1)[2], db2
