"""An ONNX file of one node, run by ONNX Runtime on the CPU."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np

from ._imported import Imported, NotTaken

KIND = "an ONNX file of one node"
ORDER = 4
DTYPES = MappingProxyType({1: "float32", 10: "float16", 11: "float64"})  # of TensorProto
STANDARD = ("", "ai.onnx")  # names of the domain of ONNX's own operators; others have their bodies in the file
LAST = -1


def opens(path: Path) -> bool:
    """Whether the path is an ONNX file."""
    return path.suffix == ".onnx" and path.is_file()


def open_path(path: Path, import_file: Callable[[Path], Any]) -> Imported:
    """Return the backend of the file's node. Its inputs take any shape, and its constants become inputs."""
    try:
        onnx, runtime = importlib.import_module("onnx"), importlib.import_module("onnxruntime")
    except ImportError as error:
        raise NotTaken(f"reading it needs {error.name}: pip install 'spec-tests[onnxruntime]'") from None
    model = onnx.load(str(path))
    nodes = list(model.graph.node)
    if len(nodes) != 1:
        raise NotTaken(f"its graph has {len(nodes)} nodes ({', '.join(node.op_type for node in nodes[:6])}), where one is taken")
    (node,) = nodes
    attributes = {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}
    standard = next((x.version for x in model.opset_import if x.domain == node.domain and node.domain in STANDARD), None)
    if node.op_type in ("Softmax", "LogSoftmax") and standard and standard < 13:
        attributes.setdefault("axis", 1)  # the default of these versions
    for constant in model.graph.initializer:
        if constant.name not in [x.name for x in model.graph.input]:
            model.graph.input.append(onnx.helper.make_tensor_value_info(constant.name, constant.data_type, None))
    del model.graph.initializer[:]
    types = {x.name: x.type.tensor_type.elem_type for x in model.graph.input}
    for x in (*model.graph.input, *model.graph.output):
        x.type.tensor_type.ClearField("shape")
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [name for name in node.input if name]
    floats = [DTYPES[types[name]] for name in names if types[name] in DTYPES]
    source = SimpleNamespace(__name__=path.stem, __file__=str(path))
    imported = Imported(source, KIND, framework="numpy", dtypes=floats[:1])

    def run(*arrays: Any) -> Any:
        return session.run(None, dict(zip(names, arrays, strict=True)))[0]

    if node.op_type not in NODES:
        raise NotTaken(f"its node is {node.op_type}; taken are {', '.join(NODES)}")
    operation, function, domain = NODES[node.op_type](run, attributes, len(names))
    imported.add(operation, function, f"the node {node.op_type}{_describe(attributes)}", domain)
    return imported


def _describe(attributes: dict[str, Any]) -> str:
    texts = (f"{name} {value.decode() if isinstance(value, bytes) else value}" for name, value in attributes.items())
    return "".join(f", {text}" for text in texts)


Bound = tuple[str, Callable[..., Any], dict[str, Any]]
Run = Callable[..., Any]


def _bind_pointwise(operation: str) -> Callable[[Run, dict[str, Any], int], Bound]:
    def bind(run: Run, attributes: dict[str, Any], inputs: int) -> Bound:
        if attributes.get("alpha", 1.0) != 1.0:
            raise NotTaken(f"its alpha is {attributes['alpha']}, where 1 is taken")

        def function(x: Any) -> Any:
            return run(x)

        return operation, function, {}

    return bind


def _bind_gelu(run: Run, attributes: dict[str, Any], inputs: int) -> Bound:
    def gelu(x: Any, *, approximate: str) -> Any:
        return run(x)

    return "gelu", gelu, {"approximate": (attributes.get("approximate", b"none").decode(),)}


def _bind_along_axis(operation: str) -> Callable[[Run, dict[str, Any], int], Bound]:
    def bind(run: Run, attributes: dict[str, Any], inputs: int) -> Bound:
        _require_last_axis(attributes)

        def function(x: Any, *, axis: int) -> Any:
            return run(x)

        return operation, function, {"axis": (LAST,)}

    return bind


def _require_last_axis(attributes: dict[str, Any]) -> None:
    if attributes.get("axis", LAST) != LAST:
        raise NotTaken(f"its axis is {attributes['axis']}, where -1 is taken")


def _bind_rms_norm(run: Run, attributes: dict[str, Any], inputs: int) -> Bound:
    _require_last_axis(attributes)

    def rms_norm(x: Any, weight: Any, *, eps: float) -> Any:
        return run(x, weight)

    return "rms_norm", rms_norm, {"eps": (attributes.get("epsilon", 1e-5),)}


def _bind_layer_norm(run: Run, attributes: dict[str, Any], inputs: int) -> Bound:
    _require_last_axis(attributes)
    if inputs != 3:
        raise NotTaken(f"it has {inputs} inputs, where x, the scale and the bias are needed")

    def layer_norm(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
        return run(x, weight, bias)

    return "layer_norm", layer_norm, {"eps": (attributes.get("epsilon", 1e-5),)}


def _bind_matmul(run: Run, attributes: dict[str, Any], inputs: int) -> Bound:
    def linear(x: Any, weight: Any) -> Any:
        return run(x, weight.T)

    return "linear", linear, {}


def _bind_gemm(run: Run, attributes: dict[str, Any], inputs: int) -> Bound:
    factors = attributes.get("alpha", 1.0), attributes.get("beta", 1.0)
    if factors != (1.0, 1.0) or attributes.get("transA", 0):
        raise NotTaken("its alpha and beta must be 1, and A not transposed")
    transposed = bool(attributes.get("transB", 0))

    def with_bias(x: Any, weight: Any, bias: Any = None) -> Any:
        return run(x, weight if transposed else weight.T, np.zeros(len(weight), weight.dtype) if bias is None else bias)

    def without(x: Any, weight: Any) -> Any:
        return run(x, weight if transposed else weight.T)

    return "linear", with_bias if inputs == 3 else without, {"batch_dims": (1,)}


def _bind_gather(run: Run, attributes: dict[str, Any], inputs: int) -> Bound:
    if attributes.get("axis", 0) != 0:
        raise NotTaken(f"its axis is {attributes['axis']}, where 0 is taken")

    def embedding(token_ids: Any, weight: Any) -> Any:
        return run(weight, token_ids)

    return "embedding", embedding, {}


NODES: Mapping[str, Callable[[Run, dict[str, Any], int], Bound]] = MappingProxyType({
    "Relu": _bind_pointwise("relu"), "Sigmoid": _bind_pointwise("sigmoid"), "Swish": _bind_pointwise("silu"), "Gelu": _bind_gelu,
    "Softmax": _bind_along_axis("softmax"), "LogSoftmax": _bind_along_axis("log_softmax"),
    "RMSNormalization": _bind_rms_norm, "LayerNormalization": _bind_layer_norm,
    "MatMul": _bind_matmul, "Gemm": _bind_gemm, "Gather": _bind_gather,
})  # fmt: skip
