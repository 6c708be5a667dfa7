"""ONNX Runtime's CPU kernels: one-node models of the ONNX operators, and of ONNX Runtime's own; what has no operator is absent.

float16 operators without a kernel of their own run in float32 behind casts that ONNX Runtime inserts by itself.
"""

import math

import numpy as np
import onnxruntime

from ._onnxruntime_attention import *
from ._onnxruntime_formats import *
from ._onnxruntime_node import run as _run
from ._onnxruntime_node import run_several as _run_several
from ._onnxruntime_states import *

framework = "numpy"
version = f"onnxruntime {onnxruntime.__version__}"
conventions = {
    "causal_alignment": "top-left",
    "fully_masked_rows": "zero",
    "cache_update": "returned",
    "all_ignored": "nan",
    "int8_range": "-128",
    "stored_zero_point": "value",
    "state_dtype": "given",
}

EIGHT_BITS = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "int8", "uint8")
carriers = dict.fromkeys(EIGHT_BITS, "codes")
ROWS = ((None, None), (1, None), (1, 16), (1, 32), (1, 128))  # scales lie along one axis
FLOATS = ("float64", "float32", "float16")  # bfloat16 has kernels for embedding and layer_norm alone
RESULTS = ("float32", "bfloat16", "float16")  # rounded from float32
ATTENTION = {"dtype": FLOATS, "empty": False}  # refused: "Batch size must be greater than 0"
domain = {
    name: {"dtype": FLOATS}
    for name in (
        "linear", "softmax", "log_softmax", "logsumexp", "rms_norm", "relu", "silu", "sigmoid", "gelu", "glu", "swiglu",
        "feed_forward",
    )
} | {
    "scaled_dot_product_attention": ATTENTION,
    "grouped_query_attention": ATTENTION,
    "attention_with_weights": ATTENTION,
    "attention_with_kv_cache": ATTENTION,
    "kv_cache_append": {"dtype": FLOATS, "empty": False},
    "add_rms_norm": {"dtype": FLOATS[1:]},
    "cross_entropy": {"dtype": FLOATS, "empty": False},  # refused: its Reshape of no rows fails
    "rope": {"dtype": FLOATS[1:]},  # RotaryEmbedding is not defined for float64
    "multihead_self_attention": ATTENTION | {"dtype": FLOATS[1:]},
    "linear_attention": {"dtype": ("float32",), "h_k": "h", "empty": False, "n": range(1, 4097)},
    "causal_conv1d": {"dtype": ("float32",), "empty": False, "past": range(1, 65), "n": range(1, 4097)},
    "quantize": {"dtype": EIGHT_BITS, "block": ROWS, "scale_dtype": ("float32",), "empty": False},
    "dequantize": {"q_dtype": EIGHT_BITS, "block": ROWS, "scale_dtype": ("float32",), "dtype": RESULTS, "empty": False},
    "scaled_matmul": {
        "a_dtype": ("float32",), "b_dtype": ("uint4",), "block_a": (None,), "block_b": ((1, 16), (1, 32), (1, 128)),
        "scale_dtype_a": ("float32",), "scale_dtype_b": ("float32",), "dtype": RESULTS, "empty": False,
    },
}  # fmt: skip


def linear(x, weight, bias=None):
    y = _run("Gemm", x.reshape(-1, x.shape[-1]), weight, bias, transB=1)
    return y.reshape(*x.shape[:-1], len(weight))


def embedding(token_ids, weight):
    return _run("Gather", weight, token_ids, axis=0)


def softmax(x, *, axis):
    return _run("Softmax", x, axis=axis)


def log_softmax(x, *, axis):
    return _run("LogSoftmax", x, axis=axis)


def logsumexp(x, *, axis):
    return _run("ReduceLogSumExp", x, np.array([axis]), keepdims=0)


def rms_norm(x, weight, *, eps):
    return _run("RMSNormalization", x, weight, epsilon=eps)


def add_rms_norm(x, residual, weight, *, eps):
    rows = (a.reshape(math.prod(a.shape[:-1]), a.shape[-1]) for a in (x, residual))  # of rank 2 or 3 alone
    results = _run_several("com.microsoft:SkipSimplifiedLayerNormalization", ("y", "", "", "sum"), *rows, weight, epsilon=eps)
    return tuple(a.reshape(x.shape) for a in results)


