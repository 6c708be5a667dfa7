"""What goes wrong with the biases of multihead_self_attention, and with the norms of its queries and keys."""

from typing import Any

import numpy as np

from reference_numpy._marks import float64, rounded
from reference_numpy.multihead_self_attention import multihead_self_attention
from reference_numpy.rms_norm import rms_norm

from . import deviation
from .multihead_self_attention import instead_of, norm, norm_and_rotate, norm_queries_and_keys, rotate_queries_and_keys

Options = dict[str, Any]


# --- norms ----------------------------------------------------------------------------------------------------------


@deviation(
    "reference", kind="convention",
    seen=("https://github.com/karpathy/nanochat/issues/743", "https://github.com/vllm-project/vllm-metal/issues/660"),
)  # fmt: skip
@instead_of(norm_and_rotate)
def norms_after_the_rotation(do: Any, q: Any, k: Any, v: Any, positions: Any, rotation: Options, options: Options) -> Any:
    """queries and keys are normed after they are rotated, so that the gain weighs other features.

    Shows: theta, with a norm whose gain differs within a pair. Hides: no theta; position 0; a gain of ones.
    """
    q, k, v = rotate_queries_and_keys(q, k, v, positions, rotation)
    return *norm_queries_and_keys(q, k, options), v


@deviation(
    "reference", kind="convention",
    seen=("https://github.com/vllm-project/vllm/pull/16311", "https://github.com/EleutherAI/gpt-neox/pull/1367"),
)  # fmt: skip
@instead_of(norm_queries_and_keys)
def norms_of_all_heads_at_once(q: Any, k: Any, options: Options) -> Any:
    """the mean square is that of all heads together, as in OLMo 2.

    Shows: two heads or more. Hides: one head.
    """
    normed = []
    for y, gain in ((q, options["q_norm"]), (k, options["k_norm"])):
        if gain is None:
            normed.append(y)
            continue
        mean_square = np.mean(np.mean(np.square(y), axis=-1, keepdims=True), axis=-3, keepdims=True)
        normed.append(rounded(y / np.sqrt(mean_square + options["eps"]) * float64(gain)))
    return tuple(normed)


@deviation("reference", "norms_forget_the_scale", seen=("https://github.com/vllm-project/vllm-metal/pull/659",))
@instead_of(norm_queries_and_keys)
def queries_and_keys_not_normed(q: Any, k: Any, options: Options) -> Any:
    """the gains of the norms are not found under their names, and neither queries nor keys are normed.

    Shows: q_norm or k_norm. Hides: neither; queries and keys of unit mean square with gains of ones.
    """
    return q, k


@deviation("reference", "norms_forget_the_scale")
@instead_of(norm_queries_and_keys)
def keys_not_normed(q: Any, k: Any, options: Options) -> Any:
    """queries alone are normed.

    Shows: k_norm. Hides: no k_norm; keys of unit mean square with a gain of ones.
    """
    return norm(q, options["q_norm"], options["eps"]), k


@deviation("reference", "gains_meet_in_the_product")
@instead_of(norm_queries_and_keys)
def gain_of_queries_for_both(q: Any, k: Any, options: Options) -> Any:
    """where both are normed, keys have the gain of queries.

    Shows: q_norm and k_norm that differ. Hides: either alone.
    """
    gain = options["k_norm"] if options["q_norm"] is None or options["k_norm"] is None else options["q_norm"]
    return norm(q, options["q_norm"], options["eps"]), norm(k, gain, options["eps"])


@deviation("reference")
@instead_of(norm_queries_and_keys)
def heads_normed_without_their_root(q: Any, k: Any, options: Options) -> Any:
    """queries and keys are divided by their length, not by the root of their mean square, as in Henry et al. 2020.

    Shows: d_k of 2 or more. Hides: d_k = 1.
    """
    width = float(q.shape[-1])
    gains = (None if options[name] is None else float64(options[name]) / np.sqrt(width) for name in ("q_norm", "k_norm"))
    q, k = (y if gain is None else rounded(rms_norm(y, gain, eps=options["eps"])) for y, gain in zip((q, k), gains, strict=True))
    return q, k


