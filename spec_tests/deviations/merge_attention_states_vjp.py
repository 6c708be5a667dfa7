"""What goes wrong with the gradients of merging attention states."""

from typing import Any

import numpy as np

from reference_numpy._marks import above_minus_infinity, float64
from reference_numpy.merge_attention_states_vjp import merge_attention_states_vjp

from . import deviation


@deviation("reference", "lse_gain_what_the_other_loses")
def weights_not_differentiated(cotangent: Any, out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> Any:
    """the weights of out are treated as constants: lse_a and lse_b get the gradient of lse alone.

    Shows: a cotangent of out. Hides: one of lse alone.
    """
    d_a, _, d_b, _ = merge_attention_states_vjp(cotangent, out_a, lse_a, out_b, lse_b)
    _, g = cotangent
    if g is None:
        return d_a, 0.0 * float64(lse_a), d_b, 0.0 * float64(lse_b)
    _, s_a, _, s_b = merge_attention_states_vjp((None, g), out_a, lse_a, out_b, lse_b)
    return d_a, s_a, d_b, s_b


@deviation("reference", "shift_of_both")
def cotangent_of_lse_ignored(cotangent: Any, out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> Any:
    """the cotangent of lse is ignored, so that a second merge pulls nothing back through the first.

    Shows: a loss that contains the merged lse. Hides: a loss of out alone.
    """
    c, g = cotangent
    return merge_attention_states_vjp((c, None if g is None else 0.0 * float64(g)), out_a, lse_a, out_b, lse_b)


@deviation("a_part_without_keys")
def nan_through_an_empty_part(cotangent: Any, out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> Any:
    """a part that saw no key is left out in the forward pass alone: in the backward pass 0 times infinity is NaN.

    Shows: lse = −∞ of a part. Hides: parts that each saw a key.
    """
    d_a, s_a, d_b, s_b = merge_attention_states_vjp(cotangent, out_a, lse_a, out_b, lse_b)
    return d_a, np.where(above_minus_infinity(lse_a), s_a, np.nan), d_b, np.where(above_minus_infinity(lse_b), s_b, np.nan)
