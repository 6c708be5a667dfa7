"""Hugging Face transformers' Qwen3-Next: its gated delta rule in PyTorch, its causal convolution, and its gated norm.

One token is a step of the recurrence, several are chunks, as in its layer. Both compute in float32 whatever they are given.
"""

from types import SimpleNamespace

import torch
import transformers
from transformers.models.qwen3_next import modeling_qwen3_next as qwen

from ._flat_batch import flat

framework = "torch"
device = "cpu"
version = f"transformers {transformers.__version__}, torch {torch.__version__}"
dtypes = ("float32", "bfloat16", "float16")
conventions = {"cache_update": "returned", "l2_epsilon": "inside", "token_axis": "before heads"}
domain = {
    "l2_norm": {"dtype": ("float32",)},  # called in float32 alone
    "linear_attention": {"g": "required", "beta": "required", "d_g": (1,), "n": range(1, 4097), "empty": False},
    "causal_conv1d": {"past": range(1, 65), "n": range(1, 4097), "empty": False},
}


def linear_attention(q, k, v, g, beta, state=None, *, qk_l2norm=False):
    rule = qwen.torch_recurrent_gated_delta_rule if q.shape[-3] == 1 else qwen.torch_chunk_gated_delta_rule
    arrays, given = (flat(x, 3) for x in (q, k, v)), {"initial_state": flat(state, 3), "output_final_state": True}
    out, after = rule(*arrays, flat(g[..., 0], 2), flat(beta, 2), use_qk_l2norm_in_kernel=qk_l2norm, **given)
    return out.reshape(v.shape), after.reshape(*v.shape[:-3], *after.shape[-3:])


def causal_conv1d(x, weight, bias=None, state=None, *, activation=None):
    rows, past = flat(x, 2), weight.shape[-1] - 1
    if state is None:
        out = qwen.causal_conv1d_fn(rows, weight, bias, activation)
        after = torch.nn.functional.pad(rows, (past - rows.shape[-1], 0))  # as its layer does
    else:
        after = flat(state, 2).clone()
        out = qwen.causal_conv1d_update(rows, after, weight, bias, activation)
    return out.reshape(x.shape), after.reshape(*x.shape[:-1], past)


def l2_norm(x, *, eps=1e-6):
    return qwen.l2norm(x, eps=eps)


def gated_rms_norm(x, gate, weight, *, eps):
    own = SimpleNamespace(weight=weight, variance_epsilon=eps, activation="silu")
    return qwen.Qwen3NextRMSNormGated.forward(own, x, gate)
