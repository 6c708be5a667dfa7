"""An ONNX file of one node, run by ONNX Runtime on the CPU."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

from ..specification.installation import install_line
from ._imported import CannotRun, Imported, NotTaken
from ._onnx_nodes import NODES, Inputs

KIND = "an ONNX file of one node"
ORDER = 4
DTYPES = MappingProxyType({1: "float32", 10: "float16", 11: "float64"})  # of TensorProto
BOOL = 9  # of TensorProto
STANDARD = ("", "ai.onnx")  # names of the domain of ONNX's own operators; others have their bodies in the file


def opens(path: Path) -> bool:
    """Whether the path is an ONNX file."""
    return path.suffix == ".onnx" and path.is_file()


def open_path(path: Path, import_file: Callable[[Path], Any]) -> Imported:
    """Return the backend of the file's node. Its inputs take any shape, and its constants become inputs."""
    try:
        onnx, runtime = importlib.import_module("onnx"), importlib.import_module("onnxruntime")
    except ImportError as error:
        raise NotTaken(f"reading it needs {error.name}: {install_line('onnxruntime')}") from None
    model = onnx.load(str(path))
    nodes = list(model.graph.node)
    if len(nodes) != 1:
        raise NotTaken(f"its graph has {len(nodes)} nodes ({', '.join(node.op_type for node in nodes[:6])}), where one is taken")
    (node,) = nodes
    if node.op_type not in NODES:
        raise NotTaken(f"its node is {node.op_type}; taken are {', '.join(NODES)}")
    attributes = {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}
    standard = next((x.version for x in model.opset_import if x.domain == node.domain and node.domain in STANDARD), None)
    flattens = node.op_type in ("Softmax", "LogSoftmax") and standard is not None and standard < 13
    if flattens:
        attributes.setdefault("axis", 1)  # the default of these versions
    for constant in model.graph.initializer:
        if constant.name not in [x.name for x in model.graph.input]:
            model.graph.input.append(onnx.helper.make_tensor_value_info(constant.name, constant.data_type, None))
    del model.graph.initializer[:]
    types = {x.name: x.type.tensor_type.elem_type for x in model.graph.input}
    ranks = {x.name: len(x.type.tensor_type.shape.dim) for x in model.graph.input}
    for x in (*model.graph.input, *model.graph.output):
        x.type.tensor_type.ClearField("shape")
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    try:
        session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        if type(error).__name__ != "NotImplemented":  # its class is in a private module
            raise
        raise CannotRun(f"ONNX Runtime {runtime.__version__} has no {node.op_type} of these types on the CPU") from error
    names = [name for name in node.input if name]
    floats = [DTYPES[types[name]] for name in names if types[name] in DTYPES]
    source = SimpleNamespace(__name__=path.stem, __file__=str(path))
    imported = Imported(source, KIND, framework="numpy", dtypes=floats[:1])

    def run(*arrays: Any) -> Any:
        return session.run(None, dict(zip(names, arrays, strict=True)))[0]

    slots = tuple(place for place, name in enumerate(node.input) if name)
    inputs = Inputs(slots, ranks[names[0]], BOOL in types.values(), flattens)
    operation, function, domain = NODES[node.op_type](run, attributes, inputs)
    imported.add(operation, function, f"the node {node.op_type}{_describe(attributes)}", domain)
    return imported


def _describe(attributes: dict[str, Any]) -> str:
    texts = (f"{name} {value.decode() if isinstance(value, bytes) else value}" for name, value in attributes.items())
    return "".join(f", {text}" for text in texts)
