from typing import Any

import numpy as np

from ._marks import above_minus_infinity, exact, finite_or_zero, float64, interpolated, through_quotient
from .merge_attention_states import _without_empty


def merge_attention_states_vjp(cotangent: Any, out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> Any:
    """Gradients of merging, with the cotangents c of out and g of lse, and the weights w_a = exp(lse_a - lse), w_b:

        dout_a = w_a c,   dlse_a = w_a (g + sum_d(c out_a) - sum_d(c out)),   and the same for b

    Shapes
        cotangent: c (..., d_v) or None, g (...) or None;  out_a (..., d_v),  lse_a (...),  out_b (..., d_v),  lse_b (...)
        ->  (dout_a, dlse_a, dout_b, dlse_b), each as its argument
    Dtypes
        as the arguments
    Domain
        As in merge_attention_states; one of the two parts saw a key; cotangents finite.
    Edges
        A part that saw no key gets exactly 0, and whatever it has in out does not show in the other's gradients.
        A result whose cotangent is None counts as one whose cotangent is 0.
    Choices
        dlse_a has the dtype of lse_a. A weight may be 1 minus the other, as in the gradient of a + w (b - a).
    Source
        merge_attention_states, differentiated.

    >>> merge_attention_states_vjp(([1.0], 0.0), [0.0], 0.0, [8.0], np.log(3.0))[1].round(4)
    np.float64(-1.5)
    """
    a, s_a, b, s_b = float64(out_a), float64(lse_a), float64(out_b), float64(lse_b)
    c, g = (None if x is None else float64(x) for x in cotangent)
    a, b = _without_empty(a, s_a), _without_empty(b, s_b)
    w_a, w_b = _weights(s_a, s_b)
    if c is None:
        return 0.0 * a, w_a * g, 0.0 * b, w_b * g
    wide_a, wide_b = (np.expand_dims(w, axis=-1) for w in (w_a, w_b))
    inner = np.sum(c * interpolated(wide_a * a + wide_b * b, a, b), axis=-1)
    d_a, d_b = (w * through_quotient(np.sum(c * x, axis=-1)) - w * through_quotient(inner) for w, x in ((w_a, a), (w_b, b)))
    if g is not None:
        d_a, d_b = d_a + w_a * g, d_b + w_b * g
    return wide_a * c, d_a, wide_b * c, d_b


def _weights(s_a: Any, s_b: Any) -> Any:
    """Return the weights of both parts. Where both saw a key, mark that each may be computed as 1 minus the other."""
    m = exact(finite_or_zero(np.maximum(s_a, s_b)))
    e_a, e_b = np.exp(s_a - m), np.exp(s_b - m)
    weights = e_a / (e_a + e_b), e_b / (e_a + e_b)
    both = above_minus_infinity(s_a) & above_minus_infinity(s_b)
    return [np.where(both, interpolated(w, *weights), w) for w in weights]
