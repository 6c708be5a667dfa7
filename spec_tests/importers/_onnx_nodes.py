"""Which operations the nodes of ONNX are, by their attributes and their inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from ._imported import NotTaken
from ._promises import MAX_POSITION

LAST = -1
HEADED = 4  # axes of (batch, heads, n, d)
Bound = tuple[str, Callable[..., Any], dict[str, Any]]
Run = Callable[..., Any]


@dataclass(frozen=True)
class Inputs:
    """What the graph says of a node's inputs."""

    count: int
    rank: int  # of the first, 0 if the graph does not say
    has_bool: bool = False  # whether one of them is a mask
    flattens: bool = False  # whether an axis means all from there on, as in old versions of softmax

    def require_rank(self) -> int:
        """Return the number of axes of the first input. Raise NotTaken if the graph does not say."""
        if not self.rank:
            raise NotTaken("its axis is counted from the front, and the graph does not say how many axes its input has")
        return self.rank


Bind = Callable[[Run, dict[str, Any], Inputs], Bound]


def _bind_pointwise(operation: str) -> Bind:
    def bind(run: Run, attributes: dict[str, Any], inputs: Inputs) -> Bound:
        if attributes.get("alpha", 1.0) != 1.0:
            raise NotTaken(f"its alpha is {attributes['alpha']}, where 1 is taken")

        def function(x: Any) -> Any:
            return run(x)

        return operation, function, {}

    return bind


def _bind_gelu(run: Run, attributes: dict[str, Any], inputs: Inputs) -> Bound:
    def gelu(x: Any, *, approximate: str) -> Any:
        return run(x)

    return "gelu", gelu, {"approximate": (attributes.get("approximate", b"none").decode(),)}


def _bind_along_axis(operation: str) -> Bind:
    def bind(run: Run, attributes: dict[str, Any], inputs: Inputs) -> Bound:
        def function(x: Any, *, axis: int) -> Any:
            return run(x)

        axis = attributes.get("axis", LAST)
        if inputs.flattens and axis not in (LAST, inputs.rank - 1):
            raise NotTaken(f"its axis is {axis}, which in this version means all axes from there on")
        if axis >= 0:
            return operation, function, {"axis": (axis - inputs.require_rank(),), "batch_dims": (inputs.require_rank() - 1,)}
        return operation, function, {"axis": (axis,)}

    return bind


def _restrict_to_last_axis(attributes: dict[str, Any], inputs: Inputs) -> dict[str, Any]:
    """Return the domain of a norm over the last axis, whose number may be counted from the front."""
    axis = attributes.get("axis", LAST)
    if axis != LAST and axis != inputs.rank - 1:
        raise NotTaken(f"its axis is {axis}, where the last one is taken")
    return {} if axis == LAST else {"batch_dims": (inputs.rank - 1,)}


def _bind_rms_norm(run: Run, attributes: dict[str, Any], inputs: Inputs) -> Bound:
    domain = _restrict_to_last_axis(attributes, inputs)

    def rms_norm(x: Any, weight: Any, *, eps: float) -> Any:
        return run(x, weight)

    return "rms_norm", rms_norm, {**domain, "eps": (attributes.get("epsilon", 1e-5),)}


