"""Hugging Face transformers' Kimi Linear: its delta rule with a decay of each channel, its gate, and its gated norm.

One token is a step of the recurrence, several are chunks, as in its layer. Both compute in float32 whatever they are given.
"""

from types import SimpleNamespace

import torch
import transformers
from transformers.models.kimi_linear import modeling_kimi_linear as kimi

from ._flat_batch import flat

framework = "torch"
device = "cpu"
version = f"transformers {transformers.__version__}, torch {torch.__version__}"
dtypes = ("float32", "bfloat16", "float16")
conventions = {"cache_update": "returned", "l2_epsilon": "inside", "token_axis": "before heads"}
domain = {
    "l2_norm": {"dtype": ("float32",)},  # called in float32 alone
    "linear_attention": {"g": "required", "beta": "required", "d_g": "d_k", "h_k": "h", "n": range(1, 4097), "empty": False},
    "linear_attention_gate": {"n": range(1, 4097), "empty": False},
    "gated_rms_norm": {"activation": ("sigmoid",)},
}


def linear_attention(q, k, v, g, beta, state=None, *, qk_l2norm=False):
    rule = kimi.recurrent_kimi_delta_attention if q.shape[-3] == 1 else kimi.chunk_kimi_delta_attention
    arrays, given = (flat(x, 3) for x in (q, k, v, g)), {"initial_state": flat(state, 3), "output_final_state": True}
    out, after = rule(*arrays, flat(beta, 2), use_qk_l2norm_in_kernel=qk_l2norm, **given)
    return out.reshape(v.shape), after.reshape(*v.shape[:-3], *after.shape[-3:])


def linear_attention_gate(x, a_log, dt_bias=None):
    (h, d), rows = x.shape[-2:], flat(x, 3)
    dt_bias = torch.zeros(h, d) if dt_bias is None else dt_bias.contiguous()
    own = SimpleNamespace(head_dim=d, f_a_proj=lambda y: y, f_b_proj=lambda y: y, dt_bias=dt_bias, A_log=a_log.view(1, 1, h, 1))
    return kimi.KimiLinearForgetGate.forward(own, rows.flatten(-2)).reshape(x.shape)


def l2_norm(x, *, eps=1e-6):
    return kimi.l2norm(x, eps=eps)


def gated_rms_norm(x, gate, weight, *, eps, activation):
    own = SimpleNamespace(weight=weight, variance_epsilon=eps, activation="sigmoid")
    return kimi.KimiLinearRMSNormGated.forward(own, x, gate)
