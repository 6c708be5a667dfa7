from typing import Any

import numpy as np

from ._marks import above_minus_infinity, exact, finite_or_zero, float64, interpolated


def merge_attention_states(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> Any:
    """Attention to all keys, from attention to some of them and attention to the others, each with its lse.

        lse = log(exp(lse_a) + exp(lse_b)),   out = exp(lse_a - lse) out_a + exp(lse_b - lse) out_b

    Shapes
        out_a (..., d_v),  lse_a (...),  out_b (..., d_v),  lse_b (...)  ->  out (..., d_v),  lse (...)
    Dtypes
        out as the arguments; lse as the arguments, or float32 or wider
    Units
        lse in nats.
    Domain
        out finite where lse is; lse finite or -inf.
    Edges
        A part that saw no key has lse = -inf, and whatever it has in out, NaN and inf included, does not show. Two such
        parts have lse = -inf and no mean: NaN here. Equal lse give the mean, and log(2) more.
    Choices
        lse is float32 where out has 16 bits. Libraries also keep lse to the base 2 (FlashInfer): the
        convention lse_base.
    Source
        Milakov and Gimelshein 2018, arXiv:1805.02867, section 3.1, for the softmax of two parts. Ye et al. 2025,
        arXiv:2501.01005, section 2.2, for attention states.

    One part saw a key with the score 0, the other a key with the score log(3):

    >>> out, lse = merge_attention_states([0.0], 0.0, [8.0], np.log(3.0))
    >>> out.round(4), lse.round(4)
    (array([6.]), np.float64(1.3863))
    """
    a, s_a, b, s_b = float64(out_a), float64(lse_a), float64(out_b), float64(lse_b)
    a, b = _without_empty(a, s_a), _without_empty(b, s_b)
    m = exact(finite_or_zero(np.maximum(s_a, s_b)))
    e_a, e_b = np.exp(s_a - m), np.exp(s_b - m)
    total = e_a + e_b
    w_a, w_b = (np.expand_dims(e / total, axis=-1) for e in (e_a, e_b))
    with np.errstate(divide="ignore"):  # log(0) = -inf is the answer for two parts that saw no key
        lse = interpolated(m + np.log(total), finite_or_zero(s_a), finite_or_zero(s_b))
    return interpolated(w_a * a + w_b * b, a, b), lse


def _without_empty(out: Any, lse: Any) -> Any:
    """Return out with zeros where the part saw no key."""
    return np.where(np.expand_dims(above_minus_infinity(lse), axis=-1), out, 0.0)
