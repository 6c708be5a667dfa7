"""What goes wrong with latent attention: the scale, the rotated part, whose weights, and what a query sees."""

from typing import Any

import numpy as np

from reference_numpy._marks import float64
from reference_numpy.latent_attention import latent_attention

from . import deviation

SCALE_OF_THE_RANK = (
    "https://github.com/ollama/ollama/pull/13893",
    "https://github.com/MetaX-MACA/vLLM-metax/pull/113",
)


@deviation("reference", "absorbed_is_explicit", "is_attention_to_keys_and_values", seen=SCALE_OF_THE_RANK)
def scale_of_the_rank(
    q_nope: Any,
    q_rope: Any,
    latent: Any,
    k_rope: Any,
    w_uk: Any,
    w_uv: Any,
    lengths: Any = None,
    *,
    scale: Any = None,
    **options: Any,
) -> Any:
    """the default scale is 1 / √(r + d_r), that of the absorbed keys.

    Shows: calls without a scale. Hides: a given scale; r = d_n.
    """
    scale = float((latent.shape[-1] + q_rope.shape[-1]) ** -0.5) if scale is None else scale
    return latent_attention(q_nope, q_rope, latent, k_rope, w_uk, w_uv, lengths, scale=scale, **options)


@deviation("reference", "no_rotated_part")
def scale_of_the_rank_without_a_rotated_part(
    q_nope: Any,
    q_rope: Any,
    latent: Any,
    k_rope: Any,
    w_uk: Any,
    w_uv: Any,
    lengths: Any = None,
    *,
    scale: Any = None,
    **options: Any,
) -> Any:
    """where there is no rotated part the default scale is 1 / √r, the width of the queries that have taken w_uk.

    Shows: d_r = 0 without a scale. Hides: any rotated part; a given scale.
    """
    if scale is None and not q_rope.shape[-1]:
        scale = float(latent.shape[-1] ** -0.5)
    return latent_attention(q_nope, q_rope, latent, k_rope, w_uk, w_uv, lengths, scale=scale, **options)


@deviation("reference", "absorbed_is_explicit")
def scale_of_the_part_without_rotation(
    q_nope: Any,
    q_rope: Any,
    latent: Any,
    k_rope: Any,
    w_uk: Any,
    w_uv: Any,
    lengths: Any = None,
    *,
    scale: Any = None,
    **options: Any,
) -> Any:
    """the default scale is 1 / √d_n.

    Shows: calls without a scale. Hides: a given scale.
    """
    scale = float(q_nope.shape[-1] ** -0.5) if scale is None else scale
    return latent_attention(q_nope, q_rope, latent, k_rope, w_uk, w_uv, lengths, scale=scale, **options)


@deviation("reference", "is_attention_to_keys_and_values")
def rotated_part_left_out(
    q_nope: Any, q_rope: Any, latent: Any, k_rope: Any, w_uk: Any, w_uv: Any, lengths: Any = None, **options: Any
) -> Any:
    """the scores lack q_rope · k_rope.

    Shows: any rotated part. Hides: q_rope = 0.
    """
    return latent_attention(q_nope, 0.0 * float64(q_rope), latent, k_rope, w_uk, w_uv, lengths, **options)


@deviation("reference", "rotated_part")
def rotated_part_meets_the_other_queries(
    q_nope: Any, q_rope: Any, latent: Any, k_rope: Any, w_uk: Any, w_uv: Any, lengths: Any = None, **options: Any
) -> Any:
    """the first column of q_nope is added to that of q_rope, as where the query is split at the wrong column.

    Shows: any first column. Hides: nothing.
    """
    q_nope, q_rope = float64(q_nope), float64(q_rope)
    first = np.arange(q_rope.shape[-1]) == 0
    return latent_attention(
        q_nope, np.where(first, q_rope + q_nope[..., :1], q_rope), latent, k_rope, w_uk, w_uv, lengths, **options
    )


@deviation("reference", "heads_are_separate")
def weights_of_the_next_head(
    q_nope: Any, q_rope: Any, latent: Any, k_rope: Any, w_uk: Any, w_uv: Any, lengths: Any = None, **options: Any
) -> Any:
    """each head has the w_uv of the next.

    Shows: several heads. Hides: one head.
    """
    w_uv = float64(w_uv)
    order = np.roll(np.arange(w_uv.shape[0]), 1)
    return latent_attention(q_nope, q_rope, latent, k_rope, w_uk, w_uv[order], lengths, **options)


