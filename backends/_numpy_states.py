"""The operations of numpy_cpu that carry a state from call to call. Sums are in float32 or wider, as in _numpy_functions."""

from itertools import pairwise

import numpy as np

from ._numpy_functions import _within_range, overflow_is_inf, silu, wide


def _member_by_member(function, cu_seqlens, axis, arrays, state, **options):
    """Each sequence in a call of its own. The tokens of outs lie along the axis, those of the arrays along the second one."""
    found = []
    for i, (start, stop) in enumerate(pairwise(cu_seqlens)):
        own = (None if x is None else x[:, start:stop] for x in arrays)
        found.append(function(*own, state=None if state is None else state[i], **options))
    return np.concatenate([out for out, _ in found], axis=axis), np.stack([after for _, after in found])


@overflow_is_inf
def causal_conv1d(x, weight, bias=None, state=None, cu_seqlens=None, *, activation=None):
    if cu_seqlens is not None:
        return _member_by_member(causal_conv1d, cu_seqlens, -1, (x,), state, weight=weight, bias=bias, activation=activation)
    past, n = weight.shape[-1] - 1, x.shape[-1]
    state = np.zeros((*x.shape[:-1], past), x.dtype) if state is None else state
    columns = np.concatenate([state, x], axis=-1)
    y = sum(wide(columns[..., j : j + n]) * wide(weight[:, j : j + 1]) for j in range(past + 1))
    y = (y if bias is None else y + bias[:, None]).astype(x.dtype)
    return silu(y) if activation == "silu" else y, columns[..., n:].copy()


def _normalized(x, eps=1e-6):
    squares = np.sum(np.square(x), axis=-1, keepdims=True) + np.asarray(eps, x.dtype)
    return x / np.sqrt(np.maximum(squares, np.finfo(x.dtype).tiny))


@overflow_is_inf
def l2_norm(x, *, eps=1e-6):
    h, s = _within_range(wide(x))
    return _normalized(h, eps / s / s).astype(x.dtype)


@overflow_is_inf
def linear_attention(q, k, v, g=None, beta=None, state=None, cu_seqlens=None, *, scale=None, qk_l2norm=False):
    """Token by token, with the state in float32 or wider, and member by member."""
    if cu_seqlens is not None:
        arrays = (q, k, v, g, beta)
        return _member_by_member(linear_attention, cu_seqlens, -2, arrays, state, scale=scale, qk_l2norm=qk_l2norm)
    dtype, d_k = q.dtype, q.shape[-1]
    q, k, v = wide(q), wide(k), wide(v)
    if qk_l2norm:
        q, k = _normalized(q), _normalized(k)
    q, k = (np.repeat(x, v.shape[-3] // x.shape[-3], axis=-3) for x in (q, k))
    state = np.zeros((*v.shape[:-2], d_k, v.shape[-1]), v.dtype) if state is None else state.copy()
    out = np.zeros_like(v)
    for t in range(v.shape[-2]):
        if g is not None:
            state *= np.exp(g[..., t, :, None])
        written = v[..., t, None, :]
        if beta is not None:
            written = wide(beta)[..., t, None, None] * (written - k[..., t, None, :] @ state)
        state += k[..., t, :, None] * written
        out[..., t, :] = (q[..., t, None, :] @ state)[..., 0, :]
    return (out * v.dtype.type(1 / np.sqrt(d_k) if scale is None else scale)).astype(dtype), state


def _log1p_exp(y):
    return np.maximum(y, 0) + np.log1p(np.exp(-np.abs(y)))


@overflow_is_inf
def mamba2_scan(x, dt, a, b, c, d=None, z=None, dt_bias=None, state=None, *, dt_softplus=False, dt_limit=(0.0, float("inf"))):
    """Token by token, with the state in float32 or wider."""
    dtype, (x, dt, b, c) = x.dtype, (wide(t) for t in (x, dt, b, c))
    dt = dt if dt_bias is None else dt + dt_bias[:, None]
    dt = np.clip(_log1p_exp(dt) if dt_softplus else dt, *dt_limit).astype(x.dtype)
    b, c = (np.repeat(t, x.shape[-3] // t.shape[-3], axis=-3) for t in (b, c))
    state = np.zeros((*x.shape[:-2], x.shape[-1], b.shape[-1]), x.dtype) if state is None else state.copy()
    out = np.zeros_like(x)
    for t in range(x.shape[-2]):
        step = dt[..., t, None, None]
        state = np.exp(step * a[:, None, None]) * state + step * x[..., t, :, None] * b[..., t, None, :]
        out[..., t, :] = (state @ c[..., t, :, None])[..., 0]
    out = out if d is None else out + d[:, None, None] * x
    return (out if z is None else out * silu(wide(z))).astype(dtype), state


@overflow_is_inf
def linear_attention_gate(x, a_log, dt_bias=None, *, lower_bound=None):
    y = wide(x) if dt_bias is None else wide(x) + dt_bias[:, None, :]
    rate = np.exp(a_log)[:, None, None]
    return -rate * np.logaddexp(0, y) if lower_bound is None else y.dtype.type(lower_bound) / (1 + np.exp(-rate * y))


@overflow_is_inf
def gated_rms_norm(x, gate, weight, *, eps, norm_before_gate=True, group_size=None, activation="silu"):
    wide_gate = wide(gate)
    opened = 1 / (1 + np.exp(-wide_gate))
    opened = wide_gate * opened if activation == "silu" else opened
    z = wide(x) if norm_before_gate else wide(x) * opened
    size = group_size or x.shape[-1]
    groups = z.reshape(*x.shape[:-1], x.shape[-1] // size, size)
    y = (groups / np.sqrt(np.mean(np.square(groups), axis=-1, keepdims=True) + z.dtype.type(eps))).reshape(x.shape) * weight
    return (y * opened if norm_before_gate else y).astype(x.dtype)
