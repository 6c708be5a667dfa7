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
            "positions are counted through all ranks, whatever is given": (
                lambda p, lengths, r: sum(lengths[:r]) + np.arange(p.shape[-1]),
                0.2,
            ),
        }
    )
    lengths = [a["x"].shape[-2] for a in own]
    changed = [
        {**a, "positions": anew(np.asarray(a["positions"]), lengths, r) if anew else a["positions"]} for r, a in enumerate(own)
    ]
    return [call_right(layout.spec, a) for a in changed]


@EQUATIONS.add("scaled_dot_product_attention", "attention_with_lse", "grouped_query_attention", q=-2, k=-2, v=-2, result=-2)
def attention(steps: Steps, layout: Layout, named: Named, own: list[Named]) -> Values:
    n, m = named["q"].shape[-2], named["k"].shape[-2]
    rows, keys = layout.places("q", named["q"]), layout.places("k", named["k"])
    of_row, of_key = _ranks(rows, n), _ranks(keys, m)
    changed, causal = dict(named), bool(named.get("is_causal"))
    kept = steps.one_of(BLOCKS)
    if kept:
        given = np.ones((n, m), dtype=bool) if named.get("mask") is None else np.asarray(named["mask"])
        changed["mask"] = given & kept(of_row[:, None], of_key[None, :], layout.count)
    causality = steps.one_of(CAUSAL)
    if causality and causal:
        seen = causality(_Blocks(rows, keys, of_row, of_key))
        changed["mask"] = seen if changed.get("mask") is None else np.asarray(changed["mask"]) & seen
        changed["is_causal"] = False
    masked = steps.one_of({"every rank has the mask of the first queries": (True, 0.1)})
    mask = named.get("mask")
    if masked and mask is not None and mask.ndim > 1 and mask.shape[-2] == n:
        local = np.concatenate([np.arange(len(of_rank)) for of_rank in rows])[np.argsort(np.concatenate(rows))]
        changed["mask"] = take(mask, local, -2)
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
    unscaled = steps.one_of(RESCALED)
    if unscaled:
        return _cut_rows(layout, [_unrescaled(layout, changed, of_row, of_key, unscaled)] * layout.count)
    return _cut_rows(layout, [call_right(layout.spec, changed)] * layout.count)


class _Blocks:
    """The blocks of queries and keys of the ranks, and what a causal mask allows."""

    def __init__(self, rows: Values, keys: Values, of_row: np.ndarray, of_key: np.ndarray):
        n = len(of_row)
        self.same = of_row[:, None] == of_key[None, :]
        self.before = of_key[None, :] < of_row[:, None]
        self.right = np.arange(n)[:, None] >= np.arange(len(of_key))[None, :]
        self.local_row, self.local_key = (np.concatenate([np.arange(len(p)) for p in of])[_order(of)] for of in (rows, keys))
        self.row, self.key = np.arange(n), np.arange(len(of_key))
        starts = [int(p[0]) if len(p) else n for p in keys]
        moved = np.array([starts[(r + 1) % len(keys)] for r in of_key], dtype=int)
        self.moved_key = moved + self.local_key


def _order(places: Values) -> np.ndarray:
    return np.argsort(np.concatenate(places))


CAUSAL: Mapping[str, tuple[Callable[[_Blocks], np.ndarray], float]] = MappingProxyType(
    {
        "the causal mask begins anew on each rank: its first query sees the first key alone": (
            lambda b: b.local_row[:, None] >= b.key[None, :],
            0.1,
        ),
        "the causal mask is not applied to the keys of a query's own rank: its own block counts as full": (
            lambda b: b.right | b.same,
            0.1,
        ),
        "the causal mask is applied to the keys of a query's own rank alone: other blocks count as full": (
            lambda b: b.right | ~b.same,
            0.1,
        ),
        "the causal mask is applied within each block as in the rank's own": (
            lambda b: b.local_row[:, None] >= b.local_key[None, :],
            0.2,
        ),
        "a query sees no keys of its own rank under the causal mask": (lambda b: b.right & ~b.same, 0.2),
        "a query sees no keys of other ranks under the causal mask": (lambda b: b.right & b.same, 0.2),
        "the causal mask leaves out a query's own key": (lambda b: b.row[:, None] > b.key[None, :], 0.2),
        "the causal mask takes each block of keys for that of the next rank": (
            lambda b: b.row[:, None] >= b.moved_key[None, :],
            0.2,
        ),
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


def _unrescaled(layout: Layout, named: Named, of_row: np.ndarray, of_key: np.ndarray, wrong: tuple[bool, bool]) -> Any:
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
    total = np.sum(at_step if wrong[1] else at_end, axis=-1, keepdims=True)
    out = np.matmul((at_step if wrong[0] else at_end) / total, v)
    return (out, (tops[-1] + np.log(total))[..., 0]) if layout.spec.has_several_results else out
