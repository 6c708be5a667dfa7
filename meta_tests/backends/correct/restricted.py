"""Kernels with restrictions of every kind, which they state. They refuse calls outside their domain, as kernels do. PyTorch."""

import functools
import inspect
import math

import torch

from ._torch_models import Models
from ._torch_parts import leaves

TILES = range(16, 129, 16)
SHAPES = {  # the named dimensions of each function's arrays
    "linear": {"x": "d_in", "weight": "d_out d_in", "bias": "d_out"},
    "embedding": {"token_ids": "", "weight": "vocab d"},
    "rms_norm": {"x": "d", "weight": "d"},
    "layer_norm": {"x": "d", "weight": "d", "bias": "d"},
    "swiglu": {"x": "d", "w1": "h d", "w2": "d h", "w3": "h d"},
    "feed_forward": {"x": "d", "w1": "h d", "w2": "d h", "b1": "h", "b2": "d"},
    "rope": {"x": "n d_k", "positions": "n"},
    "scaled_dot_product_attention": {"q": "n d_k", "k": "m d_k", "v": "m d_v"},
    "grouped_query_attention": {"q": "h n d_k", "k": "h_kv m d_k", "v": "h_kv m d_v"},
    "local_attention": {"q": "n d_k", "k": "m d_k", "v": "m d_v"},
    "multihead_self_attention": {"x": "n d"},
    "transformer_block": {"x": "n d"},
    "transformer_lm": {"token_ids": "n"},
}
EVERYWHERE = ("softmax", "log_softmax", "logsumexp", "relu", "sigmoid", "silu", "gelu", "glu")


class Guarded(Models):
    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        if name not in (*SHAPES, *EVERYWHERE) or super().__getattribute__("inside"):
            return found

        @functools.wraps(found)
        def guarded(*arrays, **keywords):
            named = inspect.signature(found).bind(*arrays, **keywords).arguments
            guard(name, named, super(Guarded, self).__getattribute__("domain").get(name, {}))
            return found(*arrays, **keywords)

        return guarded


class Tiles(Guarded):
    """Whole tiles, few widths, few batches, one value of most parameters."""

    domain = {
        "linear": {"d_in": range(8, 4097, 8), "d_out": (16, 64), "batch_dims": (1, 2), "contiguous": True, "empty": False},
        "embedding": {"vocab": (128, 1000), "d": range(8, 1025, 8), "batch_dims": (1,), "empty": False},
        "softmax": {"axis": (-1,), "batch_dims": (1,), "empty": False, "contiguous": True},
        "log_softmax": {"axis": (-1,), "dtype": ("float32",)},
        "logsumexp": {"axis": (0,)},
        "rms_norm": {"d": range(64, 1025, 64), "eps": (1e-5, 1e-6), "batch_dims": (1, 2), "contiguous": True, "empty": False},
        "layer_norm": {"d": (128, 256), "eps": (1e-5,), "batch_dims": (2,), "dtype": ("bfloat16", "float16"), "empty": False},
        "gelu": {"approximate": ("tanh",), "empty": False, "contiguous": True},
        "glu": {"batch_dims": (1,)},
        "swiglu": {"d": TILES, "h": TILES, "batch_dims": (1, 2), "empty": False},
        "feed_forward": {"d": (32,), "h": "d", "activation": ("gelu",), "batch_dims": (1,), "empty": False},
        "rope": {"positions": "offset", "d_k": (32, 64), "theta": (10000.0,), "layout": ("half",), "batch_dims": (2,)},
        "scaled_dot_product_attention": {
            "n": TILES, "m": TILES, "d_k": (16, 32), "d_v": "d_k", "batch_dims": (2,), "dtype": ("bfloat16", "float16"),
            "contiguous": True, "empty": False,
        },
        "grouped_query_attention": {
            "n": TILES, "m": TILES, "d_k": (16,), "d_v": "d_k", "h": (4, 8), "h_kv": (1, 2), "batch_dims": (1,), "empty": False,
        },
        "local_attention": {"n": TILES, "m": "n", "d_k": (8, 16), "d_v": (8, 16), "window": (4, 16), "batch_dims": (0,)},
        "multihead_self_attention": {
            "n": (16, 32), "d": (32, 64), "num_heads": (2, 4), "h": (2, 4), "theta": (10000.0,), "positions": "consecutive",
            "batch_dims": (1,), "empty": False, "layout": ("half",),
        },
        "transformer_block": {"n": (8, 16), "d": (16, 32), "eps": (1e-6,), "batch_dims": (1,), "norm": ("pre",), "empty": False},
        "transformer_lm": {"n": (8, 16), "theta": (10000.0,), "eps": (1e-5,), "batch_dims": (1,), "empty": False},
    }  # fmt: skip


