"""The operations of torch_cpu that carry a state from call to call: convolutions of PyTorch, in float32 or wider."""

import torch

from ._torch_functions import _widened


def causal_conv1d(x, weight, bias=None, state=None, *, activation=None):
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
