"""Which definitions of flashinfer-bench are rotations of queries and keys, by tables of the cosines and sines."""

from __future__ import annotations

from typing import Any

from ._flashinfer_definition import Bound, Call, Definition
from ._imported import NotTaken, find_name, import_torch
from ._promises import MAX_POSITION

CACHES = ("cos_sin_cache",)  # a row for each position: the cosines of the pairs, then their sines
FLAG = "is_neox"  # whether the pairs are (k, k + r/2)


def bind_rope(stated: Definition, call: Call) -> Bound:
    """The rotation of x, whose rows are queries and keys in turn, so that both results are tried."""
    inputs, (q_out, k_out, *others) = {*stated.inputs}, (*stated.outputs, "", "")[:3]
    cache = find_name(list(stated.inputs), CACHES)
    if inputs - {FLAG} != ({"q", "k", "positions", cache} if cache else {"q", "k", "cos", "sin"}) or not k_out or any(others):
        raise NotTaken("")
    width, turned = stated.fixed.get(stated.shape("q")[-1]), stated.fixed.get(stated.shape(cache or "cos")[-1])
    heads = {name: stated.fixed.get(stated.shape(name)[1], 1) for name in ("q", "k")}
    is_flat = len(stated.shape("q")) == len(("tokens", "heads", "width"))

    def rope(x: Any, positions: Any, *, theta: float, layout: str, rotary_dim: int | None = None) -> Any:
        torch, (n, d), r = import_torch(), x.shape[-2:], x.shape[-1] if rotary_dim is None else rotary_dim
        if turned and turned != r:
            raise NotImplementedError(f"it turns {turned} of {d} features")
        rows = x.reshape(-1, n, d)
        places = positions.broadcast_to(x.shape[:-1]).reshape(-1, n)
        frequencies = theta ** (-torch.arange(0, r, 2, dtype=torch.float64, device=x.device) / r)
        turns = [("q", slice(0, None, 2)), ("k", slice(1, None, 2))][: len(rows)]  # of rows, each of which is a sequence
        answers = [turn(name, rows[own], places[own], frequencies) for name, own in turns]
        order = torch.cat([torch.arange(len(rows), device=x.device)[own] for _, own in turns]).argsort()
        return torch.cat(answers)[order].reshape(x.shape)

    def turn(name: str, rows: Any, places: Any, frequencies: Any) -> Any:
        """Return the rows, turned as queries or as keys."""
        torch, (b, n, d) = import_torch(), rows.shape
        arrays = {part: rows[:, None].expand(b, count, n, d) for part, count in heads.items()}
        if is_flat:
            arrays = {part: x.transpose(1, 2).reshape(b * n, -1, d) for part, x in arrays.items()}
        table = torch.arange(int(places.max()) + 1, device=rows.device) if cache else places
        angles = table[..., None].double() * frequencies
        cos, sin = angles.cos(), angles.sin()
        if cache:
            arrays |= {cache: cast(torch.cat([cos, sin], -1), cache), "positions": cast(places.reshape(-1), "positions")}
        else:
            arrays |= {part: cast(torch.cat([x, x], -1), part) for part, x in (("cos", cos), ("sin", sin))}
        options = {FLAG: True} if FLAG in inputs else {}
        found = call(stated.sizes(**arrays), **arrays, **options)[q_out if name == "q" else k_out]
        heads_last = found.reshape(b, n, -1, d).transpose(1, 2) if is_flat else found
        return heads_last[:, 0]

    def cast(x: Any, name: str) -> Any:
        return x.to(getattr(import_torch(), stated.inputs[name]["dtype"]))

    dtypes = tuple(sorted({stated.inputs[name]["dtype"] for name in ("q", "k")}))
    if len(dtypes) != 1:
        raise NotTaken("its queries and keys have different dtypes")
    domain: dict[str, Any] = {"layout": ("half",), "max_position": MAX_POSITION, "empty": False, "dtype": dtypes}
    domain |= {"d_k": (width,)} if width else {}
    domain["rotary_dim"] = (turned,) if cache and turned and turned != width else (None,)
    return rope, f"of q and k in turn, by {cache or 'cos and sin'}", domain
