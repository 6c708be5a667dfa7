"""Which definitions of flashinfer-bench are which operations: by their inputs, the shapes of these, and their outputs."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ..specification.formats import DTYPES
from ._imported import NotTaken, find_name, import_torch

Call = Callable[..., dict[str, Any]]  # of the sizes of the axes, and of the inputs by name
Bound = tuple[Callable[..., Any], str, dict[str, Any]]
STATES = ("hidden_states", "input", "x")


class Definition:
    """What a definition states: its axes, and its inputs and outputs by name."""

    def __init__(self, data: dict[str, Any]):
        self.name, self.reference = str(data["name"]), str(data.get("reference", ""))
        self.op_type = str(data.get("op_type") or self.name)
        self.inputs: dict[str, Any] = data["inputs"]
        self.outputs: dict[str, Any] = data["outputs"]
        self.fixed = {name: axis["value"] for name, axis in data["axes"].items() if axis.get("type") == "const"}
        floats = {spec["dtype"] for spec in self.inputs.values() if spec["shape"] is not None and spec["dtype"] in DTYPES}
        self.dtypes = tuple(sorted(floats)) or ("float32",)

    def shape(self, name: str) -> list[str]:
        return list(self.inputs[name]["shape"] or [])

    def restrict(self, **axes: str) -> dict[str, Any]:
        """Return the domain of our dimensions, by the names of their axes here. An axis that varies restricts nothing."""
        return {ours: (self.fixed[theirs],) for ours, theirs in axes.items() if theirs in self.fixed}

    def sizes(self, **inputs: Any) -> dict[str, int]:
        """Return the size of each axis, from the arrays that have it."""
        shapes = {name: spec["shape"] or [] for name, spec in self.inputs.items()}
        arrays = ((shapes[name], x.shape) for name, x in inputs.items() if hasattr(x, "shape"))
        return {**self.fixed, **{axis: size for axes, sizes in arrays for axis, size in zip(axes, sizes, strict=False)}}

    def find_epsilon(self) -> float:
        """Return the constant that is added below a root in the reference. Raise NotTaken if there is not exactly one."""
        tree = ast.parse(self.reference)
        constants = {
            target.id: node.value.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        added = [node.right for node in ast.walk(tree) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)]
        values = {
            constants.get(x.id) if isinstance(x, ast.Name) else x.value if isinstance(x, ast.Constant) else None for x in added
        }
        floats = {value for value in values if isinstance(value, float) and 0 < value < 1}
        if len(floats) != 1:
            raise NotTaken("its epsilon is neither an input nor one constant of the reference")
        return floats.pop()


def _bind_norm(stated: Definition, call: Call, *, adds: bool) -> Bound:
    states = find_name(list(stated.inputs), STATES)
    wanted = {states, "weight"} | ({"residual"} if adds else set())
    if not states or {*stated.inputs} - {"eps"} != wanted or len(stated.shape("weight")) != 1:
        raise NotTaken("")
    rank, (width,) = len(stated.shape(states)), stated.shape("weight")
    eps_is_input, output = "eps" in stated.inputs, next(iter(stated.outputs))
    domain = {"batch_dims": (rank - 1,), "empty": False, "dtype": stated.dtypes, **stated.restrict(d=width)}
    domain |= {} if eps_is_input else {"eps": (stated.find_epsilon(),)}
    words = "eps is its input" if eps_is_input else f"eps = {domain['eps'][0]:g}"

    def run(eps: float, **arrays: Any) -> Any:
        given = arrays | ({"eps": eps} if eps_is_input else {})
        return call(stated.sizes(**arrays), **given)[output]

    def rms_norm(x: Any, weight: Any, *, eps: float) -> Any:
        return run(eps, **{states: x, "weight": weight})

    def add_rms_norm(x: Any, residual: Any, weight: Any, *, eps: float) -> Any:
        total = x + residual
        return run(eps, **{states: x, "residual": residual, "weight": weight}), total

    if adds and len(stated.outputs) > 1:
        raise NotTaken(f"its outputs are {', '.join(stated.outputs)}, where the norm alone is taken")
    return (add_rms_norm, f"{words}; the sum is added by the importer", domain) if adds else (rms_norm, words, domain)


def bind_linear(stated: Definition, call: Call) -> Bound:
    """A product of A (M, K) and the transpose of B (N, K)."""
    if list(stated.inputs) != ["A", "B"] or len(stated.outputs) != 1 or len({*stated.shape("A"), *stated.shape("B")}) != 3:
        raise NotTaken("")
    (_, inner), (outer, inner_of_b) = stated.shape("A"), stated.shape("B")
    if inner != inner_of_b:
        raise NotTaken("B is not (N, K)")

    def linear(x: Any, weight: Any) -> Any:
        return next(iter(call(stated.sizes(A=x, B=weight), A=x, B=weight).values()))

    domain = {"batch_dims": (1,), "empty": False, "dtype": stated.dtypes, **stated.restrict(d_in=inner, d_out=outer)}
    return linear, "x is A and the weight is B", domain


def bind_variable_length_attention(stated: Definition, call: Call) -> Bound:
    """Attention of packed sequences, causal and aligned at their ends, as the data set's references have it."""
    if not {"q", "k", "v", "qo_indptr", "kv_indptr", "sm_scale"} == {*stated.inputs}:
        raise NotTaken("")
    _, heads, width = stated.shape("q")
    _, kv_heads, _ = stated.shape("k")
    output = next(iter(stated.outputs))

    def variable_length_attention(
        q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, *, is_causal: bool, scale: float | None = None
    ) -> Any:
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        starts = {"qo_indptr": cu_seqlens_q.int(), "kv_indptr": cu_seqlens_k.int()}
        arrays = {"q": q, "k": k, "v": v, **starts}
        return call(stated.sizes(**arrays), **arrays, sm_scale=scale)[output]

    domain = {"is_causal": (True,), "dtype": stated.dtypes, "empty": False, "d_v": "d_k",
              **stated.restrict(h=heads, h_kv=kv_heads, d_k=width)}  # fmt: skip
    return variable_length_attention, "causal, aligned at the ends", domain


