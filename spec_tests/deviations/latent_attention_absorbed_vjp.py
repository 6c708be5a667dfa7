"""What goes wrong with the gradients of absorbed latent attention: a row of the cache is a key and a value."""

from typing import Any

from reference_numpy._marks import float64
from reference_numpy.latent_attention_absorbed_vjp import latent_attention_absorbed_vjp

from . import deviation


@deviation("reference", "values_share_the_cotangent")
def gradient_of_the_keys_alone(cotangent: Any, q: Any, cache: Any, lengths: Any = None, **options: Any) -> Any:
    """the cache has the gradient of its rows as keys alone.

    Shows: any cotangent of out. Hides: a cotangent of lse alone.
    """
    dq, dcache, none = latent_attention_absorbed_vjp(cotangent, q, cache, lengths, **options)
    values = latent_attention_absorbed_vjp(cotangent, 0.0 * float64(q), cache, lengths, **options)[1]
    return dq, dcache - values, none


@deviation("reference", "values_share_the_cotangent")
def mean_over_heads(cotangent: Any, q: Any, cache: Any, lengths: Any = None, **options: Any) -> Any:
    """the gradient of the cache is the mean over heads, not the sum.

    Shows: several heads. Hides: one head.
    """
    dq, dcache, none = latent_attention_absorbed_vjp(cotangent, q, cache, lengths, **options)
    return dq, dcache / float(q.shape[-3]), none


@deviation("reference", "unseen_rows")
def causality_not_differentiated(
    cotangent: Any, q: Any, cache: Any, lengths: Any = None, *, is_causal: bool = True, **options: Any
) -> Any:
    """the backward pass sees every row, whatever causality hides.

    Shows: causality and several queries. Hides: is_causal = False; one query.
    """
    return latent_attention_absorbed_vjp(cotangent, q, cache, lengths, is_causal=False, **options)