@deviation("reference", "other_basis_of_the_latents", "no_values")
def latent_in_place_of_a_value(
    q_nope: Any, q_rope: Any, latent: Any, k_rope: Any, w_uk: Any, w_uv: Any, lengths: Any = None, **options: Any
) -> Any:
    """the first column of the latent is added to each value.

    Shows: any latents. Hides: a first column of 0.
    """
    out, lse = latent_attention(q_nope, q_rope, latent, k_rope, w_uk, w_uv, lengths, **options)
    first = np.broadcast_to(np.arange(w_uv.shape[-1]) == 0, w_uv.shape).astype(float)
    return out + latent_attention(q_nope, q_rope, latent, k_rope, w_uk, first, lengths, **options)[0], lse


@deviation("reference", "decode_is_prefill", "is_attention_to_keys_and_values")
def causality_from_the_first_row(
    q_nope: Any,
    q_rope: Any,
    latent: Any,
    k_rope: Any,
    w_uk: Any,
    w_uv: Any,
    lengths: Any = None,
    *,
    is_causal: Any = True,
    **options: Any,
) -> Any:
    """without lengths, query i sees the rows up to i (top-left), where it stands at row i + m − n.

    Shows: more rows than queries under causality. Hides: as many of both; is_causal = False.
    """
    n, m = q_nope.shape[-2], latent.shape[-2]
    if not is_causal or lengths is not None or n >= m:
        return latent_attention(q_nope, q_rope, latent, k_rope, w_uk, w_uv, lengths, is_causal=is_causal, **options)
    rows = latent[..., :n, :], k_rope[..., :n, :]
    return latent_attention(q_nope, q_rope, *rows, w_uk, w_uv, is_causal=True, **options)


@deviation("reference", "nothing_beyond_the_lengths", "rows_have_their_own_lengths")
def lengths_are_ignored(
    q_nope: Any, q_rope: Any, latent: Any, k_rope: Any, w_uk: Any, w_uv: Any, lengths: Any = None, **options: Any
) -> Any:
    """every row of the cache counts, whatever the lengths are.

    Shows: lengths below m. Hides: no lengths, or full caches.
    """
    return latent_attention(q_nope, q_rope, latent, k_rope, w_uk, w_uv, **options)


@deviation("reference", "rows_have_their_own_lengths")
def first_length_for_all(
    q_nope: Any, q_rope: Any, latent: Any, k_rope: Any, w_uk: Any, w_uv: Any, lengths: Any = None, **options: Any
) -> Any:
    """every entry of the batch has the length of the first.

    Shows: different lengths. Hides: one entry, or equal lengths.
    """
    first = None if lengths is None else np.broadcast_to(np.asarray(lengths)[..., :1], np.shape(lengths))
    return latent_attention(q_nope, q_rope, latent, k_rope, w_uk, w_uv, first, **options)


@deviation("lse_base", "reference")
def lse_in_decimal_digits(
    q_nope: Any, q_rope: Any, latent: Any, k_rope: Any, w_uk: Any, w_uv: Any, lengths: Any = None, **options: Any
) -> Any:
    """lse is the logarithm to the base 10.

    Shows: any lse but 0. Hides: out.
    """
    out, lse = latent_attention(q_nope, q_rope, latent, k_rope, w_uk, w_uv, lengths, **options)
    return out, lse * float(1 / np.log(10.0))


@deviation("fully_masked_rows")
def ones_for_a_blind_query(
    q_nope: Any, q_rope: Any, latent: Any, k_rope: Any, w_uk: Any, w_uv: Any, lengths: Any = None, **options: Any
) -> Any:
    """a query before the first row has an out of ones.

    Shows: more queries than rows. Hides: all other calls.
    """
    out, lse = latent_attention(q_nope, q_rope, latent, k_rope, w_uk, w_uv, lengths, **options)
    blind = np.isneginf(np.asarray(getattr(lse, "value", lse)))
    blind = np.any(blind, axis=0) if blind.ndim > lse.ndim else blind
    return np.where(blind[..., None], 1.0, out), lse
