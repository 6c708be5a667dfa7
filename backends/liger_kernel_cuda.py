"""Liger-Kernel's Triton kernels, with the gradients that they come with; the products around them are PyTorch's.

Several kernels write over what they are given: they get copies here. docs/findings/liger_kernel.md says which.
"""

import math
from importlib import metadata

import torch
import torch.nn.functional as F
import triton
from liger_kernel.ops import LigerFusedMoEFunction
from liger_kernel.ops.experimental.embedding import LigerEmbeddingFunction
from liger_kernel.transformers import functional as liger

from ._torch_cuda_settings import GPU

framework = "torch"
device = "cuda"
version = ", ".join(
    [f"liger-kernel {metadata.version('liger-kernel')}, triton {triton.__version__}, torch {torch.__version__}", *GPU]
)
dtypes = ("float32", "bfloat16", "float16")  # most kernels compute float64 in float32
conventions = {"residual_rounding": "rounded", "all_ignored": "zero"}
domain = {
    "embedding": {"empty": False},
    "gated_activation": {"activation": ("silu", "gelu_tanh")},
    "rope": {"layout": ("half",)},
    "cross_entropy": {"empty": False},  # their checks of the targets take a maximum, and chunks of no rows are divided by
    "linear_cross_entropy": {"empty": False},
}


def embedding(token_ids, weight):
    return LigerEmbeddingFunction.apply(weight, token_ids)


def softmax(x, *, axis):
    return liger.liger_softmax(x.movedim(axis, -1)).movedim(-1, axis)


def rms_norm(x, weight, *, eps):
    return liger.liger_rms_norm(x, weight, eps, casting_mode="gemma", in_place=False)  # the product with the gain in float32


def add_rms_norm(x, residual, weight, *, eps):
    return liger.liger_fused_add_rms_norm(x, residual, weight, eps, casting_mode="gemma", in_place=False)


def layer_norm(x, weight, bias, *, eps):
    return liger.liger_layer_norm(x, weight, bias, eps)


def gated_activation(x, *, activation="silu"):
    kernel = {"silu": liger.liger_swiglu, "gelu_tanh": liger.liger_geglu}[activation]
    return kernel(*(half.clone(memory_format=torch.contiguous_format) for half in x.chunk(2, dim=-1)))


def swiglu(x, w1, w2, w3):
    return F.linear(liger.liger_swiglu(F.linear(x, w1), F.linear(x, w3)), w2)


def rope(x, positions, inverse_frequencies=None, *, theta=10000.0, layout="half", rotary_dim=None, attention_factor=1.0):
    del layout  # pairs (k, k + r/2), which the domain says
    r, batch, n = x.shape[-1] if rotary_dim is None else rotary_dim, math.prod(x.shape[:-2]), x.shape[-2]
    if not r:
        raise NotImplementedError("liger_rope turns two features or more")
    if inverse_frequencies is None:
        inverse_frequencies = theta ** (-torch.arange(0, r, 2, dtype=torch.float32, device=x.device) / r)
    angles = positions[..., None] * inverse_frequencies
    angles = angles if angles.ndim == 2 else angles.expand(*x.shape[:-1], r // 2).reshape(batch, n, r // 2)
    cos, sin = (f(torch.cat([angles, angles], dim=-1)) * attention_factor for f in (torch.cos, torch.sin))
    one_head = x.reshape(batch, 1, n, x.shape[-1])
    turned, _ = liger.liger_rope(one_head.clone(), one_head.clone(), cos, sin, rotary_dim=r)
    return turned.reshape(x.shape)


def cross_entropy(logits, targets, *, ignore_index=-100, label_smoothing=0.0, z_loss=0.0, softcap=None, reduction="mean"):
    rows = logits.reshape(-1, logits.shape[-1]).clone(memory_format=torch.contiguous_format)
    loss = liger.liger_cross_entropy(
        rows, targets.flatten(), ignore_index=ignore_index, label_smoothing=label_smoothing,
        lse_square_scale=z_loss, softcap=softcap, reduction=reduction,
    )  # fmt: skip
    return loss.reshape(targets.shape) if reduction == "none" else loss


def linear_cross_entropy(
    x, weight, targets, *, ignore_index=-100, label_smoothing=0.0, z_loss=0.0, softcap=None, reduction="mean",
):  # fmt: skip
    loss = liger.liger_fused_linear_cross_entropy(
        x.reshape(-1, x.shape[-1]), weight, targets.flatten(), ignore_index=ignore_index, label_smoothing=label_smoothing,
        lse_square_scale=z_loss, softcap=softcap, reduction=reduction,
    )  # fmt: skip
    return loss.reshape(targets.shape) if reduction == "none" else loss


def mixture_of_experts(x, router, w1, w2, w3, *, k, renormalize=True):
    tokens = x.reshape(-1, x.shape[-1])
    weights, indices = F.softmax(F.linear(tokens, router), dim=-1, dtype=torch.float32).topk(k)
    weights = weights / weights.sum(-1, keepdim=True) if renormalize else weights
    y = LigerFusedMoEFunction.apply(tokens, torch.cat([w1, w3], dim=1), w2, indices.int(), weights.to(x.dtype))
    return y.reshape(x.shape)
