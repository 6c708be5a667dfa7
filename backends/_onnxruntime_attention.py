"""ONNX Runtime's Attention, and TensorScatter, which writes a cache. Attention has no sinks, and no windows before opset 25."""

import math

import numpy as np

from ._onnxruntime_node import run, run_several

AFTER_SOFTMAX = 3  # of qk_matmul_output_mode


def _of_rank_four(a, batch):
    return np.broadcast_to(a, (*batch, *a.shape[-3:])).reshape(math.prod(batch), *a.shape[-3:])


def make_attributes(is_causal, scale, softcap):
    if scale is not None and scale <= 0:
        raise NotImplementedError("Attention refuses a scale that is not positive")
    given = {"scale": scale, "softcap": softcap}  # 1/√d_k is the operator's own default
    return {"is_causal": int(is_causal)} | {name: float(value) for name, value in given.items() if value is not None}


def _with_one_batch(q, k, v, mask):
    """The arrays of rank four, and their common batch."""
    batches = [a.shape[:-3] for a in (q, k, v)]
    if mask is not None:
        mask = np.broadcast_to(mask, (*mask.shape[:-2], q.shape[-2], k.shape[-2]))  # a last axis of 1 means one key alone
        batches.append(mask.shape[:-3])
    batch = np.broadcast_shapes(*batches)
    if mask is not None and mask.ndim > 2:
        mask = _of_rank_four(mask, batch)
    return [*(_of_rank_four(a, batch) for a in (q, k, v)), mask], batch


def grouped_query_attention(q, k, v, mask=None, *, is_causal=False, scale=None, softcap=None):
    arrays, batch = _with_one_batch(q, k, v, mask)
    y = run("Attention", *arrays, **make_attributes(is_causal, scale, softcap))
    return y.reshape(*batch, *y.shape[1:])


def _one_head(*arrays):
    return (None if a is None else np.expand_dims(a, -3) for a in arrays)


def attention_with_weights(q, k, v, mask=None, *, is_causal=False, scale=None):
    mask = mask if mask is None or mask.ndim < 3 else np.expand_dims(mask, -3)
    arrays, batch = _with_one_batch(*_one_head(q, k, v), mask)
    attributes = make_attributes(is_causal, scale, None) | {"qk_matmul_output_mode": AFTER_SOFTMAX}
    out, weights = run_several("Attention", ("y", "", "", "weights"), *arrays, **attributes)
    return tuple(y.reshape(*batch, *y.shape[2:]) for y in (out, weights))


def scaled_dot_product_attention(q, k, v, mask=None, bias=None, *, is_causal=False, scale=None, softcap=None):
    if mask is not None and bias is not None:
        raise NotImplementedError("Attention takes one attn_mask, of bool or of numbers")
    added = bias if mask is None else mask
    if added is not None and added.ndim > 2:
        added = np.expand_dims(added, -3)
    y = grouped_query_attention(*_one_head(q, k, v), added, is_causal=is_causal, scale=scale, softcap=softcap)
    return y[..., 0, :, :]


def kv_cache_append(k_cache, v_cache, k, v, lengths):
    return tuple(run("TensorScatter", cache, new, lengths, axis=2) for cache, new in ((k_cache, k), (v_cache, v)))


def attention_with_kv_cache(q, k_cache, v_cache, lengths, *, is_causal=True, scale=None, softcap=None):
    unused = (None, None, None)  # a mask, and keys and values of earlier calls
    return run("Attention", q, k_cache, v_cache, *unused, lengths, **make_attributes(is_causal, scale, softcap))