def bind_paged_attention(stated: Definition, call: Call) -> Bound:
    """One new token for each row, whose keys lie in pages. The table of pages becomes a list with the start of each row."""
    wanted = {"q", "k_cache", "v_cache", "kv_indptr", "kv_indices", "sm_scale"}
    if {*stated.inputs} - {"kv_last_page_len"} != wanted or len(stated.shape("q")) != 3 or "qo_indptr" in stated.inputs:
        raise NotTaken("")
    _, heads, width = stated.shape("q")
    _, page, kv_heads, _ = stated.shape("k_cache")
    has_last, output = "kv_last_page_len" in stated.inputs, next(iter(stated.outputs))
    if not has_last and stated.fixed.get(page) != 1:
        raise NotTaken("it has pages of several slots and no length of the last page")

    def paged_attention(
        q: Any, k_pages: Any, v_pages: Any, block_table: Any, lengths: Any, *, is_causal: bool, scale: float | None = None
    ) -> Any:
        torch, size = import_torch(), k_pages.shape[1]
        needed = (lengths + size - 1) // size
        starts = torch.cat([needed.new_zeros(1), needed.cumsum(0)]).int()
        rows = [row[:count] for row, count in zip(block_table, needed.tolist(), strict=True)]
        arrays = {
            "q": q[:, :, 0],
            "k_cache": k_pages,
            "v_cache": v_pages,
            "kv_indptr": starts,
            "kv_indices": torch.cat(rows).int(),
        }
        if has_last:
            arrays["kv_last_page_len"] = (lengths - (needed - 1).clamp(min=0) * size).int()
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        return call(stated.sizes(**arrays), **arrays, sm_scale=scale)[output][:, :, None]

    domain = {"n": (1,), "is_causal": (True,), "dtype": stated.dtypes, "empty": False, "d_v": "d_k",
              **stated.restrict(h=heads, h_kv=kv_heads, d_k=width, page_size=page)}  # fmt: skip
    return paged_attention, "one new token a row", domain


OPERATIONS: tuple[tuple[str, Callable[[Definition, Call], Bound]], ...] = (
    ("rms_norm", lambda stated, call: _bind_norm(stated, call, adds=False)),
    ("add_rms_norm", lambda stated, call: _bind_norm(stated, call, adds=True)),
    ("linear", bind_linear),
    ("variable_length_attention", bind_variable_length_attention),
    ("paged_attention", bind_paged_attention),
)
