"""Attention: its mask, its window, its heads, its positions."""

from typing import Any

import numpy as np

from reference_numpy.grouped_query_attention import grouped_query_attention
from reference_numpy.linear import linear
from reference_numpy.local_attention import local_attention
from reference_numpy.rope import rope

from ..restating import restated


@restated("scaled_dot_product_attention", "https://github.com/ostris/ai-toolkit/issues/161", kind="fault")
def hidden_embeddings_zeroed(right: Any, q: Any, k: Any, v: Any, *, mask: Any = None, **options: Any) -> Any:
    """Keys and values that no query sees are set to zero, and attended to."""
    if mask is None:
        return right(q, k, v, **options)
    seen = np.any(mask, axis=tuple(range(np.ndim(mask) - 1)))[:, None]
    return right(q, np.where(seen, k, 0).astype(k.dtype), np.where(seen, v, 0).astype(v.dtype), **options)


@restated(
    "scaled_dot_product_attention",
    "https://github.com/InseeFrLab/torchTextClassifiers/pull/92",
    kind="fault",
    names=("mask-inverted",),
)
def mask_inverted(right: Any, q: Any, k: Any, v: Any, *, mask: Any = None, **options: Any) -> Any:
    """True in the mask hides the key."""
    return right(q, k, v, **options, **({} if mask is None else {"mask": ~mask}))


@restated(
    "scaled_dot_product_attention",
    "https://github.com/Dao-AILab/flash-attention/pull/1406",
    kind="fault",
    says="UnboundLocalError",
)
def result_missing_without_a_gradient(right: Any, q: Any, k: Any, v: Any, **options: Any) -> Any:
    """Where no gradient is asked for, the variable of the result does not exist."""
    raise UnboundLocalError("cannot access local variable 'out' where it is not associated with a value")


@restated(
    "grouped_query_attention",
    "https://github.com/HazyResearch/HipKittens/pull/22",
    kind="fault",
    says="0, only from h / h_kv = 2 on",
)
def heads_interleaved_by_the_group(right: Any, q: Any, k: Any, v: Any, **options: Any) -> Any:
    """Block b computes head (b mod G) G + b / G for groups of G heads, so that some heads are never computed."""
    y = right(q, k, v, **options)
    heads, group = q.shape[-3], q.shape[-3] // max(k.shape[-3], 1)
    blocks = np.arange(heads)
    computed = np.isin(blocks, (blocks % group) * group + blocks // group) if group else np.ones(heads, bool)
    return np.where(computed[:, None, None], y, 0).astype(y.dtype)


@restated(
    "local_attention",
    "https://github.com/huggingface/transformers/issues/39408",
    "https://github.com/zml/zml/pull/763",
    "https://github.com/sgl-project/sglang/pull/26147",
    "https://github.com/NVIDIA-NeMo/Megatron-Bridge/pull/2656",
    names=("one-key-wider",),
)
def window_one_larger(q: Any, k: Any, v: Any, *, window: int, is_causal: bool = False, scale: float | None = None) -> Any:
    """The size of the window, which counts the query's own token, is passed as the number of tokens beside it."""
    return local_attention(q, k, v, window=window + 1, is_causal=is_causal, scale=scale)


@restated("local_attention", "https://github.com/proger/hippogriff/issues/7", names=("window-ignored",))
def window_without_effect(q: Any, k: Any, v: Any, *, window: int, is_causal: bool = False, scale: float | None = None) -> Any:
    """A negative window is passed, which means attention to all keys."""
    return local_attention(q, k, v, window=np.shape(q)[-2] + np.shape(k)[-2], is_causal=is_causal, scale=scale)


@restated("multihead_self_attention", "https://github.com/mlfoundations/open_lm/issues/4")
def heads_taken_for_positions(
    x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, positions: Any = None, *, num_heads: int,
    num_kv_heads: int | None = None, is_causal: bool = True, theta: float | None = None, layout: str = "interleaved",
) -> Any:  # fmt: skip
    """The rotary embedding is applied along the heads, not along the tokens."""

    def split(weight: Any, heads: int) -> Any:
        y = linear(x, weight)
        return np.swapaxes(np.reshape(y, (*np.shape(x)[:-1], heads, np.shape(weight)[0] // heads)), -2, -3)

    kv_heads = num_heads if num_kv_heads is None else num_kv_heads
    q, k, v = split(w_q, num_heads), split(w_k, kv_heads), split(w_v, kv_heads)
    if theta is not None:
        heads_first = (np.swapaxes(y, -2, -3) for y in (q, k))
        q, k = (np.swapaxes(rope(y, np.arange(np.shape(y)[-2]), theta=theta, layout=layout), -2, -3) for y in heads_first)
    heads = np.swapaxes(grouped_query_attention(q, k, v, is_causal=is_causal), -2, -3)
    return linear(np.reshape(heads, (*np.shape(x)[:-1], heads.shape[-2] * heads.shape[-1])), w_o)
