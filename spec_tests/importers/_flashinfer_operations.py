"""Which definitions of flashinfer-bench are which operations: by their inputs, the shapes of these, and their outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._flashinfer_attention import bind_paged_attention, bind_variable_length_attention
from ._flashinfer_definition import Bound, Call, Definition, is_float
from ._flashinfer_rope import bind_rope
from ._imported import NotTaken, find_name, import_torch

STATES = ("hidden_states", "input", "x")


def _bind_norm(stated: Definition, call: Call, *, adds: bool) -> Bound:
    states = find_name(list(stated.inputs), STATES)
    wanted = {states, "weight"} | ({"residual"} if adds else set())
    if not states or {*stated.inputs} - {"eps"} != wanted or len(stated.shape("weight")) != 1:
        raise NotTaken("")
    rank, (width,) = len(stated.shape(states)), stated.shape("weight")
    eps_is_input, (output, *sums) = "eps" in stated.inputs, stated.outputs
    if len(sums) > adds or any("residual" not in name for name in sums):
        raise NotTaken(f"its outputs are {', '.join(stated.outputs)}, where the norm comes first and then the sum")
    domain = {"batch_dims": (rank - 1,), "empty": False, "dtype": stated.dtypes, **stated.restrict(d=width)}
    domain |= {} if eps_is_input else {"eps": (stated.find_epsilon(),)}
    words = "eps is its input" if eps_is_input else f"eps = {domain['eps'][0]:g}"

    def run(eps: float, **arrays: Any) -> Any:
        given = arrays | ({"eps": eps} if eps_is_input else {})
        return call(stated.sizes(**arrays), **given)

    def rms_norm(x: Any, weight: Any, *, eps: float) -> Any:
        return run(eps, **{states: x, "weight": weight})[output]

    def add_rms_norm(x: Any, residual: Any, weight: Any, *, eps: float) -> Any:
        total = x + residual
        found = run(eps, **{states: x, "residual": residual, "weight": weight})
        return found[output], found[sums[0]] if sums else total

    words += "" if sums or not adds else "; the sum is added by the importer"
    return (add_rms_norm if adds else rms_norm), words, domain


def bind_linear(stated: Definition, call: Call) -> Bound:
    """A product of A (M, K) and the transpose of B (N, K), or B (K, N) itself."""
    if list(stated.inputs) != ["A", "B"] or len(stated.outputs) != 1 or len({*stated.shape("A"), *stated.shape("B")}) != 3:
        raise NotTaken("")
    (_, inner), axes = stated.shape("A"), stated.shape("B")
    if inner not in axes:
        raise NotTaken("B is neither (N, K) nor (K, N)")
    is_transposed = axes[0] == inner
    outer = axes[1 if is_transposed else 0]

    def linear(x: Any, weight: Any) -> Any:
        b = weight.mT.contiguous() if is_transposed else weight
        return next(iter(call(stated.sizes(A=x, B=b), A=x, B=b).values()))

    domain = {"batch_dims": (1,), "empty": False, "dtype": stated.dtypes, **stated.restrict(d_in=inner, d_out=outer)}
    return linear, f"x is A and the weight is {'the transpose of ' * is_transposed}B", domain


def _bind_rows(operation: str, words: tuple[str, ...]) -> Callable[[Definition, Call], Bound]:
    """Return the binder of a function of one array whose definition has one of these words in its name."""

    def bind(stated: Definition, call: Call) -> Bound:
        if len(stated.inputs) != 1 or len(stated.outputs) != 1 or not {*words} & stated.words:
            raise NotTaken("")
        ((name, spec),), (output,) = stated.inputs.items(), stated.outputs
        if spec["shape"] != stated.outputs[output]["shape"]:
            raise NotTaken("its result has another shape than its input")

        def run(x: Any) -> Any:
            return call(stated.sizes(**{name: x}), **{name: x})[output]

        def along_axis(x: Any, *, axis: int) -> Any:
            return run(x)

        def gelu(x: Any, *, approximate: str) -> Any:
            return run(x)

        *batch, width = spec["shape"]
        domain = {"batch_dims": (len(batch),), "empty": False, "dtype": stated.dtypes}
        if operation in ALONG_AXIS:
            return along_axis, f"x is {name}, over its last axis", {**domain, "axis": (-1,), **stated.restrict(n=width)}
        if operation == "gelu":
            return gelu, f"x is {name}", domain
        return run, f"x is {name}", domain

    return bind


def bind_gated_activation(stated: Definition, call: Call) -> Bound:
    """The product of one half with the activation of the other: of a packed array, or of two."""
    if not any({*words} <= stated.words for words in GATES) or len(stated.outputs) != 1 or len(stated.inputs) not in (1, 2):
        raise NotTaken("")
    names, (output,) = list(stated.inputs), stated.outputs
    if len({len(stated.shape(name)) for name in names}) != 1:
        raise NotTaken("its inputs have different numbers of axes")

    def gated_activation(x: Any, *, activation: str, layout: str, gate: str) -> Any:
        arrays = dict(zip(names, (part.contiguous() for part in x.chunk(len(names), -1)), strict=True))
        return call(stated.sizes(**arrays), **arrays)[output]

    *batch, width = stated.shape(names[0])
    domain: dict[str, Any] = {"batch_dims": (len(batch),), "empty": False, "dtype": stated.dtypes,
              "layout": ("concatenated",), "gate": ("first",)}  # fmt: skip
    if width in stated.fixed:
        domain["h"] = (stated.fixed[width] // (2 if len(names) == 1 else 1),)
    return (
        gated_activation,
        f"{' and '.join(names)}, the activation of the first {'half' if len(names) == 1 else 'array'}",
        domain,
    )


def bind_embedding(stated: Definition, call: Call) -> Bound:
    """Rows of a table, by integers."""
    tables = [name for name in stated.inputs if len(stated.shape(name)) == 2 and is_float(stated.inputs[name]["dtype"])]
    ids = [name for name in stated.inputs if name not in tables]
    if "embedding" not in stated.words or len(tables) != 1 or len(ids) != 1 or len(stated.outputs) != 1:
        raise NotTaken("")
    (table,), (index,), (output,) = tables, ids, stated.outputs
    vocabulary, width = stated.shape(table)
    kind = str(stated.inputs[index]["dtype"])

    def embedding(token_ids: Any, weight: Any) -> Any:
        arrays = {index: token_ids.to(getattr(import_torch(), kind)), table: weight}
        return call(stated.sizes(**arrays), **arrays)[output]

    domain = {"batch_dims": (len(stated.shape(index)),), "empty": False, "dtype": stated.dtypes,
              **stated.restrict(vocab=vocabulary, d=width)}  # fmt: skip
    return embedding, f"{index} are rows of {table}", domain


ALONG_AXIS = ("softmax", "log_softmax")
GATES = (("gelu", "mul"), ("silu", "mul"), ("swiglu",), ("geglu",))  # words that name one; a call shows which it is
OPERATIONS: tuple[tuple[str, Callable[[Definition, Call], Bound]], ...] = (
    ("rms_norm", lambda stated, call: _bind_norm(stated, call, adds=False)),
    ("add_rms_norm", lambda stated, call: _bind_norm(stated, call, adds=True)),
    ("log_softmax", _bind_rows("log_softmax", ("logsoftmax",))),
    ("softmax", _bind_rows("softmax", ("softmax",))),
    ("gated_activation", bind_gated_activation),
    *((name, _bind_rows(name, (name,))) for name in ("silu", "relu", "sigmoid", "gelu")),
    ("embedding", bind_embedding),
    ("linear", bind_linear),
    ("variable_length_attention", bind_variable_length_attention),
    ("paged_attention", bind_paged_attention),
    ("rope", bind_rope),
)
