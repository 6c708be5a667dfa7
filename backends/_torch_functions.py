"""The functions that torch_cpu is made of, from linear to alibi_bias, and in what precision they are computed."""

import functools
import math

import torch

device = "cpu"


def _floating_dtypes(tree):
    """The dtypes of the floating tensors among nested arguments."""
    if isinstance(tree, torch.Tensor):
        return [tree.dtype] if tree.is_floating_point() else []
    parts = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list | tuple) else ()
    return [dtype for part in parts for dtype in _floating_dtypes(part)]


def _widened(tree):
    if isinstance(tree, dict):
        return {name: _widened(part) for name, part in tree.items()}
    if isinstance(tree, list | tuple):
        return [_widened(part) for part in tree]
    return tree.float() if isinstance(tree, torch.Tensor) and tree.dtype in (torch.float16, torch.bfloat16) else tree


def in_float32(operation):
    """16-bit tensors in float32 up to the result, which takes the dtype of the first floating argument."""

    @functools.wraps(operation)
    def wrapper(*arrays, **keywords):
        dtypes = _floating_dtypes([*arrays, keywords])
        if any(dtype.itemsize == 2 for dtype in dtypes):
            arrays, keywords = _widened(arrays), _widened(keywords)
        return operation(*arrays, **keywords).to(dtypes[0])

    return wrapper


@in_float32
def linear(x, weight, bias=None):
    return x @ weight.mT if bias is None else x @ weight.mT + bias


def embedding(token_ids, weight, *, padding_idx=None):
    return torch.nn.functional.embedding(token_ids, weight, padding_idx)


def _shift(x, axis):
    """The maximum, which keeps exp in range and cancels: nothing to differentiate. That of no entries is -inf."""
    return (x.amax(axis, keepdim=True) if x.shape[axis] else x.sum(axis, keepdim=True) - math.inf).detach()


@in_float32
def softmax(x, *, axis):
    e = torch.exp(x - _shift(x, axis))
    return e / e.sum(axis, keepdim=True)


@in_float32
def log_softmax(x, *, axis):
    shifted = x - _shift(x, axis)
    return shifted - shifted.exp().sum(axis, keepdim=True).log()


@in_float32
def logsumexp(x, *, axis):
    top = _shift(x, axis)
    top = top.masked_fill(top.isinf(), 0)
    return (top + torch.exp(x - top).sum(axis, keepdim=True).log()).squeeze(axis)


def _within_range(x):
    """Each row divided by a power of two, which is 1 or more, and that power: now no square overflows."""
    largest = x.detach().abs().amax(-1, keepdim=True).clamp(min=1)
    power = largest / (2 * torch.frexp(largest).mantissa)
    return x / power, power


def _over_root_mean_square(h, eps):
    mean_square = h.square().mean(-1, keepdim=True) + eps
    return h / torch.sqrt(mean_square.clamp(min=torch.finfo(h.dtype).tiny))


@in_float32
def rms_norm(x, weight, *, eps):
    h, s = _within_range(x)
    return _over_root_mean_square(h, eps / s / s) * weight


def add_rms_norm(x, residual, weight, *, eps):
    total = x + residual
    return rms_norm(total, weight, eps=eps), total


@in_float32
def layer_norm(x, weight, bias, *, eps):
    h, s = _within_range(x)
    return _over_root_mean_square(h - h.mean(-1, keepdim=True), eps / s / s) * weight + bias


def relu(x):
    return torch.relu(x)


@in_float32
def sigmoid(x):
    return torch.sigmoid(x)


def _not_minus_inf(x):
    return x.clamp(min=torch.finfo(x.dtype).min)  # -inf * 0 would be NaN


@in_float32
def silu(x):
    return _not_minus_inf(x) * torch.sigmoid(x)


@in_float32
def gelu(x, *, approximate="none"):
    if approximate == "none":
        return _not_minus_inf(x) * (torch.erfc(-x / math.sqrt(2)) / 2)
    u = x.clamp(-30, 30)  # beyond, the gate is 0 or 1
    gate = torch.sigmoid(math.sqrt(8 / math.pi) * (u + 0.044715 * u**3))  # (1 + tanh z) / 2 = σ(2z)
    return _not_minus_inf(x) * gate


@in_float32
def glu(x, w1, w2, b1=None, b2=None):
    return sigmoid(linear(x, w1, b1)) * linear(x, w2, b2)


@in_float32
def gated_activation(x, *, activation="silu", layout="concatenated", gate="first", limit=None, alpha=1.0, offset=0.0):
    halves = x.chunk(2, -1) if layout == "concatenated" else (x[..., 0::2], x[..., 1::2])
    g, u = halves if gate == "first" else halves[::-1]
    if limit is not None:
        g, u = g.clamp(max=limit), u.clamp(-limit, limit)
    act = {
        "silu": lambda z: _not_minus_inf(z) * torch.sigmoid(alpha * z),
        "gelu": gelu,
        "gelu_tanh": lambda z: gelu(z, approximate="tanh"),
        "relu": relu,
        "sigmoid": sigmoid,
    }[activation]
    return act(g) * (u + offset)


@in_float32
def swiglu(x, w1, w2, w3, b1=None, b2=None, b3=None):
    return linear(silu(linear(x, w1, b1)) * linear(x, w3, b3), w2, b2)


@in_float32
def feed_forward(x, w1, w2, b1=None, b2=None, *, activation="relu"):
    return linear({"relu": relu, "gelu": gelu}[activation](linear(x, w1, b1)), w2, b2)


def _distance(n, m, device):
    """i - j for every query i and key j."""
    return torch.arange(n, device=device)[:, None] - torch.arange(n if m is None else m, device=device)


def causal_mask(*, n, m=None, aligned="bottom-right", device=device):
    last = 0 if m is None or aligned == "top-left" else m - n
    return _distance(n, m, device) >= -last


def sliding_window_mask(*, n, m=None, window, is_causal=True, device=device):
    distance = _distance(n, m, device)
    near = distance.abs() <= window
    return near & (distance >= 0) if is_causal else near


def alibi_slopes(*, num_heads, device=device):
    below = 1 << (num_heads.bit_length() - 1)  # the largest power of two that is no larger
    exponents = [-8 * i / below for i in range(1, below + 1)] + [-4 * i / below for i in range(1, 2 * below, 2)]
    return torch.tensor([2.0**e for e in exponents[:num_heads]], dtype=torch.float32, device=device)


@in_float32
def alibi_bias(slopes, *, n, m=None):
    return slopes[:, None, None] * -_distance(n, m, slopes.device).abs()
