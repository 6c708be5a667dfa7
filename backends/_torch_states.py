"""The operations of torch_cpu that carry a state from call to call: convolutions of PyTorch, in float32 or wider."""

import torch

from ._torch_functions import _widened, _within_range, in_float32


def _member_by_member(function, cu_seqlens, axis, arrays, state, **options):
    """Each sequence in a call of its own. The tokens of outs lie along the axis, those of the arrays along the second one."""
    lengths = cu_seqlens.diff().tolist()
    parts = [[None] * len(lengths) if x is None else x.split(lengths, dim=1) for x in arrays]
    states = [None] * len(lengths) if state is None else state
    found = [function(*own, state=own_state, **options) for *own, own_state in zip(*parts, states, strict=True)]
    return torch.cat([out for out, _ in found], dim=axis), torch.stack([after for _, after in found])


def causal_conv1d(x, weight, bias=None, state=None, cu_seqlens=None, *, activation=None):
    if cu_seqlens is not None:
        return _member_by_member(causal_conv1d, cu_seqlens, -1, (x,), state, weight=weight, bias=bias, activation=activation)
    (d, w), shape = weight.shape, x.shape
    state = x.new_zeros((*shape[:-1], w - 1)) if state is None else state
    columns = torch.cat([state, x], dim=-1)
    taps, offset = _widened([weight, bias])
    if x.numel():
        rows = _widened(columns.reshape(-1, d, columns.shape[-1]))
        y = torch.nn.functional.conv1d(rows, taps[:, None], offset, groups=d)
    else:
        y = _widened(x) * taps[:, :1]
    y = torch.nn.functional.silu(y) if activation == "silu" else y
    return y.reshape(shape).to(x.dtype), columns[..., shape[-1] :].clone()


@in_float32
def l2_norm(x, *, eps=1e-6):
    h, s = _within_range(x)
    squares = h.square().sum(-1, keepdim=True) + eps / s / s
    return h / torch.sqrt(squares.clamp(min=torch.finfo(h.dtype).tiny))


CHUNK = 64  # tokens


def _decays(g):
    """Return the decays from before a chunk to each token, from each token to each later one, and to the end of the chunk.

    A g of -inf is in no sum, since two of them have no difference: what lies on its two sides is apart.
    """
    is_end = g.isneginf()
    total, part = g.masked_fill(is_end, 0.0).cumsum(-2), is_end.cumsum(-2)
    between = total[..., :, None, :] - total[..., None, :, :]
    later = torch.ones(g.shape[-2], g.shape[-2], dtype=torch.bool).tril()[:, :, None]
    together = later & (part[..., :, None, :] == part[..., None, :, :])
    decays = between.masked_fill(~together, -torch.inf).exp()
    return total.masked_fill(part > 0, -torch.inf).exp(), decays, decays[..., -1, :, :]


def _scores(a, b, decays):
    """Return the products of each row of a with the rows of b before it, and with its own, decayed."""
    if decays.shape[-1] == 1:
        return (a @ b.mT) * decays[..., 0]
    # Of two arrays: where opt_einsum is installed, torch.einsum of three raises decimal.InvalidOperation for an empty batch.
    return torch.einsum("...ijc,...jc->...ij", a[..., :, None, :] * decays, b)


def _chunk(q, k, v, g, beta, state):
    """Return the outs of a chunk and the state after it. What its tokens write is solved for at once."""
    since, decays, left = _decays(g)
    written = v if beta is None else beta[..., None] * (v - (k * since) @ state)
    if beta is not None:
        lower = beta[..., None] * _scores(k, k, decays).tril(-1)
        identity = torch.eye(k.shape[-2], dtype=k.dtype)
        written = torch.linalg.solve_triangular(identity + lower, written, upper=False, unitriangular=True)
    out = (q * since) @ state + _scores(q, k, decays) @ written
    return out, since[..., -1, :, None] * state + (k * left).mT @ written


def _in_chunks(q, k, v, g, beta, state):
    """Return the outs of all tokens, and the last state."""
    outs = [v[..., :0, :]]
    for start in range(0, v.shape[-2], CHUNK):
        tokens = slice(start, start + CHUNK)
        rate = None if beta is None else beta[..., tokens]
        out, state = _chunk(q[..., tokens, :], k[..., tokens, :], v[..., tokens, :], g[..., tokens, :], rate, state)
        outs.append(out)
    return torch.cat(outs, dim=-2), state


def linear_attention(q, k, v, g=None, beta=None, state=None, cu_seqlens=None, *, scale=None, qk_l2norm=False):
    """Chunk by chunk, in float32 or wider, and member by member."""
    if cu_seqlens is not None:
        arrays = (q, k, v, g, beta)
        return _member_by_member(linear_attention, cu_seqlens, -2, arrays, state, scale=scale, qk_l2norm=qk_l2norm)
    dtype, d_k = q.dtype, q.shape[-1]
    q, k, v, beta = _widened([q, k, v, beta])
    if qk_l2norm:
        q, k = (x * (x.square().sum(-1, keepdim=True) + 1e-6).rsqrt() for x in (q, k))
    q, k = (x.repeat_interleave(v.shape[-3] // x.shape[-3], dim=-3) for x in (q, k))
    state = v.new_zeros((*v.shape[:-2], d_k, v.shape[-1])) if state is None else state.clone()
    out, state = _in_chunks(q, k, v, v.new_zeros((*v.shape[:-1], 1)) if g is None else g, beta, state)
    return (out * (d_k**-0.5 if scale is None else scale)).to(dtype), state


def mamba2_scan(x, dt, a, b, c, d=None, z=None, dt_bias=None, state=None, *, dt_softplus=False, dt_limit=(0.0, torch.inf)):
    """Chunk by chunk, in float32 or wider."""
    dtype, (x, dt, b, c, z) = x.dtype, _widened([x, dt, b, c, z])
    dt = dt if dt_bias is None else dt + dt_bias[:, None]
    dt = (torch.nn.functional.softplus(dt) if dt_softplus else dt).clamp(*dt_limit)
    b, c = (t.repeat_interleave(x.shape[-3] // t.shape[-3], dim=-3) for t in (b, c))
    state = x.new_zeros((*x.shape[:-2], x.shape[-1], b.shape[-1])) if state is None else state.clone()
    y, state = _in_chunks(c, b, dt[..., None] * x, (dt * a[:, None])[..., None], None, state.mT)
    y = y if d is None else y + d[:, None, None] * x
    return (y if z is None else y * torch.nn.functional.silu(z)).to(dtype), state.mT.contiguous()


def linear_attention_gate(x, a_log, dt_bias=None, *, lower_bound=None):
    y = _widened(x) if dt_bias is None else _widened(x) + dt_bias[:, None, :]
    rate = a_log.exp()[:, None, None]
    return -rate * torch.nn.functional.softplus(y) if lower_bound is None else lower_bound * torch.sigmoid(rate * y)


@in_float32
def gated_rms_norm(x, gate, weight, *, eps, norm_before_gate=True, group_size=None, activation="silu"):
    opened = torch.nn.functional.silu(gate) if activation == "silu" else torch.sigmoid(gate)
    groups = (x if norm_before_gate else x * opened).unflatten(-1, (-1, group_size or x.shape[-1]))
    y = (groups * torch.rsqrt(groups.square().mean(-1, keepdim=True) + eps)).flatten(-2) * weight
    return y * opened if norm_before_gate else y
