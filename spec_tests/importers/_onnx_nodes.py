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

    slots: tuple[int, ...]  # the places of those that the node has
    rank: int  # of the first, 0 if the graph does not say
    has_bool: bool = False  # whether one of them is a mask
    flattens: bool = False  # whether an axis means all from there on, as in old versions of softmax

    @property
    def count(self) -> int:
        return len(self.slots)

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


@dataclass(frozen=True)
class Rows:
    """Rows, given to a norm over several axes: their entries lie along the last two of these, the others have one entry."""

    axes: int  # over which it normalizes
    domain: dict[str, Any]

    @classmethod
    def of(cls, attributes: dict[str, Any], inputs: Inputs) -> Rows:
        axis = attributes.get("axis", LAST)
        if axis < 0:
            return cls(-axis, {})
        return cls(inputs.require_rank() - axis, {"batch_dims": (axis,)})

    def spread(self, x: Any) -> Any:
        """Return the array with its last axis spread over those of the norm."""
        if self.axes == 1:
            return x
        width = x.shape[-1]
        pair = (2, width // 2) if width % 2 == 0 else (1, width)
        return x.reshape(*x.shape[:-1], *(1,) * (self.axes - 2), *pair)


def _bind_rms_norm(run: Run, attributes: dict[str, Any], inputs: Inputs) -> Bound:
    rows = Rows.of(attributes, inputs)

    def rms_norm(x: Any, weight: Any, *, eps: float) -> Any:
        return run(rows.spread(x), rows.spread(weight)).reshape(x.shape)

    return "rms_norm", rms_norm, {**rows.domain, "eps": (attributes.get("epsilon", 1e-5),)}


def _bind_layer_norm(run: Run, attributes: dict[str, Any], inputs: Inputs) -> Bound:
    rows = Rows.of(attributes, inputs)
    if inputs.count != 3:
        raise NotTaken(f"it has {inputs.count} inputs, where x, the scale and the bias are needed")

    def layer_norm(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
        return run(*map(rows.spread, (x, weight, bias))).reshape(x.shape)

    return "layer_norm", layer_norm, {**rows.domain, "eps": (attributes.get("epsilon", 1e-5),)}


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


@dataclass(frozen=True)
class Heads:
    """The heads of attention whose arrays have three axes, (batch, n, heads · d). Arrays of any batch are spread over them."""

    query: int
    key: int

    def join(self, x: Any, *, of_queries: bool) -> Any:
        """Return rows of (n, d) as (batch, n, heads · d): as many heads of queries as need it get the same rows."""
        rows = x.reshape(-1, *x.shape[-2:])
        rows = np.concatenate([rows, np.repeat(rows[-1:], -len(rows) % self.key, 0)])
        heads = rows.reshape(-1, self.key, *x.shape[-2:])
        heads = np.repeat(heads, self.query // self.key, 1) if of_queries else heads
        return np.swapaxes(heads, 1, 2).reshape(len(heads), x.shape[-2], -1)

    def split(self, y: Any, shape: tuple[int, ...]) -> Any:
        """Return the result of joined arrays as an array of this shape: that of the first of heads with the same rows."""
        heads = np.swapaxes(y.reshape(*y.shape[:2], self.query, -1), 1, 2)[:, :: self.query // self.key]
        rows = heads.reshape(-1, *heads.shape[2:])
        return rows[: int(np.prod(shape[:-2]))].reshape(shape)

    def join_mask(self, mask: Any) -> Any:
        """Return the masks of rows as (batch, heads, n, m)."""
        rows = mask.reshape(-1, *mask.shape[-2:])
        rows = np.concatenate([rows, np.repeat(rows[-1:], -len(rows) % self.key, 0)])
        return np.repeat(rows.reshape(-1, self.key, *mask.shape[-2:]), self.query // self.key, 1)


OF_ATTENTION = frozenset(
    ["is_causal", "scale", "q_num_heads", "kv_num_heads", "softcap", "qk_matmul_output_mode", "softmax_precision"]
)
MASK, PAST_KEY, PAST_VALUE = 3, 4, 5  # places of inputs of Attention


def _bind_attention(run: Run, attributes: dict[str, Any], inputs: Inputs) -> Bound:
    """Attention of (batch, heads, n, d) or (batch, n, heads · d), with a mask if the node has one, and with an empty past."""
    if attributes.get("softcap", 0.0) or attributes.get("qk_matmul_output_mode", 0):
        raise NotTaken("its scores are capped or returned, which the operation does not do")
    if any(slot > PAST_VALUE for slot in inputs.slots) or len({PAST_KEY, PAST_VALUE} & {*inputs.slots}) == 1:
        raise NotTaken("it is given how many of the keys count, where q, k, v, a mask and a past are taken")
    if unknown := [name for name in attributes if name not in OF_ATTENTION]:
        raise NotTaken(f"its attribute {unknown[0]} is not known")
    heads = _find_heads(attributes, inputs.rank)
    has_past, has_mask = PAST_KEY in inputs.slots, MASK in inputs.slots

    def attend(q: Any, k: Any, v: Any, *mask: Any) -> Any:
        shape = (*q.shape[:-1], v.shape[-1])
        if heads is None:
            batch, count = k.shape[0], k.shape[1]
            past = [np.zeros((batch, count, 0, x.shape[-1]), x.dtype) for x in (k, v)] if has_past else []
            return run(q, k, v, *mask, *past)
        joined = [heads.join(q, of_queries=True), *(heads.join(x, of_queries=False) for x in (k, v))]
        past = [np.zeros((len(joined[1]), heads.key, 0, x.shape[-1]), x.dtype) for x in (k, v)] if has_past else []
        return heads.split(run(*joined, *map(heads.join_mask, mask), *past), shape)

    def attend_plainly(q: Any, k: Any, v: Any, *, is_causal: bool, scale: float | None) -> Any:
        return attend(q, k, v)

    def attend_masked(q: Any, k: Any, v: Any, mask: Any = None, *, is_causal: bool, scale: float | None) -> Any:
        return attend(q, k, v, _fill_mask(np.ones((), bool) if mask is None else mask, q, k))

    def attend_biased(q: Any, k: Any, v: Any, *, bias: Any = None, is_causal: bool, scale: float | None) -> Any:
        return attend(q, k, v, _fill_mask(np.zeros((), q.dtype) if bias is None else bias, q, k))

    form = (attend_masked if inputs.has_bool else attend_biased) if has_mask else attend_plainly
    domain = {"is_causal": (bool(attributes.get("is_causal", 0)),), "scale": (attributes.get("scale"),), "batch_dims": (2,)}
    return "scaled_dot_product_attention", form, {**domain, "empty": False, "broadcast": False}


def _fill_mask(mask: Any, q: Any, k: Any) -> Any:
    """Return a mask or a bias of every query and key of the batch: the node takes no other shapes."""
    return np.array(np.broadcast_to(mask, (*q.shape[:-1], k.shape[-2])))


def _find_heads(attributes: dict[str, Any], rank: int) -> Heads | None:
    """Return the heads that lie beside each other in the last axis, None if they have an axis of their own."""
    if rank == HEADED:
        return None
    if rank != HEADED - 1:
        raise NotTaken(f"its arrays have {rank} axes, where (batch, heads, n, d) or (batch, n, heads · d) is taken")
    return Heads(attributes["q_num_heads"], attributes["kv_num_heads"])


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
    """The loss of scores whose classes lie along the second axis, and whose further axes have one entry here."""
    reduction = attributes.get("reduction", b"mean").decode()
    further = (1,) * (inputs.require_rank() - len(("rows", "classes")))

    def lose(logits: Any, targets: Any, *weight: Any) -> Any:
        rows = np.asarray(run(logits.reshape(*logits.shape, *further), targets.reshape(*targets.shape, *further), *weight))
        return rows.reshape(targets.shape) if reduction == "none" else rows

    def cross_entropy(logits: Any, targets: Any, *, reduction: str) -> Any:
        return lose(logits, targets)

    def with_ignored(logits: Any, targets: Any, *, reduction: str, ignore_index: int) -> Any:
        return lose(logits, targets)

    def weighted(logits: Any, targets: Any, weight: Any = None, *, reduction: str) -> Any:
        return lose(logits, targets, np.ones(logits.shape[-1], logits.dtype) if weight is None else weight)

    def weighted_with_ignored(logits: Any, targets: Any, weight: Any = None, *, reduction: str, ignore_index: int) -> Any:
        return lose(logits, targets, np.ones(logits.shape[-1], logits.dtype) if weight is None else weight)

    domain: dict[str, Any] = {"reduction": (reduction,), "batch_dims": (1,), "empty": False}
    has_weights = inputs.count == len(("logits", "targets", "weight"))
    if "ignore_index" not in attributes:
        return "cross_entropy", weighted if has_weights else cross_entropy, domain
    form = weighted_with_ignored if has_weights else with_ignored
    return "cross_entropy", form, {**domain, "ignore_index": (attributes["ignore_index"],)}


NODES: Mapping[str, Bind] = MappingProxyType({
    "Relu": _bind_pointwise("relu"), "Sigmoid": _bind_pointwise("sigmoid"), "Swish": _bind_pointwise("silu"), "Gelu": _bind_gelu,
    "Softmax": _bind_along_axis("softmax"), "LogSoftmax": _bind_along_axis("log_softmax"),
    "RMSNormalization": _bind_rms_norm, "LayerNormalization": _bind_layer_norm,
    "MatMul": _bind_matmul, "Gemm": _bind_gemm, "Gather": _bind_gather,
    "Attention": _bind_attention, "RotaryEmbedding": _bind_rope, "SoftmaxCrossEntropyLoss": _bind_cross_entropy,
})  # fmt: skip
