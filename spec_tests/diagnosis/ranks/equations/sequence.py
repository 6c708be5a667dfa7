"""Operations of which each rank has some tokens: positions, and attention to gathered keys or in a ring."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from reference_numpy._heads import capped_scores, repeated_heads
from reference_numpy._marks import exact, finite_or_zero, float64

from ...operator.alternative import Named, call_right, take
from ..layout import Layout
from ..steps import Steps, Values
from . import Equations

EQUATIONS = Equations()
Seen = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int], np.ndarray]
"""From the rows and columns, and the ranks of both, and the number of ranks, to what a query sees."""


@EQUATIONS.add("rope", x=-2, positions=-1, result=-2)
def rope(steps: Steps, layout: Layout, named: Named, own: list[Named]) -> Values:
    anew = steps.one_of(
        {
            "positions begin anew on each rank": (lambda p, lengths, r: p - p[..., :1], 0.1),
            "positions are counted from 0 on each rank, whatever is given": (lambda p, lengths, r: np.arange(p.shape[-1]), 0.2),
            "the number of the rank's first token is added to positions, which count the tokens of all ranks": (
                lambda p, lengths, r: p + sum(lengths[:r]),
                0.2,
            ),
            "positions are counted through all ranks, whatever is given": (
                lambda p, lengths, r: sum(lengths[:r]) + np.arange(p.shape[-1]),
                0.2,
            ),
        }
    )
    lengths = [a["x"].shape[-2] for a in own]
    changed = [{**a, "positions": anew(a["positions"], lengths, r) if anew else a["positions"]} for r, a in enumerate(own)]
    return [call_right(layout.spec, a) for a in changed]


@EQUATIONS.add("scaled_dot_product_attention", "attention_with_lse", "grouped_query_attention", q=-2, k=-2, v=-2, result=-2)
def attention(steps: Steps, layout: Layout, named: Named, own: list[Named]) -> Values:
    n, m = named["q"].shape[-2], named["k"].shape[-2]
    rows, keys = layout.places("q", named["q"]), layout.places("k", named["k"])
    of_row, of_key = _ranks(rows, n), _ranks(keys, m)
    changed, blocks = dict(named), _Blocks(rows, keys, of_row, of_key, layout.alignment)
    kept, causality, masked = steps.one_of(BLOCKS), steps.one_of(CAUSAL), steps.one_of(MASKED)
    seen = [_choose_part(named.get("mask"), blocks, masked)]
    if named.get("is_causal"):
        seen.append((causality or CAUSALITY_OF_MASKED.get(masked, lambda b: b.right))(blocks))
        changed["is_causal"] = False
    seen.append(kept(of_row[:, None], of_key[None, :], layout.count) if kept else None)
    if found := [mask for mask in seen if mask is not None]:
        changed["mask"] = np.logical_and.reduce(np.broadcast_arrays(*found))
    for names, said in ((("k", "v"), "keys and values"), (("k",), "keys"), (("v",), "values")):
        order = steps.one_of(
            {
                f"{said} are gathered in the reverse order of the ranks": (lambda count, r: range(count)[::-1], 0.1),
                f"{said} are gathered in the order of the ring, the rank's own first": (
                    lambda count, r: [(r - i) % count for i in range(count)],
                    0.2,
                ),
            }
        )
        if order:
            return _cut_rows(
                layout, [_reordered(layout, changed, names, keys, order(layout.count, r)) for r in range(layout.count)]
            )
    if steps.one_of({"what fills up shorter parts is seen, as keys and values of 0": (True, 0.2)}):
        changed |= _fill_up(changed, max(map(len, keys)) * layout.count - m)
    unscaled = steps.one_of(RESCALED)
    if unscaled:
        return _cut_rows(layout, [_unrescaled(layout, changed, of_row, of_key, unscaled)] * layout.count)
    return _cut_rows(layout, [_fill_blind_rows(layout, changed, call_right(layout.spec, changed))] * layout.count)


def _fill_blind_rows(layout: Layout, named: Named, result: Any) -> Any:
    """Return the result with zeros for queries that see no key, if the backend gives them those."""
    if layout.blind_rows != "zero" or named.get("mask") is None:
        return result
    out, *others = result if layout.spec.has_several_results else (result,)
    out = np.where(np.any(named["mask"], axis=-1)[..., None], out, 0.0)
    return (out, *others) if layout.spec.has_several_results else out


def _fill_up(named: Named, more: int) -> Named:
    """Return keys and values with so many more of 0, and a mask with which all queries see them."""
    k, v = (np.concatenate([x, np.zeros((*x.shape[:-2], more, x.shape[-1]))], axis=-2) for x in (named["k"], named["v"]))
    mask = named.get("mask")
    if mask is None:
        return {"k": k, "v": v}
    return {"k": k, "v": v, "mask": np.concatenate([mask, np.ones((*mask.shape[:-1], more), dtype=bool)], axis=-1)}


def _choose_part(mask: Any, blocks: _Blocks, masked: str | None) -> Any:
    """Return the mask; if a part of it is taken for all, that in which ranks have the first rows, or blocks the first columns."""
    if mask is None or not masked:
        return mask
    mask = np.asarray(mask)
    axis, places = (-1, blocks.local_key) if masked in ("columns", "all columns") else (-2, blocks.local_row)
    return take(mask, places, axis) if mask.ndim >= -axis and mask.shape[axis] == len(places) else mask


class _Blocks:
    """The blocks of queries and keys of the ranks, and what a causal mask allows."""

    def __init__(self, rows: Values, keys: Values, of_row: np.ndarray, of_key: np.ndarray, alignment: str):
        n, m = len(of_row), len(of_key)
        self.same = of_row[:, None] == of_key[None, :]
        self.after = of_key[None, :] > of_row[:, None]
        self.row, self.key = np.arange(n), np.arange(m)
        is_at_end = alignment == "bottom-right"
        self.ahead = m - n if is_at_end else 0  # of how many keys the first query sees more than one
        self.own_ahead = m - np.array([len(of) for of in rows])[of_row] if is_at_end else np.zeros(n, dtype=int)
        self.right = self.row[:, None] + self.ahead >= self.key[None, :]
        self.local_row, self.local_key = (np.concatenate([np.arange(len(p)) for p in of])[_order(of)] for of in (rows, keys))
        self.even_row = of_row * np.array([len(of) for of in rows])[of_row] + self.local_row
        self.moved_key, self.opposite_key = (_move(keys, of_row, of_key, self.local_key, by) for by in ("next", "opposite"))


def _move(keys: Values, of_row: np.ndarray, of_key: np.ndarray, local_key: np.ndarray, by: str) -> np.ndarray:
    """Return for each query, or for all, where each key stands if its block is taken for that of another rank."""
    starts = np.array([int(p[0]) if len(p) else sum(map(len, keys)) for p in keys])
    other = (of_key + 1)[None, :] if by == "next" else 2 * of_row[:, None] - of_key[None, :]
    return np.asarray(starts[other % len(keys)] + local_key[None, :])


def _order(places: Values) -> np.ndarray:
    return np.argsort(np.concatenate(places))


CAUSAL: Mapping[str, tuple[Callable[[_Blocks], np.ndarray], float]] = MappingProxyType(
    {
        "the causal mask begins anew on each rank, as if its first query were the first of all": (
            lambda b: b.local_row[:, None] + b.ahead >= b.key[None, :],
            0.1,
        ),
        "the causal mask of each rank is that of its own queries alone, whose last sees all keys": (
            lambda b: b.local_row[:, None] + b.own_ahead[:, None] >= b.key[None, :],
            0.15,
        ),
        "the causal mask is aligned by the rank's own number of queries": (
            lambda b: b.row[:, None] + b.own_ahead[:, None] >= b.key[None, :],
            0.2,
        ),
        "a rank's first query is found as if all ranks had as many as it": (
            lambda b: b.even_row[:, None] + b.ahead >= b.key[None, :],
            0.2,
        ),
        "the causal mask is not applied to the keys of a query's own rank: its own block counts as full": (
            lambda b: b.right | b.same,
            0.1,
        ),
        "the causal mask is applied to the keys of a query's own rank alone: other blocks count as full": (
            lambda b: b.right | ~b.same,
            0.1,
        ),
        "under the causal mask the blocks of other ranks count as full or as hidden, by the order of the ranks": (
            lambda b: np.where(b.same, b.right, ~b.after),
            0.2,
        ),
        "the causal mask is applied within each block as in the rank's own": (
            lambda b: b.local_row[:, None] >= b.local_key[None, :],
            0.2,
        ),
        "the causal mask takes the keys of each block for the first ones": (
            lambda b: b.row[:, None] + b.ahead >= b.local_key[None, :],
            0.2,
        ),
        "a query sees no keys of its own rank under the causal mask": (lambda b: b.right & ~b.same, 0.2),
        "a query sees no keys of other ranks under the causal mask": (lambda b: b.right & b.same, 0.2),
        "a query sees no keys of later ranks under the causal mask": (lambda b: b.right & ~b.after, 0.2),
        "the causal mask leaves out a query's own key": (lambda b: b.row[:, None] + b.ahead > b.key[None, :], 0.2),
        "the causal mask takes each block of keys for that of the next rank": (
            lambda b: b.row[:, None] + b.ahead >= b.moved_key,
            0.2,
        ),
        "the causal mask takes blocks of keys for those of the opposite order of the ring": (
            lambda b: b.row[:, None] + b.ahead >= b.opposite_key,
            0.3,
        ),
    }
)
MASKED: Mapping[str, tuple[str, float]] = MappingProxyType(
    {
        "every rank has the mask of the first queries": ("rows", 0.1),
        "every rank has the mask, and the causal mask, of the first queries": ("all rows", 0.2),
        "every block of keys has the mask of the first keys": ("columns", 0.15),
        "every block of keys has the mask, and the causal mask, of the first keys": ("all columns", 0.2),
    }
)
CAUSALITY_OF_MASKED: Mapping[str | None, Callable[[_Blocks], np.ndarray]] = MappingProxyType(
    {
        "all rows": lambda b: b.local_row[:, None] + b.ahead >= b.key[None, :],
        "all columns": lambda b: b.row[:, None] + b.ahead >= b.local_key[None, :],
    }
)
BLOCKS: Mapping[str, tuple[Callable[..., np.ndarray], float]] = MappingProxyType(
    {
        "a query sees the keys of its own rank alone": (lambda row, key, count: row == key, 0.1),
        "a query does not see the keys of its own rank": (lambda row, key, count: row != key, 0.2),
        "the last step of the ring is left out: a query does not see the keys of the next rank": (
            lambda row, key, count: key != (row + 1) % count,
            0.15,
        ),
        "a query does not see the keys of the rank before": (lambda row, key, count: key != (row - 1) % count, 0.2),
        "the keys of the last rank are left out": (lambda row, key, count: (key != count - 1) | (row < 0), 0.2),
        "the keys of the first rank are left out": (lambda row, key, count: (key != 0) | (row < 0), 0.2),
    }
)
RESCALED = MappingProxyType(
    {
        "the sum of values is not rescaled when the maximum moves from one block to the next": ((True, False), 0.1),
        "the sum of exponentials is not rescaled when the maximum moves from one block to the next": ((False, True), 0.1),
        "neither sum is rescaled when the maximum moves from one block to the next": ((True, True), 0.2),
        "the sum of values is that of the last block alone": (("last", False), 0.2),
        "the sum of exponentials is that of the last block alone": ((False, "last"), 0.2),
    }
)


def _ranks(places: Values, length: int) -> np.ndarray:
    """Return the rank of each entry."""
    found = np.zeros(length, dtype=int)
    for rank, of_rank in enumerate(places):
        found[of_rank] = rank
    return found


def _cut_rows(layout: Layout, results: Values) -> Values:
    """Return the rows of each rank of what is computed for all queries."""
    found = []
    for rank, result in enumerate(results):
        parts = dict(zip(layout.spec.results, result, strict=True)) if layout.spec.has_several_results else {"": result}
        own = []
        for name, y in parts.items():
            cut = layout.of_result(name)
            own.append(y if cut is None else take(y, cut.places(y.shape[cut.axis], layout.count)[rank], cut.axis))
        found.append(tuple(own) if layout.spec.has_several_results else own[0])
    return found


def _reordered(layout: Layout, named: Named, names: tuple[str, ...], keys: Values, order: Any) -> Any:
    places = np.concatenate([keys[i] for i in order])
    return call_right(layout.spec, {**named, **{name: take(named[name], places, -2) for name in names}})


def _unrescaled(layout: Layout, named: Named, of_row: np.ndarray, of_key: np.ndarray, wrong: tuple[Any, Any]) -> Any:
    """Return attention whose sums keep the maximum that was known at each step, as blocks of keys go around the ranks."""
    name, q, k, v = layout.spec.name, float64(named["q"]), float64(named["k"]), float64(named["v"])
    if layout.spec.name != "scaled_dot_product_attention":
        k, v = repeated_heads(name, q, k, v)
    if named.get("bias") is not None or named.get("sinks") is not None:
        raise NotImplementedError("a bias or sinks in a ring")
    scale = 1 / np.sqrt(q.shape[-1]) if named.get("scale") is None else named["scale"]
    n, m = len(of_row), len(of_key)
    seen = np.ones((n, m), dtype=bool) if named.get("mask") is None else np.asarray(named["mask"])
    seen = seen & (np.arange(n)[:, None] >= np.arange(m)) if named.get("is_causal") else seen
    scores = capped_scores(q, k, seen, scale, named.get("softcap"))
    step = (of_row[:, None] - of_key[None, :]) % layout.count  # at which a query meets a key
    tops = [
        finite_or_zero(exact(np.max(np.where(step <= at, scores, -np.inf), axis=-1, keepdims=True, initial=-np.inf)))
        for at in range(layout.count)
    ]
    kept = tops[-1]
    for at in range(layout.count - 1):
        kept = np.where(step == at, tops[at], kept)
    at_step, at_end = np.exp(scores - kept), np.exp(scores - tops[-1])
    is_last = step == np.max(step, axis=-1, keepdims=True, initial=0)
    terms = {False: at_end, True: at_step, "last": np.where(is_last, at_end, 0.0)}
    total = np.sum(terms[wrong[1]], axis=-1, keepdims=True)
    out = np.matmul(terms[wrong[0]] / total, v)
    return (out, (tops[-1] + np.log(total))[..., 0]) if layout.spec.has_several_results else out