def cross_entropy(logits, targets, *, ignore_index=-100, reduction="mean"):
    rows = logits.reshape(-1, logits.shape[-1])
    loss = _run("SoftmaxCrossEntropyLoss", rows, targets.reshape(-1), ignore_index=ignore_index, reduction=reduction)
    return loss.reshape(targets.shape if reduction == "none" else ())


def layer_norm(x, weight, bias, *, eps):
    return _run("LayerNormalization", x, weight, bias, epsilon=eps)


def relu(x):
    return _run("Relu", x)


def sigmoid(x):
    return _run("Sigmoid", x)


def silu(x):
    return _run("Swish", x)


def gelu(x, *, approximate="none"):
    if approximate == "none" and x.dtype == np.float64:
        raise NotImplementedError("the exact Gelu has no float64 kernel")
    return _run("Gelu", x, approximate=approximate)


def glu(x, w1, w2):
    return _run("Mul", sigmoid(linear(x, w1)), linear(x, w2))


def swiglu(x, w1, w2, w3):
    return linear(_run("Mul", silu(linear(x, w1)), linear(x, w3)), w2)


def feed_forward(x, w1, w2, b1=None, b2=None, *, activation="relu"):
    return linear({"relu": relu, "gelu": gelu}[activation](linear(x, w1, b1)), w2, b2)


def _caches(positions, d, theta, dtype):
    """Tables of cosines and sines, as long as the sequence or longer, and where in them each token's position is."""
    tokens = np.arange(positions.shape[-1])
    occurring, places = np.unique(np.concatenate([tokens, positions.ravel()]), return_inverse=True)
    angles = occurring[:, None] * theta ** (-np.arange(0, d, 2) / d)
    return np.cos(angles).astype(dtype), np.sin(angles).astype(dtype), places[len(tokens) :].reshape(positions.shape)


def rope(x, positions, *, theta=10000.0, layout="interleaved"):
    of_one_head = x.reshape(math.prod(x.shape[:-2]), 1, *x.shape[-2:])
    positions = np.broadcast_to(positions, x.shape[:-1]).reshape(len(of_one_head), x.shape[-2])
    caches = _caches(positions, x.shape[-1], theta, x.dtype)
    return _run("RotaryEmbedding", of_one_head, *caches, interleaved=int(layout == "interleaved")).reshape(x.shape)


def causal_mask(*, n, m=None, aligned="bottom-right"):
    m = n if m is None else m
    return _run("Trilu", np.ones((n, m), bool), np.array(m - n if aligned == "bottom-right" else 0), upper=0)


def sliding_window_mask(*, n, m=None, window, is_causal=True):
    every = np.ones((n, n if m is None else m), bool)
    before = _run("Trilu", every, np.array(0 if is_causal else window), upper=0)
    return _run("Trilu", before, np.array(-window), upper=1)


def multihead_self_attention(
    x, w_q, w_k, w_v, w_o, positions=None,
    *, num_heads, num_kv_heads=None, is_causal=True, theta=None, layout="interleaved",
):  # fmt: skip
    num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
    tokens = x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:])
    q, k, v = (linear(tokens, w) for w in (w_q, w_k, w_v))  # the heads side by side: the operators take them apart
    if theta is not None:
        positions = np.arange(x.shape[-2]) if positions is None else positions
        positions = np.broadcast_to(positions, x.shape[:-1]).reshape(tokens.shape[:-1])
        caches = _caches(positions, len(w_q) // num_heads, theta, x.dtype)
        pairs = {"interleaved": int(layout == "interleaved")}
        q = _run("RotaryEmbedding", q, *caches, num_heads=num_heads, **pairs)
        k = _run("RotaryEmbedding", k, *caches, num_heads=num_kv_heads, **pairs)
    y = _run("Attention", q, k, v, is_causal=int(is_causal), q_num_heads=num_heads, kv_num_heads=num_kv_heads)
    return linear(y, w_o).reshape(x.shape)
