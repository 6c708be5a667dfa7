"""Attention of which each rank has some heads of queries, and all heads of keys and values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...operator.alternative import Named, call_right, take
from ..layout import Layout
from ..steps import Steps, Values
from . import Equations

EQUATIONS = Equations()


@EQUATIONS.add("grouped_query_attention", q=-3, k=None, v=None, result=-3)
def grouped_query_attention(steps: Steps, layout: Layout, named: Named, own: list[Named]) -> Values:
    heads, groups = layout.places("q", named["q"]), named["k"].shape[-3]
    group = named["q"].shape[-3] // groups
    source = steps.one_of(
        {
            "the heads of keys and values are counted from the first of a rank's own heads": (
                lambda i: (i - i[:1].sum()) // group,
                0.1,
            ),
            "a rank's own heads share out all heads of keys and values": (
                lambda i: np.arange(len(i)) * groups // max(len(i), 1),
                0.2,
            ),
            "the heads of queries that share one are counted among the rank's own": (
                lambda i: i // max(len(i) // groups, 1),
                0.2,
            ),
            "query head i reads key/value head i modulo h_kv": (lambda i: i % groups, 0.1),
        }
    )
    masked = steps.one_of({"every rank has the mask of the first heads": (True, 0.1)})
    found = []
    for mine, a in zip(heads, own, strict=True):
        if not len(mine):
            found.append(_no_heads(layout, named))
            continue
        places = np.clip(source(mine) if source else mine // group, 0, groups - 1)
        changed = {**a, "k": take(named["k"], places, -3), "v": take(named["v"], places, -3)}
        mask = named.get("mask")
        if mask is not None and mask.ndim > 2 and mask.shape[-3] > 1:
            changed["mask"] = take(mask, np.arange(len(mine)) if masked else mine, -3)
        if named.get("sinks") is not None:
            changed["sinks"] = take(named["sinks"], mine, -1)
        found.append(call_right(layout.spec, changed))
    return found


def _no_heads(layout: Layout, named: Named) -> Any:
    """Return the result of a rank that has no heads."""
    group = named["q"].shape[-3] // named["k"].shape[-3]
    one = {name: take(named[name], np.arange(size), -3) for name, size in (("q", group), ("k", 1), ("v", 1))}
    without = {name: x for name, x in named.items() if name not in ("mask", "sinks")}
    return take(call_right(layout.spec, {**without, **one}), np.arange(0), -3)
