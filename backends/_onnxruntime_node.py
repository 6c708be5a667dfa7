"""A model of one ONNX node, run by ONNX Runtime on the CPU."""

import ctypes
import functools

import ml_dtypes
import numpy as np
import onnxruntime
from onnx import TensorProto, helper

OPSET, IR_VERSION = 24, 11  # the first that has Swish
OWN = "com.microsoft"  # the domain of ONNX Runtime's own operators, which stands before their names: "com.microsoft:QuickGelu"
TYPES = {
    "float64": TensorProto.DOUBLE, "float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16, "bool": TensorProto.BOOL, "int64": TensorProto.INT64, "int8": TensorProto.INT8,
    "uint8": TensorProto.UINT8, "float8_e4m3fn": TensorProto.FLOAT8E4M3FN, "float8_e5m2": TensorProto.FLOAT8E5M2,
    "float8_e4m3fnuz": TensorProto.FLOAT8E4M3FNUZ, "float8_e5m2fnuz": TensorProto.FLOAT8E5M2FNUZ,
}  # fmt: skip


@functools.lru_cache(maxsize=500)
def _session(operator, dtypes, results, attributes, result_dtype=""):
    """A model of one node, of any rank and shape; an input without a dtype and a result without a name are absent.

    Results have the dtype of the first input, or another that is given.
    """
    names = [f"x{i}" if dtype else "" for i, dtype in enumerate(dtypes)]
    domain, _, name = operator.rpartition(":")
    node = helper.make_node(name, names, list(results), domain=domain, **dict(attributes))
    inputs = [helper.make_tensor_value_info(f"x{i}", TYPES[dtype], None) for i, dtype in enumerate(dtypes) if dtype]
    outputs = [helper.make_tensor_value_info(name, TYPES[result_dtype or dtypes[0]], None) for name in results if name]
    graph = helper.make_graph([node], name, inputs, outputs)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(OWN, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # or each session would keep threads of its own
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run_several(operator, results, *arrays, **attributes):
    """The results that are named."""
    dtypes = tuple(None if a is None else a.dtype.name for a in arrays)
    session = _session(operator, dtypes, results, tuple(attributes.items()))
    feed = {f"x{i}": a for i, a in enumerate(arrays) if a is not None}
    if "bfloat16" not in dtypes:
        return session.run(None, feed)
    wrap = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type
    values = {name: wrap(np.array(a, order="C"), TYPES[a.dtype.name]) for name, a in feed.items()}
    return list(map(_of_bfloat16, session.run_with_ort_values(None, values)))


def _of_bfloat16(y):
    """The array of a value whose own method `numpy` knows no bfloat16."""
    return np.ndarray(y.shape(), ml_dtypes.bfloat16, ctypes.string_at(y.data_ptr(), y.tensor_size_in_bytes())).copy()


def run_on_codes(operator, *arrays, dtypes, result_dtype, **attributes):
    """The only result, of arrays in these dtypes. Those of eight-bit floats are codes."""
    session = _session(operator, dtypes, ("y",), tuple(attributes.items()), result_dtype)
    wrap = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type
    pairs = enumerate(zip(arrays, dtypes, strict=True))
    feed = {f"x{i}": wrap(np.ascontiguousarray(a), TYPES[dtype]) for i, (a, dtype) in pairs if a is not None}
    (y,) = session.run_with_ort_values(None, feed)
    kind = np.uint8 if result_dtype.startswith("float8") else result_dtype
    return np.ndarray(y.shape(), kind, ctypes.string_at(y.data_ptr(), y.tensor_size_in_bytes())).copy()


def run(operator, *arrays, **attributes):
    """The only result."""
    return run_several(operator, ("y",), *arrays, **attributes)[0]