def _bind_layer_norm(run: Run, attributes: dict[str, Any], inputs: Inputs) -> Bound:
    domain = _restrict_to_last_axis(attributes, inputs)
    if inputs.count != 3:
        raise NotTaken(f"it has {inputs.count} inputs, where x, the scale and the bias are needed")

    def layer_norm(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
        return run(x, weight, bias)

    return "layer_norm", layer_norm, {**domain, "eps": (attributes.get("epsilon", 1e-5),)}


def _bind_matmul(run: Run, attributes: dict[str, Any], inputs: Inputs) -> Bound:
    def linear(x: Any, weight: Any) -> Any:
        return run(x, weight.T)

    return "linear", linear, {}


def _bind_gemm(run: Run, attributes: dict[str, Any], inputs: Inputs) -> Bound:
    factors = attributes.get("alpha", 1.0), attributes.get("beta", 1.0)
    if factors != (1.0, 1.0) or attributes.get("transA", 0):
        raise NotTaken("its alpha and beta must be 1, and A not transposed")
    transposed = bool(attributes.get("transB", 0))

    def with_bias(x: Any, weight: Any, bias: Any = None) -> Any:
        return run(x, weight if transposed else weight.T, np.zeros(len(weight), weight.dtype) if bias is None else bias)

    def without(x: Any, weight: Any) -> Any:
        return run(x, weight if transposed else weight.T)

    return "linear", with_bias if inputs.count == 3 else without, {"batch_dims": (1,)}


def _bind_gather(run: Run, attributes: dict[str, Any], inputs: Inputs) -> Bound:
    if attributes.get("axis", 0) != 0:
        raise NotTaken(f"its axis is {attributes['axis']}, where 0 is taken")

    def embedding(token_ids: Any, weight: Any) -> Any:
        return run(weight, token_ids)

    return "embedding", embedding, {}


def _bind_attention(run: Run, attributes: dict[str, Any], inputs: Inputs) -> Bound:
    """Attention of (batch, heads, n, d), with a mask if the node has one as its fourth input."""
    if inputs.rank != HEADED:
        raise NotTaken(f"its arrays have {inputs.rank} axes, where (batch, heads, n, d) is taken")
    if attributes.get("softcap", 0.0) or attributes.get("qk_matmul_output_mode", 0):
        raise NotTaken("its scores are capped or returned, which the operation does not do")
    if inputs.count > len(("q", "k", "v", "mask")):
        raise NotTaken(f"it has {inputs.count} inputs, where q, k, v and a mask are taken")

    def attend(q: Any, k: Any, v: Any, *, is_causal: bool, scale: float | None) -> Any:
        return run(q, k, v)

    def attend_masked(q: Any, k: Any, v: Any, mask: Any = None, *, is_causal: bool, scale: float | None) -> Any:
        n, m = q.shape[-2], k.shape[-2]
        return run(q, k, v, np.ones((n, m), bool) if mask is None else np.broadcast_to(mask, (*mask.shape[:-2], n, m)))

    def attend_biased(q: Any, k: Any, v: Any, *, bias: Any = None, is_causal: bool, scale: float | None) -> Any:
        return run(q, k, v, np.zeros((q.shape[-2], k.shape[-2]), q.dtype) if bias is None else bias)

    forms = {3: attend, 4: attend_masked if inputs.has_bool else attend_biased}
    domain = {"is_causal": (bool(attributes.get("is_causal", 0)),), "scale": (attributes.get("scale"),), "batch_dims": (2,)}
    return "scaled_dot_product_attention", forms[inputs.count], {**domain, "empty": False, "broadcast": False}


def _bind_rope(run: Run, attributes: dict[str, Any], inputs: Inputs) -> Bound:
    """A rotation of (batch, heads, n, d), each head alone. The tables are those of theta, in the dtype of x."""
    if inputs.rank != HEADED:
        raise NotTaken(f"its array has {inputs.rank} axes, where (batch, heads, n, d) is taken")

    def rope(x: Any, positions: Any, *, theta: float, layout: str, rotary_dim: int | None = None) -> Any:
        turned = width or x.shape[-1]
        if turned != (x.shape[-1] if rotary_dim is None else rotary_dim):
            raise NotImplementedError(f"it turns {turned} of {x.shape[-1]} features")
        rows = x.reshape(-1, 1, *x.shape[-2:])
        places = np.broadcast_to(positions, x.shape[:-1]).reshape(-1, x.shape[-2])
        frequencies = theta ** (-np.arange(0, turned, 2) / turned)
        rows_of_table = np.arange(max(places.max(initial=0) + 1, x.shape[-2]))
        angles = (rows_of_table[:, None] if inputs.count > 3 else places[..., None]) * frequencies
        tables = (np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype))
        return run(rows, *tables, *((places.astype(np.int64),) if inputs.count > 3 else ())).reshape(x.shape)

    layout, width = "interleaved" if attributes.get("interleaved", 0) else "half", attributes.get("rotary_embedding_dim", 0)
    domain = {"layout": (layout,), "batch_dims": (2,), "max_position": MAX_POSITION, "empty": False}
    return "rope", rope, domain | ({"rotary_dim": (width,)} if width else {"rotary_dim": (None,)})


def _bind_cross_entropy(run: Run, attributes: dict[str, Any], inputs: Inputs) -> Bound:
    """The loss of rows of scores, without class weights."""
    if inputs.count != len(("logits", "targets")):
        raise NotTaken("it has class weights, which are not taken")
    if inputs.rank != len(("rows", "classes")):
        raise NotTaken(f"its scores have {inputs.rank} axes, where (rows, classes) is taken")
    reduction = attributes.get("reduction", b"mean").decode()

    def cross_entropy(logits: Any, targets: Any, *, reduction: str) -> Any:
        return np.asarray(run(logits, targets))

    def with_ignored(logits: Any, targets: Any, *, reduction: str, ignore_index: int) -> Any:
        return np.asarray(run(logits, targets))

    domain: dict[str, Any] = {"reduction": (reduction,), "batch_dims": (1,), "empty": False}
    if "ignore_index" not in attributes:
        return "cross_entropy", cross_entropy, domain
    return "cross_entropy", with_ignored, {**domain, "ignore_index": (attributes["ignore_index"],)}


NODES: Mapping[str, Bind] = MappingProxyType({
    "Relu": _bind_pointwise("relu"), "Sigmoid": _bind_pointwise("sigmoid"), "Swish": _bind_pointwise("silu"), "Gelu": _bind_gelu,
    "Softmax": _bind_along_axis("softmax"), "LogSoftmax": _bind_along_axis("log_softmax"),
    "RMSNormalization": _bind_rms_norm, "LayerNormalization": _bind_layer_norm,
    "MatMul": _bind_matmul, "Gemm": _bind_gemm, "Gather": _bind_gather,
    "Attention": _bind_attention, "RotaryEmbedding": _bind_rope, "SoftmaxCrossEntropyLoss": _bind_cross_entropy,
})  # fmt: skip
