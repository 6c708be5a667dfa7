"""The book's exercises 1 to 7 behind the names and signatures of the operations."""

import torch
from torch import nn
from torch.func import functional_call

from . import _book

framework = "torch"
dtypes = ("float32",)
domain = {
    "attention_with_weights": {"m": "n"},
    "multihead_self_attention": {"is_causal": (False,), "d": "h d_k", "d_v": "d_k", "empty": False},
    "rope": {"positions": "consecutive", "layout": ("half",)},
    "feed_forward": {"activation": ("gelu",)},
    "parameter_count": {"style": ("encoder",)},
}


def attention_with_weights(q, k, v, *, is_causal=False):
    return _book.scaled_dot_product_attention(q, k, v, causal=is_causal)


def multihead_self_attention(x, w_q, w_k, w_v, w_o, b_q=None, b_k=None, b_v=None, b_o=None, *, num_heads, is_causal=False):
    one_batch = x.reshape(-1, *x.shape[-2:])
    weights = {"q": w_q, "k": w_k, "v": w_v, "o": w_o}
    biases = {"q": b_q, "k": b_k, "v": b_v, "o": b_o}
    state = {f"{name}.weight": w for name, w in weights.items()}
    state |= {f"{name}.bias": x.new_zeros(len(weights[name])) if b is None else b for name, b in biases.items()}
    return functional_call(_book.MiniMHA(x.shape[-1], num_heads), state, (one_batch,), strict=True).reshape(x.shape)


def rope(x, positions, *, theta=10000.0, layout="half"):
    return _book.apply_rope(x, theta)


def alibi_slopes(*, num_heads):
    return -_book.alibi_bias(2, num_heads)[:, 0, 1]


def rms_norm(x, weight, *, eps):
    return functional_call(_book.RMSNorm(len(weight), eps), {"scale": weight}, (x,), strict=True)


def layer_norm(x, weight, bias, *, eps):
    state = {"weight": weight, "bias": bias}
    return functional_call(nn.LayerNorm(len(weight), eps), state, (x,), strict=True)


def feed_forward(x, w1, w2, b1=None, b2=None, *, activation="gelu"):
    """The network that exercise 7 compares with: nn.Sequential of layers with biases."""
    state = {"0.weight": w1, "2.weight": w2}
    state |= {"0.bias": w1.new_zeros(len(w1)) if b1 is None else b1, "2.bias": w2.new_zeros(len(w2)) if b2 is None else b2}
    network = nn.Sequential(nn.Linear(*w1.T.shape), nn.GELU(), nn.Linear(*w2.T.shape))
    return functional_call(network, state, (x,), strict=True)


def swiglu(x, w1, w2, w3, b1=None, b2=None, b3=None):
    weights = {"w1": (w1, b1), "w2": (w3, b3), "proj": (w2, b2)}
    state = {f"{name}.weight": w for name, (w, _) in weights.items()}
    state |= {f"{name}.bias": w.new_zeros(len(w)) if b is None else b for name, (w, b) in weights.items()}
    return functional_call(_book.SwiGLU(x.shape[-1], len(w1), len(w2)), state, (x,), strict=True)


def parameter_count(*, d_model, d_ff, num_layers, style="encoder"):
    with torch.device("meta"):
        layer = nn.TransformerEncoderLayer(d_model, 1, d_ff, batch_first=True)
        return _book.count_params(nn.TransformerEncoder(layer, num_layers, enable_nested_tensor=False))
