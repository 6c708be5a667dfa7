"""Which definitions of flashinfer-bench are attention: of packed sequences, and of keys that lie in pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ._flashinfer_definition import Bound, Call, Definition
from ._imported import NotTaken, find_name, import_torch

LAST_PAGES = ("kv_last_page_len", "last_page_len")  # names of the lengths of the last pages


def bind_variable_length_attention(stated: Definition, call: Call) -> Bound:
    """Attention of packed sequences, causal and aligned at their ends, as the data set's references have it."""
    if not {"q", "k", "v", "qo_indptr", "kv_indptr", "sm_scale"} == {*stated.inputs}:
        raise NotTaken("")
    output = next(iter(stated.outputs))

    def variable_length_attention(
        q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, *, is_causal: bool, scale: float | None = None
    ) -> Any:
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        _require_keys(cu_seqlens_q.diff(), cu_seqlens_k.diff())
        starts = {"qo_indptr": cu_seqlens_q.int(), "kv_indptr": cu_seqlens_k.int()}
        arrays = {"q": q, "k": k, "v": v, **starts}
        return call(stated.sizes(**arrays), **arrays, sm_scale=scale)[output]

    domain = {"is_causal": (True,), "dtype": stated.dtypes, "empty": False, **_restrict_heads(stated, "q", "k", "v")}
    return variable_length_attention, "causal, aligned at the ends", domain


def bind_paged_attention(stated: Definition, call: Call) -> Bound:
    """The queries of each row, or one new token, whose keys lie in pages. The table of pages becomes a list with starts."""
    wanted = {"q", "k_cache", "v_cache", "kv_indptr", "kv_indices", "sm_scale"}
    last, has_queries = find_name(list(stated.inputs), LAST_PAGES), has_several_queries(stated)
    if {*stated.inputs} - {last, "qo_indptr"} != wanted or len(stated.shape("q")) != 3:
        raise NotTaken("")
    page, output = stated.shape("k_cache")[1], next(iter(stated.outputs))
    if not last and stated.fixed.get(page) != 1:
        raise NotTaken("it has pages of several slots and no length of the last page")

    def paged_attention(
        q: Any, k_pages: Any, v_pages: Any, block_table: Any, lengths: Any, *, is_causal: bool, scale: float | None = None
    ) -> Any:
        torch, size = import_torch(), k_pages.shape[1]
        if has_queries:
            _require_keys(q.shape[2], lengths)
        needed = (lengths + size - 1) // size
        starts = torch.cat([needed.new_zeros(1), needed.cumsum(0)]).int()
        rows = [row[:count] for row, count in zip(block_table, needed.tolist(), strict=True)]
        arrays = _pack_queries(q, has_queries) | {
            "k_cache": k_pages,
            "v_cache": v_pages,
            "kv_indptr": starts,
            "kv_indices": torch.cat(rows).int(),
        }
        if last:
            arrays[last] = (lengths - (needed - 1).clamp(min=0) * size).int()
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        return _unpack_queries(call(stated.sizes(**arrays), **arrays, sm_scale=scale)[output], q)

    domain = {"is_causal": (True,), "dtype": stated.dtypes, "empty": False, **stated.restrict(page_size=page),
              **_restrict_heads(stated, "q", "k_cache", "v_cache")}  # fmt: skip
    if has_queries:
        return paged_attention, "causal, aligned at the ends", domain
    return paged_attention, "one new token a row", {"n": (1,), **domain}


def _require_keys(queries: Any, keys: Any) -> None:
    """Raise NotImplementedError if a query sees no key: the definitions say nothing of it, and have no such sizes."""
    if bool((queries > keys).any()):
        raise NotImplementedError(
            "a sequence has more queries than keys, so that some see none, of which its definition says nothing"
        )


def has_several_queries(stated: Definition) -> bool:
    """Whether the rows of paged attention may have several queries, whose starts are an input."""
    return "qo_indptr" in stated.inputs


def _pack_queries(q: Any, has_queries: bool) -> dict[str, Any]:
    """Return the queries (b, h, n, d) one after the other, with the start of each row if there may be several in it."""
    b, _, n, _ = q.shape
    if not has_queries:
        return {"q": q[:, :, 0]}
    return {"q": q.transpose(1, 2).flatten(0, 1), "qo_indptr": import_torch().arange(b + 1, device=q.device).int() * n}


def _unpack_queries(x: Any, q: Any) -> Any:
    """Return a result for each query, (b, h, n) and what follows."""
    return x.unflatten(0, (q.shape[0], q.shape[2])).transpose(1, 2)


