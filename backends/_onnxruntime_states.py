"""ONNX Runtime's operators that carry a state: heads side by side in the last axis, one axis of the batch."""

import numpy as np

from ._onnxruntime_node import run_several

RULES = {(False, False): "linear", (True, False): "gated", (False, True): "delta", (True, True): "gated_delta"}


def _packed(x):
    """(..., h, n, d) as (batch, n, h d)."""
    if x is None:
        return None
    h, n, d = x.shape[-3:]
    return np.ascontiguousarray(x.reshape(-1, h, n, d).swapaxes(1, 2)).reshape(-1, n, h * d)


def linear_attention(q, k, v, g=None, beta=None, state=None, *, scale=None):
    (h_k, n, d_k), (h, _, d_v), batch = q.shape[-3:], v.shape[-3:], v.shape[:-3]
    if h_k != h:
        raise NotImplementedError("its queries are grouped, and not its values")
    rule = RULES[g is not None, beta is not None]
    rate = None if beta is None else _packed(beta[..., None])
    decay = None if g is None else _packed(g).astype(q.dtype)
    start = np.zeros((*batch, h, d_k, d_v), q.dtype) if state is None else state
    out, after = run_several(
        "com.microsoft:LinearAttention", ("out", "state"),
        _packed(q), _packed(k), _packed(v), start.reshape(-1, h, d_k, d_v), decay, rate,
        update_rule=rule, q_num_heads=h, kv_num_heads=h, scale=float(1 / np.sqrt(d_k) if scale is None else scale),
    )  # fmt: skip
    return out.reshape(-1, n, h, d_v).swapaxes(1, 2).reshape(v.shape), after.reshape(*batch, h, d_k, d_v)


def causal_conv1d(x, weight, bias=None, state=None, *, activation=None):
    rows, past = x.reshape(-1, *x.shape[-2:]), weight.shape[-1] - 1
    start = None if state is None else state.reshape(-1, *state.shape[-2:])
    out, after = run_several(
        "com.microsoft:CausalConvWithState", ("out", "state"), rows, weight[:, None], bias, start, activation=activation or "none"
    )
    return out.reshape(x.shape), after.reshape(*x.shape[:-1], past)
