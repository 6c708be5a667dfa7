"""ONNX files of one node: those that are taken, and those that are not."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spec_tests.importers._imported import CannotRun
from spec_tests.importers.onnx_node import open_path

from ..support.pytest_process import suite
from .importing import find_passed, flatten

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

FLOAT = 1  # TensorProto.FLOAT


BFLOAT16 = 16  # likewise


def write_node(
    path: Path, operator: str, inputs: int, constants: int = 0, opset: int = 24, kind: int = FLOAT, **attributes: Any
) -> None:
    """Write a file of one node, whose last inputs are constants of the file."""
    names = [f"x{i}" for i in range(inputs)]
    node = onnx.helper.make_node(operator, names, ["y"], **attributes)
    given = [onnx.helper.make_tensor_value_info(name, kind, [2, 4]) for name in names[: inputs - constants]]
    stored = [onnx.numpy_helper.from_array(np.ones(4, np.float32), name) for name in names[inputs - constants :]]
    result = onnx.helper.make_tensor_value_info("y", kind, [2, 4])
    graph = onnx.helper.make_graph([node], operator, given, [result], initializer=stored)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=10)
    onnx.save(model, str(path))


RIGHT = {
    "softmax": ("Softmax", 1, 0, {"axis": -1}),
    "log_softmax": ("LogSoftmax", 1, 0, {"axis": 0}),
    "rms_norm": ("RMSNormalization", 2, 1, {"axis": 1, "epsilon": 1e-5}),
    "layer_norm": ("LayerNormalization", 3, 2, {"epsilon": 1e-5}),
    "linear": ("Gemm", 3, 0, {"transB": 1}),
    "gelu": ("Gelu", 1, 0, {"approximate": "tanh"}),
}


@pytest.mark.parametrize("operation", RIGHT)
def test_a_node_conforms(tmp_path: Path, operation: str) -> None:
    operator, inputs, constants, attributes = RIGHT[operation]
    write_node(tmp_path / "node.onnx", operator, inputs, constants, **attributes)
    run = suite(tmp_path, "--backend=node.onnx", "--effort=smoke", "-k", f"{operation}.reference")
    assert run.code == 0, run.text
    assert find_passed(run) == {operation}
    assert f"node.onnx is read as an ONNX file of one node: {operation} is the node {operator}" in flatten(run.text)


def write_function(path: Path, body: str) -> None:
    """Write a file of one node, a Softmax of another domain, whose body is a function of the file."""
    header = """<ir_version: 10, opset_import: ["" : 24, "mine" : 1]>
    one_node (float[N, D] x) => (float[N, D] y) { y = mine.Softmax(x) }
    <domain: "mine", opset_import: ["" : 24]> Softmax (x) => (y) { last = Constant <value_ints = [-1]> () """
    onnx.save(onnx.parser.parse_model(f"{header}{body} }}"), str(path))


EXPONENTIALS = "e = Exp(shifted) s = ReduceSum(e, last) y = Div(e, s)"
FUNCTIONS = {
    "right": f"top = ReduceMax(x, last) shifted = Sub(x, top) {EXPONENTIALS}",
    "no maximum": f"shifted = Identity(x) {EXPONENTIALS}",
    "mean for sum": f"top = ReduceMax(x, last) shifted = Sub(x, top) {EXPONENTIALS.replace('ReduceSum', 'ReduceMean')}",
}


@pytest.mark.parametrize("body", FUNCTIONS)
def test_a_node_with_its_own_body_is_judged_by_what_the_body_computes(tmp_path: Path, body: str) -> None:
    write_function(tmp_path / "node.onnx", FUNCTIONS[body])
    run = suite(tmp_path, "--backend=node.onnx", "--effort=smoke", "-k", "softmax.reference and not log_softmax")
    assert run.code == (0 if body == "right" else 1), run.text
    assert [fact["operation"] for fact in run.facts] == ["softmax"]
    assert "softmax is the node Softmax" in flatten(run.text)


REFUSED = {
    "Tanh": ("its node is Tanh; taken are Relu", {}),
    "Swish": ("its alpha is 2.0, where 1 is taken", {"alpha": 2.0}),
}


def test_an_axis_of_an_old_softmax_means_all_from_there_on(tmp_path: Path) -> None:
    write_node(tmp_path / "node.onnx", "Softmax", 1, opset=11, axis=0)
    run = suite(tmp_path, "--backend=node.onnx")
    assert run.code == 4
    assert "its axis is 0, which in this version means all axes from there on" in flatten(run.text)
    write_node(tmp_path / "node.onnx", "Softmax", 1, opset=11)  # axis 1, the last of two
    assert suite(tmp_path, "--backend=node.onnx", "-k", "softmax.reference").code == 0


@pytest.mark.parametrize("operator", REFUSED)
def test_what_is_not_taken_is_refused_in_a_sentence(tmp_path: Path, operator: str) -> None:
    sentence, attributes = REFUSED[operator]
    write_node(tmp_path / "node.onnx", operator, 1, **attributes)
    run = suite(tmp_path, "--backend=node.onnx")
    assert run.code == 4
    assert sentence in flatten(run.text)


def write_node_of_arrays(path: Path, operator: str, opset: int, arrays: dict[str, tuple[int, int]], **attributes: Any) -> None:
    """Write a file of one node, whose inputs have a type and a number of axes."""
    results = ["y", *["k1", "v1"][: 2 * ("k0" in arrays)]]  # attention with a past returns it with the new keys and values
    node = onnx.helper.make_node(operator, list(arrays), results, **attributes)
    given = [
        onnx.helper.make_tensor_value_info(name, kind, [f"{name}{i}" for i in range(n)]) for name, (kind, n) in arrays.items()
    ]
    made = [onnx.helper.make_tensor_value_info(name, FLOAT, None) for name in results]
    graph = onnx.helper.make_graph([node], operator, given, made)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=10), str(path))


INTEGER, BOOL = 7, 9  # of TensorProto
QKV = dict.fromkeys("qkv", (FLOAT, 4))
FLAT = dict.fromkeys("qkv", (FLOAT, 3))
ROTATED = {"x": (FLOAT, 4), "cos": (FLOAT, 2), "sin": (FLOAT, 2), "positions": (INTEGER, 2)}
OF_MODELS = {
    "causal": ("Attention", 23, QKV, {"is_causal": 1}, "scaled_dot_product_attention"),
    "scaled, masked": ("Attention", 24, {**QKV, "mask": (BOOL, 2)}, {"scale": 0.5}, "scaled_dot_product_attention"),
    "halves": ("RotaryEmbedding", 23, ROTATED, {}, "rope"),
    "neighbours": ("RotaryEmbedding", 23, ROTATED, {"interleaved": 1}, "rope"),
    "flat": ("Attention", 23, FLAT, {"q_num_heads": 3, "kv_num_heads": 3}, "scaled_dot_product_attention"),
    "flat, in groups, biased": (
        "Attention", 23, {**FLAT, "bias": (FLOAT, 4)}, {"q_num_heads": 4, "kv_num_heads": 2}, "scaled_dot_product_attention",
    ),
    "past": (
        "Attention", 23, {**QKV, "bias": (FLOAT, 4), "k0": (FLOAT, 4), "v0": (FLOAT, 4)}, {}, "scaled_dot_product_attention",
    ),
    "sum": ("SoftmaxCrossEntropyLoss", 13, {"s": (FLOAT, 2), "t": (INTEGER, 1)}, {"reduction": "sum"}, "cross_entropy"),
    "weighted": (
        "SoftmaxCrossEntropyLoss", 13, {"s": (FLOAT, 4), "t": (INTEGER, 3), "w": (FLOAT, 1)}, {"ignore_index": 1},
        "cross_entropy",
    ),
    "two axes": ("RMSNormalization", 23, {"x": (FLOAT, 3), "gain": (FLOAT, 2)}, {"axis": 1}, "rms_norm"),
    "three axes": (
        "LayerNormalization", 17, {"x": (FLOAT, 4), "gain": (FLOAT, 3), "bias": (FLOAT, 3)}, {"axis": -3}, "layer_norm",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", OF_MODELS)
def test_nodes_of_models_conform(tmp_path: Path, case: str) -> None:
    operator, opset, arrays, attributes, operation = OF_MODELS[case]
    write_node_of_arrays(tmp_path / "node.onnx", operator, opset, arrays, **attributes)
    run = suite(tmp_path, "--backend=node.onnx", "--effort=smoke", "-k", f"{operation}.reference")
    assert run.code == 0, run.text
    assert find_passed(run) == {operation}


NOT_OURS = {
    "capped": ("Attention", 23, QKV, {"softcap": 2.0}, "its scores are capped"),
}  # fmt: skip


@pytest.mark.parametrize("case", NOT_OURS)
def test_nodes_that_are_more_than_the_operation_are_refused(tmp_path: Path, case: str) -> None:
    operator, opset, arrays, attributes, sentence = NOT_OURS[case]
    write_node_of_arrays(tmp_path / "node.onnx", operator, opset, arrays, **attributes)
    run = suite(tmp_path, "--backend=node.onnx")
    assert run.code == 4
    assert sentence in flatten(run.text)


def test_a_dtype_that_the_runtime_lacks_is_refused_in_one_sentence(tmp_path: Path) -> None:
    write_node(tmp_path / "node.onnx", "Sigmoid", 1, kind=BFLOAT16)
    with pytest.raises(CannotRun, match=r"^ONNX Runtime [\d.]+ has no Sigmoid of these types on the CPU$"):
        open_path(tmp_path / "node.onnx", lambda path: None)