class Odd(Guarded):
    """One dimension alone is fixed, or one parameter, and to no usual value."""

    domain = {
        "linear": {"d_out": (7,)},
        "embedding": {"vocab": (11,)},
        "log_softmax": {"axis": (-1, 0)},
        "rms_norm": {"eps": (0.25,)},
        "layer_norm": {"d": (3,)},
        "swiglu": {"h": "d"},
        "rope": {"theta": (7.0,), "d_k": (6,)},
        "scaled_dot_product_attention": {"d_v": (3,), "scale": (0.7, None)},
        "grouped_query_attention": {"h_kv": (2,)},
        "local_attention": {"window": (3, 5), "m": "n"},
        "multihead_self_attention": {"num_heads": (6,), "h": (6,), "h_kv": (3,), "positions": "offset"},
        "transformer_block": {"norm": ("post",), "theta": (7.0,), "d": (12,)},
        "transformer_lm": {"n": (1,), "theta": (None,)},
    }


PLAIN = Models()


class FewKeywords:
    """Functions that take only some of the keywords: no mask, no bias, no positions, no layout."""

    framework = "torch"
    domain = {"rms_norm": {"eps": (1e-5,)}, "transformer_block": {"eps": (1e-6,)}}

    def linear(self, x, weight):
        return PLAIN.linear(x, weight)

    def softmax(self, x):
        return PLAIN.softmax(x, axis=-1)

    def rms_norm(self, x, weight):
        return PLAIN.rms_norm(x, weight, eps=1e-5)

    def gelu(self, x):
        return PLAIN.gelu(x)

    def rope(self, x, positions, *, theta=10000.0):
        return PLAIN.rope(x, positions, theta=theta)

    def scaled_dot_product_attention(self, q, k, v):
        return PLAIN.scaled_dot_product_attention(q, k, v)

    def grouped_query_attention(self, q, k, v, *, scale=None):
        return PLAIN.grouped_query_attention(q, k, v, scale=scale)

    def local_attention(self, q, k, v, *, window):
        return PLAIN.local_attention(q, k, v, window=window)

    def multihead_self_attention(self, x, w_q, w_k, w_v, w_o, *, num_heads):
        return PLAIN.multihead_self_attention(x, w_q, w_k, w_v, w_o, num_heads=num_heads)

    def feed_forward(self, x, w1, w2, *, activation):
        return PLAIN.feed_forward(x, w1, w2, activation=activation)

    def transformer_block(self, x, weights, *, num_heads):
        return PLAIN.transformer_block(x, weights, num_heads=num_heads, eps=1e-6)


def guard(name, named, domain):
    """Raises ValueError for a call outside the domain."""
    sizes = {}
    for argument, dimensions in SHAPES.get(name, {"x": ""}).items():
        x, dimensions = named.get(argument), dimensions.split()
        if x is None:
            continue
        sizes |= dict(zip(dimensions, x.shape[x.ndim - len(dimensions) :], strict=True))
        batched = argument not in ("weight", "bias", "w1", "w2", "w3", "b1", "b2", "positions") and name not in EVERYWHERE
        if batched and x.ndim - len(dimensions) not in domain.get("batch_dims", range(9)):
            raise ValueError(f"{name}: a batch of {x.ndim - len(dimensions)} dimensions")
        if domain.get("empty") is False and 0 in x.shape:
            raise ValueError(f"{name}: {argument} is empty")
    for x in leaves(list(named.values())):
        if domain.get("contiguous") and not x.is_contiguous():
            raise ValueError(f"{name}: an argument is not contiguous")
        if x.is_floating_point() and str(x.dtype).removeprefix("torch.") not in domain.get("dtype", str(x.dtype)):
            raise ValueError(f"{name}: an argument is {x.dtype}")
    for key, allowed in domain.items():
        value = sizes.get(key, named.get(key))
        if key in ("batch_dims", "empty", "contiguous", "dtype") or value is None or isinstance(value, torch.Tensor):
            continue
        allowed = (sizes[allowed],) if isinstance(allowed, str) else allowed
        if not any(value == one or (isinstance(one, float) and math.isclose(value, one, rel_tol=1e-7)) for one in allowed):
            raise ValueError(f"{name}: {key} = {value}")
    positions, kind = named.get("positions"), domain.get("positions")
    if kind and positions is not None and positions.numel():
        start = int(positions.flatten()[0]) if kind == "offset" else 0
        if not torch.equal(positions, torch.arange(positions.shape[-1]).expand_as(positions) + start):
            raise ValueError(f"{name}: positions are not {kind}")
