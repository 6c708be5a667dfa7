"""What the attentions of transformers' models share: masks made by its functions, one batch dimension, and its static cache."""

import math
from types import SimpleNamespace

import torch
from transformers.cache_utils import StaticLayer
from transformers.masking_utils import and_masks, causal_mask_function, sdpa_mask, sliding_window_overlay


def _every_key(batch, head, query, key):
    return key >= 0


def _make_mask(n, m, is_causal, left_window):
    """Which keys each query sees; None for all. The last query stands at the last key. A window of transformers counts itself."""
    if not is_causal and left_window is None:
        return None
    functions = [causal_mask_function if is_causal else _every_key]
    if left_window is not None:
        functions.append(sliding_window_overlay(left_window + 1))
    return sdpa_mask(1, n, m, q_offset=m - n, mask_function=and_masks(*functions), allow_is_causal_skip=False)[0, 0]


def attend(forward, q, k, v, mask, is_causal, scale, left_window=None, **model):
    """A model's eager attention; `model`: what its module holds, and the options of its forward."""
    own = _make_mask(q.shape[-2], k.shape[-2], is_causal, left_window)
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


def kv_cache_append(k_cache, v_cache, k, v, lengths):
    """A static layer for each row, because the rows of one layer are equally long. The layers write into the caches given."""
    for row, length in enumerate(lengths):
        layer, own = StaticLayer(k_cache.shape[2]), slice(row, row + 1)
        layer.lazy_initialization(k[own], v[own])
        layer.keys, layer.values, layer.cumulative_length = k_cache[own], v_cache[own], length.clone()
        layer.update(k[own], v[own])
    return k_cache, v_cache
