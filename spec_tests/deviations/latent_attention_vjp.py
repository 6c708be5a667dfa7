"""What goes wrong with the gradients of latent attention: a latent is a key and a value of every head."""

from typing import Any

import numpy as np

from reference_numpy._marks import float64
from reference_numpy.latent_attention_vjp import latent_attention_vjp

from . import deviation


@deviation("reference")
def gradient_of_the_values_alone(cotangent: Any, *arrays: Any, **options: Any) -> Any:
    """the latent has the gradient of values alone: that of keys is left out.

    Shows: any scores. Hides: queries of 0.
    """
    found = latent_attention_vjp(cotangent, *arrays, **options)
    weights = [0.0 * float64(x) if place == 4 else x for place, x in enumerate(arrays)]  # w_uk = 0: keys without latents
    silent = latent_attention_vjp(cotangent, *weights, **options)
    return *found[:2], silent[2], *found[3:]


@deviation("reference", "values_alone")
def half_the_gradient_of_the_last_row(cotangent: Any, *arrays: Any, **options: Any) -> Any:
    """the last row of the latent has half of its gradient.

    Shows: any call. Hides: a gradient of 0.
    """
    found = latent_attention_vjp(cotangent, *arrays, **options)
    last = (np.arange(arrays[2].shape[-2]) == arrays[2].shape[-2] - 1)[:, None]
    return *found[:2], np.where(last, found[2] * 0.5, found[2]), *found[3:]


@deviation("reference", "unseen_rows")
def causality_not_differentiated(cotangent: Any, *arrays: Any, is_causal: bool = True, **options: Any) -> Any:
    """the backward pass sees every row, whatever causality hides.

    Shows: causality and several queries. Hides: is_causal = False; one query.
    """
    return latent_attention_vjp(cotangent, *arrays, is_causal=False, **options)


@deviation("reference", like=("cotangent-of-lse-ignored",))  # of attention_with_lse_vjp, which is a part of it
def cotangent_of_lse_ignored(cotangent: Any, *arrays: Any, **options: Any) -> Any:
    """the cotangent of lse is ignored, as if lse had no gradient.

    Shows: a loss that contains lse. Hides: a loss of out alone.
    """
    c, g = cotangent
    return latent_attention_vjp((c, None if g is None else 0.0 * float64(g)), *arrays, **options)