# --- biases ---------------------------------------------------------------------------------------------------------


@deviation("reference")
@instead_of(norm_and_rotate)
def biases_after_the_rotation(do: Any, q: Any, k: Any, v: Any, positions: Any, rotation: Options, options: Options) -> Any:
    """b_q and b_k are added to rotated queries and keys, where nothing is normed.

    Shows: theta with b_q or b_k. Hides: no theta; position 0; a norm.
    """
    if options["q_norm"] is not None or options["k_norm"] is not None:
        return norm_and_rotate(do, q, k, v, positions, rotation, options)
    of_q, of_k = (_split_bias(options[name], y) for name, y in (("b_q", q), ("b_k", k)))
    q, k, v = rotate_queries_and_keys(q - of_q, k - of_k, v, positions, rotation)
    return q + of_q, k + of_k, v


def _split_bias(bias: Any, heads: Any) -> Any:
    """Return the bias of each head, of shape (h, 1, d_k)."""
    return 0.0 if bias is None else np.reshape(float64(bias), (heads.shape[-3], 1, heads.shape[-1]))


@deviation("reference", "output_bias_is_added")
def output_bias_of_each_head(
    x: Any,
    w_q: Any,
    w_k: Any,
    w_v: Any,
    w_o: Any,
    positions: Any = None,
    b_o: Any = None,
    *,
    num_heads: int,
    **options: Any,
) -> Any:
    """b_o is added once for each head, as where every rank of a tensor-parallel layer adds it before the sum.

    Shows: b_o and two heads or more. Hides: one head; no b_o.
    """
    y = multihead_self_attention(x, w_q, w_k, w_v, w_o, positions, num_heads=num_heads, **options)
    return y if b_o is None else y + float(num_heads) * float64(b_o)


@deviation("reference", "output_bias_is_added")
def output_bias_missing(
    x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, positions: Any = None, b_o: Any = None, **options: Any
) -> Any:
    """b_o is not added.

    Shows: b_o. Hides: no b_o.
    """
    return multihead_self_attention(x, w_q, w_k, w_v, w_o, positions, **options)


@deviation("reference", "biases_are_a_constant_feature")
def value_bias_missing(
    x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, positions: Any = None, b_v: Any = None, **options: Any
) -> Any:
    """b_v is not added, as where a fused projection has biases of queries and keys alone.

    Shows: b_v. Hides: no b_v.
    """
    return multihead_self_attention(x, w_q, w_k, w_v, w_o, positions, **options)


@deviation("reference", "biases_are_a_constant_feature")
def query_and_key_biases_exchanged(
    x: Any,
    w_q: Any,
    w_k: Any,
    w_v: Any,
    w_o: Any,
    positions: Any = None,
    b_q: Any = None,
    b_k: Any = None,
    **options: Any,
) -> Any:
    """queries have b_k and keys b_q, where w_q and w_k are of one shape.

    Shows: as many key heads as query heads. Hides: shared heads; neither bias.
    """
    b_q, b_k = (b_k, b_q) if w_q.shape == w_k.shape else (b_q, b_k)
    return multihead_self_attention(x, w_q, w_k, w_v, w_o, positions, b_q=b_q, b_k=b_k, **options)


@deviation("reference", "biases_are_a_constant_feature")
def query_bias_not_scaled(
    x: Any,
    w_q: Any,
    w_k: Any,
    w_v: Any,
    w_o: Any,
    positions: Any = None,
    b_q: Any = None,
    q_norm: Any = None,
    **options: Any,
) -> Any:
    """the scale 1/√d_k is multiplied into w_q and not into b_q, where queries are not normed.

    Shows: b_q with d_k of 2 or more. Hides: no b_q; d_k = 1; normed queries.
    """
    if b_q is not None and q_norm is None:
        b_q = float64(b_q) * float(np.sqrt(w_q.shape[0] // options["num_heads"]))
    return multihead_self_attention(x, w_q, w_k, w_v, w_o, positions, b_q=b_q, q_norm=q_norm, **options)
