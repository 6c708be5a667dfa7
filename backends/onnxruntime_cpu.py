"""ONNX Runtime's CPU kernels: one-node models of the ONNX operators; what ONNX has no operator for is absent.

float16 operators without a kernel of their own run in float32 behind casts that ONNX Runtime inserts by itself.
"""

import ctypes
import functools
import math

import ml_dtypes
import numpy as np
import onnxruntime
from onnx import TensorProto, helper

framework = "numpy"
version = f"onnxruntime {onnxruntime.__version__}"
conventions = {"causal_alignment": "top-left", "fully_masked_rows": "zero"}

OPSET, IR_VERSION = 24, 11  # the first that has Swish
TYPES = {
    "float64": TensorProto.DOUBLE, "float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16, "bool": TensorProto.BOOL, "int64": TensorProto.INT64,
}  # fmt: skip
FLOATS = ("float64", "float32", "float16")  # bfloat16 has kernels for embedding and layer_norm alone
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
    "rope": {"dtype": FLOATS[1:]},  # RotaryEmbedding is not defined for float64
    "multihead_self_attention": ATTENTION | {"dtype": FLOATS[1:]},
}  # fmt: skip


@functools.lru_cache(maxsize=500)
def _session(operator, dtypes, attributes):
    """A model of one node, of any rank and shape; an input without a dtype is absent."""
    names = [f"x{i}" if dtype else "" for i, dtype in enumerate(dtypes)]
    node = helper.make_node(operator, names, ["y"], **dict(attributes))
    inputs = [helper.make_tensor_value_info(f"x{i}", TYPES[dtype], None) for i, dtype in enumerate(dtypes) if dtype]
    graph = helper.make_graph([node], operator, inputs, [helper.make_tensor_value_info("y", TYPES[dtypes[0]], None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # or each session would keep threads of its own
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _run(operator, *arrays, **attributes):
    dtypes = tuple(None if a is None else a.dtype.name for a in arrays)
    session = _session(operator, dtypes, tuple(attributes.items()))
    feed = {f"x{i}": a for i, a in enumerate(arrays) if a is not None}
    if "bfloat16" not in dtypes:
        return session.run(None, feed)[0]
    wrap = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type
    values = {name: wrap(np.array(a, order="C"), TYPES[a.dtype.name]) for name, a in feed.items()}
    y = session.run_with_ort_values(None, values)[0]  # y.numpy() knows no bfloat16
    return np.ndarray(y.shape(), ml_dtypes.bfloat16, ctypes.string_at(y.data_ptr(), y.tensor_size_in_bytes())).copy()


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


def _of_rank_four(a, batch):
    return np.broadcast_to(a, (*batch, *a.shape[-3:])).reshape(math.prod(batch), *a.shape[-3:])


def grouped_query_attention(q, k, v, mask=None, *, is_causal=False, scale=None):
    if scale is not None and scale <= 0:
        raise NotImplementedError("Attention refuses a scale that is not positive")
    batches = [a.shape[:-3] for a in (q, k, v)]
    if mask is not None:
        mask = np.broadcast_to(mask, (*mask.shape[:-2], q.shape[-2], k.shape[-2]))  # a last axis of 1 means one key alone
        batches.append(mask.shape[:-3])
    batch = np.broadcast_shapes(*batches)
    if mask is not None and mask.ndim > 2:
        mask = _of_rank_four(mask, batch)
    chosen = {} if scale is None else {"scale": scale}  # 1/√d_k is the operator's own default
    y = _run("Attention", *(_of_rank_four(a, batch) for a in (q, k, v)), mask, is_causal=int(is_causal), **chosen)
    return y.reshape(*batch, *y.shape[1:])


def scaled_dot_product_attention(q, k, v, mask=None, bias=None, *, is_causal=False, scale=None):
    if mask is not None and bias is not None:
        raise NotImplementedError("Attention takes one attn_mask, of bool or of numbers")
    added = bias if mask is None else mask
    if added is not None and added.ndim > 2:
        added = np.expand_dims(added, -3)
    q, k, v = (np.expand_dims(a, -3) for a in (q, k, v))  # one head
    return grouped_query_attention(q, k, v, added, is_causal=is_causal, scale=scale)[..., 0, :, :]


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
