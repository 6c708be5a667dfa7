from typing import Any

import numpy as np

from ._latent import absorbed_operands, explicit_operands, held_rows, seen_rows, up_projected
from ._marks import either, float64, rounded
from ._reverse_mode import vjp
from .attention_with_lse import attention_with_lse
from .attention_with_lse_vjp import attention_with_lse_vjp


def latent_attention_vjp(
    cotangent: Any,
    q_nope: Any,
    q_rope: Any,
    latent: Any,
    k_rope: Any,
    w_uk: Any,
    w_uv: Any,
    lengths: Any = None,
    *,
    is_causal: bool = True,
    scale: float | None = None,
) -> Any:
    """Gradients of latent attention: those of attention_with_lse, through the products with w_uk and w_uv.

        dc = sum over heads of (w_uk_h^T dk_nope_h + w_uv_h^T dv_h),   dw_uk_h = dk_nope_h^T c,   dw_uv_h = dv_h^T c

    Shapes
        cotangent: c (..., h, n, d_v) or None, g (..., h, n) or None;  q_nope (..., h, n, d_n),  q_rope (..., h, n, d_r),
        latent (..., m, r),  k_rope (..., m, d_r),  w_uk (h, d_n, r),  w_uv (h, d_v, r),  lengths (...)
        ->  (dq_nope, dq_rope, dlatent, dk_rope, dw_uk, dw_uv, None), each as its argument
    Dtypes
        as the arguments
    Domain
        As in latent_attention; each query sees a row; cotangents finite.
    Edges
        A row that no query sees gets exactly 0. A result whose cotangent is None counts as one whose cotangent is 0.
    Choices
        Code may differentiate the explicit form or the absorbed one.
    Source
        Differentiation of DeepSeek-AI 2024, arXiv:2405.04434, section 2.1.

    The value of a single row is 2 * 3, so its factors have the gradients 3 and 2 of a cotangent of 1:

    >>> one = np.ones((1, 1, 1))
    >>> found = latent_attention_vjp((one, None), one, one, 3 * one[0], one[0], one, 2 * one)
    >>> found[2], found[5]
    (array([[2.]]), array([[[3.]]]))
    """
    q_nope, q_rope = float64(q_nope), float64(q_rope)
    scale = 1 / np.sqrt(q_nope.shape[-1] + q_rope.shape[-1]) if scale is None else scale
    seen = seen_rows(q_nope.shape[-2], latent.shape[-2], lengths, is_causal)
    arrays = q_nope, q_rope, held_rows(latent, lengths), held_rows(k_rope, lengths), w_uk
    c, g = cotangent
    through = attention_with_lse_vjp(cotangent, *explicit_operands(*arrays, w_uv), seen, scale=scale)[:3]
    explicit = vjp(explicit_operands, through, *arrays, w_uv)
    operands = absorbed_operands(*arrays)
    in_latents = rounded(attention_with_lse(*operands, seen, scale=scale)[0])
    d_out, dw_uv = (None, 0.0 * explicit[5]) if c is None else vjp(up_projected, c, in_latents, w_uv)
    back = None if d_out is None else rounded(d_out)
    absorbed = vjp(absorbed_operands, attention_with_lse_vjp((back, g), *operands, seen, scale=scale)[:3], *arrays)
    return *(either(*pair) for pair in zip(explicit, (*absorbed, dw_uv), strict=True)), None
