"""What the attentions of transformers' models share: masks made by its functions, one batch dimension, and its caches.

The rows of one cache are equally long, so each row here has a cache of its own.
"""

import math
from types import SimpleNamespace

import torch
from transformers.cache_utils import DynamicLayer, StaticLayer
from transformers.masking_utils import and_masks, causal_mask_function, sdpa_mask, sliding_window_overlay


def _make_mask(n, m, is_causal, left_window, length):
    """Which of m keys each query sees; None for all. Only the first `length` are keys, and the last query stands at the last.

    A window of transformers counts the query itself.
    """
    if not is_causal and left_window is None and length == m:
        return None
    functions = [causal_mask_function if is_causal else lambda batch, head, query, key: key < length]
    if left_window is not None:
        functions.append(sliding_window_overlay(left_window + 1))
    return sdpa_mask(1, n, m, q_offset=length - n, mask_function=and_masks(*functions), allow_is_causal_skip=False)[0, 0]


def attend(forward, q, k, v, mask, is_causal, scale, left_window=None, **model):
    """A model's eager attention; `model`: what its module holds, and the options of its forward."""
    own = _make_mask(q.shape[-2], k.shape[-2], is_causal, left_window, k.shape[-2])
    mask = own if mask is None else mask if own is None else mask & own
    added = None if mask is None else q.new_zeros(mask.shape).masked_fill(~mask, torch.finfo(q.dtype).min)  # as eager_mask does
    batch = torch.broadcast_shapes(*(a.shape[:-3] for a in (q, k, v, added) if a is not None))
    q, k, v = (a.expand(*batch, *a.shape[-3:]).reshape(math.prod(batch), *a.shape[-3:]) for a in (q, k, v))
    if added is not None and added.ndim > 3:
        added = added.expand(*batch, *added.shape[-3:]).reshape(math.prod(batch), *added.shape[-3:])
    held = {"num_key_value_groups": q.shape[1] // k.shape[1], "training": False, "sinks": model.pop("sinks", None)}
    scaling = q.shape[-1] ** -0.5 if scale is None else scale
    y, _ = forward(SimpleNamespace(**held), q, k, v, added, scaling=scaling, **model)
    return y.transpose(1, 2).reshape(*batch, q.shape[1], q.shape[2], v.shape[-1])


def _has_sinks(model):
    return bool(torch.isfinite(model.get("sinks", torch.tensor(-math.inf))).all())


def make_static(k_cache, v_cache, length):
    """A static layer with the first keys of one row. It writes into the caches given."""
    layer = StaticLayer(k_cache.shape[2])
    layer.lazy_initialization(k_cache, v_cache)
    layer.keys, layer.values, layer.cumulative_length = k_cache, v_cache, torch.tensor(length)
    return layer


def make_dynamic(k_cache, v_cache, length):
    """A dynamic layer with the first keys of one row."""
    layer = DynamicLayer()
    layer.update(k_cache[:, :, :length], v_cache[:, :, :length])
    return layer


def append(make_layer, k_cache, v_cache, k, v, lengths):
    """The caches with what each row's layer holds after the new keys."""
    for row, length in enumerate(lengths.tolist()):
        own = slice(row, row + 1)
        keys, values = make_layer(k_cache[own], v_cache[own], length).update(k[own], v[own])
        k_cache[own, :, : keys.shape[2]], v_cache[own, :, : values.shape[2]] = keys, values
    return k_cache, v_cache


def attend_to_cache(make_layer, forward, q, k_cache, v_cache, lengths, is_causal, scale, left_window, **model):
    """Each row writes its newest keys into a layer of its own, and attends to what the layer returns."""
    n, out = q.shape[2], q.new_empty(*q.shape[:3], v_cache.shape[3])
    for row, length in enumerate(lengths.tolist()):
        own, earlier = slice(row, row + 1), max(length - n, 0)
        if length < (n if is_causal or left_window is not None else 1) and not _has_sinks(model):
            raise NotImplementedError("in the models each query has a key of its own")
        layer = make_layer(k_cache[own].clone(), v_cache[own].clone(), earlier)
        keys, values = layer.update(k_cache[own, :, earlier:length], v_cache[own, :, earlier:length])
        mask = _make_mask(n, keys.shape[2], is_causal, left_window, length)
        out[own] = attend(forward, q[own], keys, values, mask, False, scale, **model)
    return out
