from typing import Any

import numpy as np

from ._latent import absorbed_operands, explicit_operands, held_rows, seen_rows, up_projected
from ._marks import either, float64, rounded
from .attention_with_lse import attention_with_lse


def latent_attention(
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
    """Multi-head latent attention: keys and values of every head are made of one latent for each token.

        k_h = [w_uk_h c ; k_rope],   v_h = w_uv_h c   for each row c of latent,   q = [q_nope ; q_rope]
        out, lse = attention_with_lse(q, k, v),   scale = 1 / sqrt(d_n + d_r)

    Shapes
        q_nope (..., h, n, d_n),  q_rope (..., h, n, d_r),  latent (..., m, r),  k_rope (..., m, d_r),  w_uk (h, d_n, r),
        w_uv (h, d_v, r),  lengths (...)  ->  out (..., h, n, d_v),  lse (..., h, n)
    Dtypes
        out as the arguments; lse as the arguments, or float32 or wider
    Units
        Scores and lse in nats; lengths in rows, after the n new ones were written.
    Domain
        All finite. 0 <= lengths <= m; with lengths there is one axis of the batch.
    Edges
        d_r = 0 is a head without a rotated part, whose scale is 1 / sqrt(d_n).
        What lies in rows from lengths on does not show. A query that sees no row, as one before the first position under
        causality, has lse = -inf and no weights: NaN here.
    Choices
        Rotations of q_rope and k_rope are the caller's. The scale is that of a head's whole key, d_n + d_r, whatever r is.
        Causality is bottom-right: the last query sees the last row. The explicit form makes keys and values of the latents; the
        absorbed one multiplies q_nope by w_uk, attends to the latents, and multiplies the result by w_uv. Code may do either.
    Source
        DeepSeek-AI 2024, arXiv:2405.04434, section 2.1 and appendix C.

    A head whose key and value are both the latent:

    >>> one, c = np.ones((1, 1, 1)), np.array([[0.0], [1.0]])
    >>> out, lse = latent_attention(one, one, c, 0 * c, one, one, scale=1.0)
    >>> out.round(4), lse.round(4)
    (array([[[0.7311]]]), array([[1.3133]]))
    """
    q_nope, q_rope = float64(q_nope), float64(q_rope)
    scale = 1 / np.sqrt(q_nope.shape[-1] + q_rope.shape[-1]) if scale is None else scale
    seen = seen_rows(q_nope.shape[-2], latent.shape[-2], lengths, is_causal)
    arrays = q_nope, q_rope, held_rows(latent, lengths), held_rows(k_rope, lengths), w_uk
    out, lse = attention_with_lse(*explicit_operands(*arrays, w_uv), seen, scale=scale)
    in_latents, lse_in_latents = attention_with_lse(*absorbed_operands(*arrays), seen, scale=scale)
    return either(out, up_projected(rounded(in_latents), w_uv)), either(lse, lse_in_latents)
