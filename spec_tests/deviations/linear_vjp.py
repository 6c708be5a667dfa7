"""What goes wrong with the gradients of linear: which tokens are summed over."""

from typing import Any

import numpy as np

from reference_numpy._sums import rows, summed_to
from reference_numpy.linear_vjp import linear_vjp

from . import deviation


@deviation("reference")
def weight_not_transposed(cotangent: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    """a square weight is used as it is stored, not transposed: dx_i = sum over o of weight_io c_o.

    Shows: square weights. Hides: all others, which would not fit, and symmetric ones.
    """
    dx, *others = linear_vjp(cotangent, x, weight, bias)
    square = weight.shape[0] == weight.shape[1]
    return np.matmul(cotangent, np.swapaxes(weight, -1, -2)) if square else dx, *others


@deviation("reference")
def averaged_over_tokens(cotangent: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    """the gradients of weight and bias are means over the tokens, not sums.

    Shows: two tokens or more. Hides: a single token.
    """
    dx, dweight, dbias = linear_vjp(cotangent, x, weight, bias)
    count = max(rows(x).shape[0], 1)
    return dx, dweight / count, None if bias is None else dbias / count


@deviation("reference")
def last_batch_entry_alone(cotangent: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    """the weight's gradient is that of the last entry of the first axis: each overwrites the one before.

    Shows: two tokens or more. Hides: a single one.
    """
    dx, _, dbias = linear_vjp(cotangent, x, weight, bias)
    c, x = (rows(a) if a.ndim < 3 else a for a in (cotangent, x))
    last = slice(max(c.shape[0] - 1, 0), None)
    return dx, linear_vjp(c[last], x[last], weight)[1], dbias


@deviation("reference", "bias_gathers_the_cotangent")
def bias_not_summed(cotangent: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    """the bias's gradient is the first token's cotangent.

    Shows: two tokens or more. Hides: a single one.
    """
    dx, dweight, _ = linear_vjp(cotangent, x, weight, bias)
    return dx, dweight, None if bias is None else np.sum(rows(cotangent)[:1], axis=0)


@deviation("reference")
def bias_s_gradient_of_the_result(cotangent: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    """the bias's gradient has the bias in it once more: sum(c) * bias.

    Shows: any bias but 1. Hides: no bias.
    """
    dx, dweight, _ = linear_vjp(cotangent, x, weight, bias)
    return dx, dweight, None if bias is None else summed_to(cotangent, bias.shape) * bias
