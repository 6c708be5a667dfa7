"""flash-linear-attention's functions in plain PyTorch, beside which it tests its kernels. They compute in float32.

Heads are shared by repetition, as in its layers. Chunks have 64 tokens, or what divides the tokens where a function pads nothing.
"""

import math
import warnings
from importlib.metadata import version as version_of

import torch

from ._flat_batch import flat, shared

with warnings.catch_warnings(action="ignore"):  # it says that there is no GPU
    from fla.ops.delta_rule.naive import delta_rule_recurrence
    from fla.ops.gated_delta_rule.naive import naive_chunk_gated_delta_rule, naive_recurrent_gated_delta_rule
    from fla.ops.gla.naive import naive_recurrent_gla
    from fla.ops.kda.gate import naive_kda_gate, naive_kda_lowerbound_gate
    from fla.ops.kda.naive import naive_chunk_kda, naive_recurrent_kda
    from fla.ops.linear_attn.naive import naive_recurrent_linear_attn
    from fla.ops.simple_gla.naive import naive_chunk_simple_gla, naive_recurrent_simple_gla

framework = "torch"
device = "cpu"
version = f"fla-core {version_of('fla-core')}, torch {torch.__version__}"
dtypes = ("float32", "bfloat16", "float16")
conventions = {"cache_update": "returned", "token_axis": "before heads"}
domain = {
    "linear_attention": {"n": range(1, 4097), "empty": False},
    "linear_attention_gate": {"n": range(1, 4097), "empty": False},
}


def linear_attention(q, k, v, g=None, beta=None, state=None, *, scale=None):
    n, h, _ = v.shape[-3:]
    rows = [shared(flat(x, 3), h) for x in (q, k)] + [flat(v, 3)]
    given = {"initial_state": flat(state, 3), "output_final_state": True}
    if g is None and beta is not None:
        out, after = _delta_rule(*rows, flat(beta, 2), scale, given)
    else:
        out, after = _decayed(*rows, flat(g, 3), flat(beta, 2), scale, n, given)
    return out.to(q.dtype).reshape(v.shape), after.reshape(*v.shape[:-3], *after.shape[-3:])


def _delta_rule(q, k, v, beta, scale, given):
    """The one function that has heads before tokens."""
    if scale is not None:
        raise NotImplementedError("its delta rule has no scale")
    out, after = delta_rule_recurrence(*(x.transpose(1, 2) for x in (q, k, v, beta)), **given)
    return out.transpose(1, 2), after


def _decayed(q, k, v, g, beta, scale, n, given):
    by_head = g is not None and g.shape[-1] == 1
    g = g[..., 0] if by_head else g
    if g is None:
        return naive_recurrent_linear_attn(q, k, v, scale=scale, **given)
    if beta is None and by_head:
        rule = naive_recurrent_simple_gla if n == 1 else naive_chunk_simple_gla
        return rule(q, k, v, g, scale=scale, **given)
    if beta is None:
        if scale is not None:
            raise NotImplementedError("its attention with a decay of each channel has no scale")
        return naive_recurrent_gla(q, k, v, g, **given)
    if by_head:
        rule = naive_recurrent_gated_delta_rule if n == 1 else naive_chunk_gated_delta_rule
        return rule(q=q, k=k, v=v, g=g, beta=beta, scale=scale, **given)
    if n == 1:
        return naive_recurrent_kda(q, k, v, g, beta, scale=scale, **given)
    return naive_chunk_kda(q, k, v, g, beta, scale=scale, chunk_size=math.gcd(n, 64), **given)


def linear_attention_gate(x, a_log, dt_bias=None, *, lower_bound=None):
    rows = flat(x, 3)
    if lower_bound is None:
        return naive_kda_gate(rows, a_log, dt_bias).reshape(x.shape)
    return naive_kda_lowerbound_gate(rows, a_log, dt_bias, lower_bound).reshape(x.shape)