def _restrict_heads(stated: Definition, q: str, k: str, v: str) -> dict[str, Any]:
    """Return the domain of the heads and widths of attention. Keys and values have their own widths."""
    *_, heads, width = stated.shape(q)
    *_, kv_heads, _ = stated.shape(k)
    *_, width_of_values = stated.shape(v)
    own = stated.restrict(h=heads, h_kv=kv_heads, d_k=width, d_v=width_of_values)
    return own if width_of_values != width else {**own, "d_v": "d_k"}


def bind_ragged_lse(stated: Definition, call: Call) -> Bound:
    """The same attention with its second result: as many sequences as there are in a batch, of one length."""
    bind_variable_length_attention(stated, call)  # which says whether it is one
    output, lse = _name_results(stated)

    def attention_with_lse(q: Any, k: Any, v: Any, *, is_causal: bool, scale: float | None = None) -> Any:
        torch, (b, _, n, width) = import_torch(), q.shape
        starts = {
            name: torch.arange(b + 1, device=q.device, dtype=torch.int32) * x.shape[2]
            for name, x in (("qo_indptr", q), ("kv_indptr", k))
        }
        arrays = {name: x.transpose(1, 2).flatten(0, 1) for name, x in (("q", q), ("k", k), ("v", v))} | starts
        found = call(stated.sizes(**arrays), **arrays, sm_scale=width**-0.5 if scale is None else scale)
        return found[output].unflatten(0, (b, n)).transpose(1, 2), found[lse].unflatten(0, (b, n)).transpose(1, 2)

    domain = {"is_causal": (True,), "m": "n", "batch_dims": (1,), "dtype": stated.dtypes, "empty": False,
              "differentiable": ("out",), **_restrict_heads(stated, "q", "k", "v")}  # fmt: skip
    return attention_with_lse, f"with {lse}; sequences of one length", domain


def bind_paged_lse(stated: Definition, call: Call) -> Bound:
    """The same attention with its second result: the keys of each row lie in pages of their own."""
    _, words, stated_domain = bind_paged_attention(stated, call)  # which says whether it is one
    output, lse = _name_results(stated)
    last, has_queries = find_name(list(stated.inputs), LAST_PAGES), has_several_queries(stated)
    size = stated.fixed.get(stated.shape("k_cache")[1], 1)

    def attend(q: Any, k: Any, v: Any, scale: float | None) -> Any:
        torch, (b, _, _, width), m = import_torch(), q.shape, k.shape[2]
        pages = -(-m // size)

        def spread(x: Any) -> Any:
            padded = torch.nn.functional.pad(x.transpose(1, 2), (0, 0, 0, 0, 0, pages * size - m))
            return padded.reshape(b * pages, size, *padded.shape[2:])

        arrays = _pack_queries(q, has_queries) | {
            "k_cache": spread(k),
            "v_cache": spread(v),
            "kv_indptr": torch.arange(b + 1, device=q.device, dtype=torch.int32) * pages,
            "kv_indices": torch.arange(b * pages, device=q.device, dtype=torch.int32),
        }
        if last:
            arrays[last] = torch.full((b,), m - (pages - 1) * size, device=q.device, dtype=torch.int32)
        found = call(stated.sizes(**arrays), **arrays, sm_scale=width**-0.5 if scale is None else scale)
        return _unpack_queries(found[output], q), _unpack_queries(found[lse], q)

    def decode(q: Any, k: Any, v: Any, *, scale: float | None = None) -> Any:
        return attend(q, k, v, scale)

    def prefill(q: Any, k: Any, v: Any, *, is_causal: bool, scale: float | None = None) -> Any:
        return attend(q, k, v, scale)

    domain = {name: value for name, value in stated_domain.items() if name not in ("page_size", "is_causal")}
    domain |= {"batch_dims": (1,), "differentiable": ("out",)}
    domain |= {"is_causal": (True,), "m": "n"} if has_queries else {}
    return prefill if has_queries else decode, f"with {lse}; {words}", domain


def _name_results(stated: Definition) -> tuple[str, str]:
    """Return the names of the output and of the logarithm beside it."""
    output, *others = stated.outputs
    if len(others) != 1 or "lse" not in others[0].lower():
        raise NotTaken("")
    return output, others[0]


WITH_LSE: Mapping[str, Callable[[Definition, Call], Bound]] = MappingProxyType(
    {"variable_length_attention": bind_ragged_lse, "paged_attention": bind_paged_lse}
)
