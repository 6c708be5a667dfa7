"""The lab's norms and its attention, in evaluation mode, behind the names and signatures of the operations."""

import torch
from torch.func import functional_call

from . import _lab

framework = "torch"
dtypes = ("float32",)
domain = {"multihead_self_attention": {"d": "h d_k", "d_v": "d_k", "layout": ("half",), "empty": False}}


def layer_norm(x, weight, bias, *, eps):
    return functional_call(_lab.LayerNorm(len(weight), eps), {"weight": weight, "bias": bias}, (x,), strict=True)


def rms_norm(x, weight, *, eps):
    return functional_call(_lab.RMSNorm(len(weight), eps), {"weight": weight}, (x,), strict=True)


def _attention(x, w_q, w_k, w_v, w_o, num_heads, theta):
    """The module in evaluation mode, as a function of what its forward takes."""
    sizes = {"hidden_size": x.shape[-1], "num_attention_heads": num_heads, "num_key_value_heads": num_heads}
    rotation = {"use_rope": theta is not None, "rope_theta": theta or 10000.0}
    module = _lab.MultiHeadAttention(_lab.ModelConfig(**sizes, **rotation)).eval()
    state = {"q_proj.weight": w_q, "k_proj.weight": w_k, "v_proj.weight": w_v, "o_proj.weight": w_o}
    return lambda *given, **options: functional_call(module, state, given, options, strict=True)


def multihead_self_attention(x, w_q, w_k, w_v, w_o, positions=None, *, num_heads, is_causal=True, theta=None, layout="half"):
    attention, n = _attention(x, w_q, w_k, w_v, w_o, num_heads, theta), x.shape[-2]
    batch = x.reshape(-1, *x.shape[-2:])
    mask = torch.full((n, n), -torch.inf, dtype=x.dtype).triu(1) if is_causal else None
    if positions is not None:
        positions = positions.expand(x.shape[:-1]).reshape(batch.shape[:-1])
    return attention(batch, positions, attention_mask=mask)[0].reshape(x.shape)
