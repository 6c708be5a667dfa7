"""What goes wrong with scaled_dot_product_attention in an arithmetic that is too narrow."""

from typing import Any

import numpy as np

from reference_numpy._marks import rounded
from spec_tests.specification.formats import FORMATS, Format

from . import HALF, deviation
from ._steps import make_rounder
from .scaled_dot_product_attention import average_values, compute_scores, compute_weights, hide_scores, instead_of
from .scaled_dot_product_attention__weights import exponentiate

E4M3 = Format("float8 e4m3", 4, -6, 8)
TF32 = Format("tf32", 11, -126, 127)


@deviation("reference", "scale_zero", kind="arithmetic", dtypes=HALF)
@instead_of(compute_weights)
def sum_accumulated_in_half(s: Any, mask: Any, held: Any) -> Any:
    """each addition of the sum of exponentials is rounded to the dtype of q.

    Shows: many keys with like scores: bfloat16 stops at 256. Hides: few keys, one score far above the rest.
    """
    e = exponentiate(s, mask)
    total = 0.0 * e[..., :1]
    for j in range(e.shape[-1]):
        total = held(total + e[..., j : j + 1])
    return rounded(e / total)


@deviation("reference", "scale_zero", kind="arithmetic", dtypes=HALF)
@instead_of(average_values)
def values_accumulated_in_half(p: Any, v: Any, held: Any) -> Any:
    """each addition of the weighted values is rounded to the dtype of q.

    Shows: many keys with like scores. Hides: few keys, one score far above the rest.
    """
    y = 0.0
    for j in range(v.shape[-2]):
        y = held(y + p[..., j : j + 1] * v[..., j : j + 1, :])
    return y


@deviation("reference", "large_scores", kind="arithmetic")
@instead_of(compute_weights)
def maximum_not_subtracted(s: Any, mask: Any, held: Any) -> Any:
    """the maximum is not subtracted from the scores, so that their exponentials overflow.

    Shows: scores above 11 in float16, 88 in float32 and bfloat16, 709 in float64. Hides: ordinary scores.
    """
    e = held(np.exp(hide_scores(s, mask)))
    return rounded(e / held(np.sum(e, axis=-1, keepdims=True)))


@deviation("reference", "two_keys", kind="arithmetic", dtypes=("float32",))
@instead_of(compute_scores)
def scores_in_tf32(q: Any, k: Any, scale: Any, bias: Any) -> Any:
    """queries and keys are cut to tf32, 10 bits behind the point, before their product.

    Shows: any scores that are not small. Hides: integers, and measures made for float16.
    """
    cut = make_rounder(TF32)
    return compute_scores(cut(q), cut(k), scale, bias)


@deviation("reference", "two_keys", kind="arithmetic", dtypes=("float64",))
@instead_of(compute_scores)
def scores_in_float32(q: Any, k: Any, scale: Any, bias: Any) -> Any:
    """the scores of float64 inputs are stored in float32.

    Shows: float64. Hides: every other dtype, and measures made for float32.
    """
    return make_rounder(FORMATS["float32"])(compute_scores(q, k, scale, bias))


@deviation("reference", "two_keys", kind="arithmetic", dtypes=("float64", "float32", "float16"))
@instead_of(compute_weights)
def weights_in_bfloat16(s: Any, mask: Any) -> Any:
    """the weights are stored in bfloat16 whatever the dtype of q.

    Shows: any other dtype. Hides: bfloat16.
    """
    return make_rounder(FORMATS["bfloat16"])(compute_weights(s, mask))


@deviation("reference", "sums_to_one", kind="arithmetic")
@instead_of(compute_weights)
def weights_in_eight_bits(s: Any, mask: Any) -> Any:
    """the weights are stored in float8 (e4m3), which has 3 bits behind the point and nothing below 2^-10.

    Shows: two keys or more. Hides: equal weights of 1, 1/2, 1/4.
    """
    return make_rounder(E4M3)(compute_weights(s, mask))


@deviation("reference", "linear_in_values", kind="arithmetic")
@instead_of(average_values)
def values_in_eight_bits(p: Any, v: Any) -> Any:
    """the values are stored in float8 (e4m3), as in a compressed cache.

    Shows: values of more than 4 significant bits. Hides: small integers.
    """
    return average_values(p, make_rounder(E4M3)(v))
