"""tract, an inference engine in Rust, through its Python package: one-node models of the ONNX operators that it has.

pip install tract onnx && pytest --pyargs spec_tests --backend=examples/tract/tract_cpu.py
"""

import functools
import math
import pathlib
import tempfile

import numpy as np
import onnx
import tract
from onnx import TensorProto, helper

framework = "numpy"
version = f"tract {tract.version()}"
dtypes = ("float64", "float32", "float16")

OPSET, IR_VERSION = 24, 11  # the first opset that has Swish
TYPES = {
    "float64": TensorProto.DOUBLE, "float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16,
    "bool": TensorProto.BOOL, "int64": TensorProto.INT64,
}  # fmt: skip
NARROW = {"dtype": ("float32", "float16")}  # what tract has no float64 kernel for
domain = dict.fromkeys(("sigmoid", "silu", "gelu", "glu", "swiglu", "scaled_dot_product_attention"), NARROW)


@functools.lru_cache(maxsize=500)
def _compile(operator, inputs, attributes):
    """A model of one node, for inputs of these dtypes and shapes: tract plans its work for the shapes."""
    names = [f"x{i}" for i in range(len(inputs))]
    values = [
        helper.make_tensor_value_info(name, TYPES[dtype], shape) for name, (dtype, shape) in zip(names, inputs, strict=True)
    ]
    node = helper.make_node(operator, names, ["y"], **dict(attributes))
    graph = helper.make_graph([node], operator, values, [helper.make_tensor_value_info("y", TYPES[inputs[0][0]], None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.onnx"
        onnx.save(model, path)
        return tract.onnx().load(str(path)).into_model().into_runnable()


def _run(operator, *arrays, **attributes):
    arrays = [np.ascontiguousarray(a) if a.ndim else a for a in arrays]
    model = _compile(operator, tuple((a.dtype.name, a.shape) for a in arrays), tuple(attributes.items()))
    return model.run(arrays)[0].to_numpy()


def linear(x, weight, bias=None):
    y = _run("Gemm", x.reshape(-1, x.shape[-1]), weight, *([] if bias is None else [bias]), transB=1)
    return y.reshape(*x.shape[:-1], len(weight))


def embedding(token_ids, weight):
    return _run("Gather", weight, token_ids, axis=0)


def softmax(x, *, axis):
    return _run("Softmax", x, axis=axis)


def log_softmax(x, *, axis):
    return _run("LogSoftmax", x, axis=axis)


def rms_norm(x, weight, *, eps):
    return _run("RMSNormalization", x, weight, axis=-1, epsilon=eps)


def layer_norm(x, weight, bias, *, eps):
    return _run("LayerNormalization", x, weight, bias, axis=-1, epsilon=eps)


def relu(x):
    return _run("Relu", x)


def sigmoid(x):
    return _run("Sigmoid", x)


def silu(x):
    return _run("Swish", x)


def gelu(x, *, approximate="none"):
    return _run("Gelu", x, approximate=approximate)


def glu(x, w1, w2):
    return sigmoid(linear(x, w1)) * linear(x, w2)


def swiglu(x, w1, w2, w3):
    return linear(silu(linear(x, w1)) * linear(x, w3), w2)


def feed_forward(x, w1, w2, b1=None, b2=None):
    return linear(relu(linear(x, w1, b1)), w2, b2)


def scaled_dot_product_attention(q, k, v):
    batch = np.broadcast_shapes(*(a.shape[:-2] for a in (q, k, v)))
    q, k, v = (
        np.broadcast_to(a, (*batch, *a.shape[-2:])).reshape(math.prod(batch), 1, *a.shape[-2:]) for a in (q, k, v)
    )  # one head
    y = _run("Attention", q, k, v)
    return y.reshape(*batch, *y.shape[-2:])
