"""What goes wrong with the gradient of linear attention: the state's part, the decays, the rates, shared heads and lengths."""

from typing import Any

import numpy as np

from reference_numpy._marks import float64
from reference_numpy._recurrence import L2_EPS, of_unit_length
from reference_numpy.linear_attention_vjp import linear_attention_vjp

from . import deviation


@deviation("reference", "state_alone", "last_token")
def cotangent_of_the_state_lost(cotangent: Any, *arrays: Any, **options: Any) -> Any:
    """the cotangent of the new state is not used: nothing flows back from the next chunk.

    Shows: a cotangent of the state. Hides: a loss of out alone.
    """
    c, of_state = cotangent
    return linear_attention_vjp((c, None if of_state is None else 0 * float64(of_state)), *arrays, **options)


@deviation("reference", "state_alone")
def state_without_gradient(
    cotangent: Any, q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, **options: Any
) -> Any:
    """the gradient of the given state is 0, so that nothing flows back to the chunk before.

    Shows: a state. Hides: none.
    """
    *others, of_state, _ = linear_attention_vjp(cotangent, q, k, v, g, beta, state, **options)
    return *others, None if of_state is None else 0 * of_state, None


@deviation("reference", "queries_and_values")
def scale_missing_for_queries(cotangent: Any, q: Any, k: Any, *arrays: Any, scale: Any = None, **options: Any) -> Any:
    """the gradient of the queries is not multiplied by the scale.

    Shows: a scale other than 1. Hides: a scale of 1.
    """
    dq, *others = linear_attention_vjp(cotangent, q, k, *arrays, scale=scale, **options)
    return dq / (1 / np.sqrt(k.shape[-1]) if scale is None else scale), *others


@deviation("reference", "last_token")
def rate_missing_for_values(
    cotangent: Any, q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, **options: Any
) -> Any:
    """the gradient of the values is not multiplied by beta.

    Shows: beta other than 1. Hides: none, and beta = 1.
    """
    dq, dk, dv, *others = linear_attention_vjp(cotangent, q, k, v, g, beta, state, **options)
    if beta is not None:
        rate = float64(beta)[..., None]
        dv = np.where(rate > 0, dv / np.where(rate > 0, rate, 1.0), dv)
    return dq, dk, dv, *others


@deviation("reference")
def decay_gets_the_next_tokens_gradient(
    cotangent: Any, q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, **options: Any
) -> Any:
    """the reverse sum for g leaves out its own token, so that each g gets the gradient of the next one.

    Shows: g and two tokens. Hides: no g.
    """
    dq, dk, dv, dg, *others = linear_attention_vjp(cotangent, q, k, v, g, beta, state, **options)
    if dg is not None:
        dg = np.concatenate([dg[..., 1:, :], 0 * dg[..., :1, :]], axis=-2)
    return dq, dk, dv, dg, *others


@deviation("reference", "shared_heads_get_the_sum")
def shared_heads_get_the_mean(
    cotangent: Any, q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, **options: Any
) -> Any:
    """queries and keys that several value heads read get the mean of their gradients, and not the sum.

    Shows: h_k < h. Hides: h_k = h.
    """
    dq, dk, *others = linear_attention_vjp(cotangent, q, k, v, g, beta, state, **options)
    group = v.shape[-3] // k.shape[-3]
    return dq / group, dk / group, *others


@deviation("reference", "lengths_do_not_count")
def length_taken_for_constant(cotangent: Any, q: Any, k: Any, *arrays: Any, qk_l2norm: bool = False, **options: Any) -> Any:
    """with qk_l2norm the lengths of queries and keys count as constants: their gradients are divided by them alone.

    Shows: qk_l2norm. Hides: none.
    """
    if not qk_l2norm:
        return linear_attention_vjp(cotangent, q, k, *arrays, **options)
    units = (of_unit_length(float64(x)) for x in (q, k))
    dq, dk, *others = linear_attention_vjp(cotangent, *units, *arrays, **options)
    lengths = (np.sqrt(np.sum(np.square(float64(x)), axis=-1, keepdims=True) + L2_EPS) for x in (q, k))
    return *(dx / length for dx, length in zip((dq, dk), lengths, strict=True)), *others


@deviation("strong_decays", seen=("https://github.com/huggingface/transformers/pull/48455",))
def decays_of_the_wrong_sign_on_the_way_back(
    cotangent: Any, q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, **options: Any
) -> Any:
    """the exponents of the decays have the wrong sign, so that gradients grow until they overflow.

    Shows: g. Hides: none.
    """
    return linear_attention_vjp(cotangent, q, k, v, None if g is None else -float64(g), beta, state, **options)


@deviation("reference", "later_tokens_get_nothing")
def cotangents_one_token_late(cotangent: Any, *arrays: Any, **options: Any) -> Any:
    """each token uses the cotangent of the one before.

    Shows: two tokens. Hides: one, and equal cotangents.
    """
    c, of_state = cotangent
    return linear_attention_vjp((None if c is None else np.roll(float64(c), 1, axis=-2), of_state), *arrays, **options)


@deviation("reference", "any_cut")
def chunk_ends_the_gradient(
    cotangent: Any, q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, state: Any = None, **options: Any
) -> Any:
    """where several tokens come in one call, the first gets nothing from the later ones, as if a chunk ended behind it.

    Shows: two tokens. Hides: one.
    """
    found = linear_attention_vjp(cotangent, q, k, v, g, beta, state, **options)
    if v.shape[-2] < 2:
        return found
    c = np.zeros(v.shape) if cotangent[0] is None else float64(cotangent[0])
    own = np.where(np.arange(v.shape[-2])[:, None] == 0, c, 0.0)
    first = linear_attention_vjp((own, None), q, k, v, g, beta, state, **options)
    joined = [np.concatenate([x[..., :1, :], y[..., 1:, :]], axis=-2) for x, y in zip(first[:3], found[:3], strict=True)]
    return *joined, *found[3:]


@deviation("packed_is_one_by_one")
def gradients_of_the_last_member_dropped(
    cotangent: Any,
    q: Any,
    k: Any,
    v: Any,
    g: Any = None,
    beta: Any = None,
    state: Any = None,
    cu_seqlens: Any = None,
    **options: Any,
) -> Any:
    """the last of several packed sequences gets no gradient of its queries.

    Shows: two members. Hides: one, and no cu_seqlens.
    """
    dq, *others = linear_attention_vjp(cotangent, q, k, v, g, beta, state, cu_seqlens, **options)
    if cu_seqlens is None or len(cu_seqlens) < 3:
        return dq, *others
    is_computed = np.arange(v.shape[-2])[:, None] < int(np.asarray(cu_seqlens)[-2])
    return np.where(is_computed, dq, 0.0), *others
