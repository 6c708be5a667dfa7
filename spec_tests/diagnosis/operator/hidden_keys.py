"""Attention that sets what a mask hides to 0 and attends to it, where the mask should keep it out of the softmax."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ...calls.call import Call
from ...specification.registry import Specification
from .alternative import Alternative, Named, call_right

COST = 0.5
WAYS = (
    (("k", "v"), "keys and values that the mask hides from every query are set to 0, and attended to"),
    (("k",), "keys that the mask hides from every query are set to 0, and attended to"),
    (("v",), "values that the mask hides from every query are set to 0, and their keys attended to"),
)


def list_hidden_keys(call: Call) -> Iterator[Alternative]:
    """Yield the right answers without the mask to keys or values that are 0 where it hides them; nothing without a mask."""
    spec, mask = call.operation.spec, call.named.get("mask")
    if spec.is_gradient or not {"q", "k", "v"} <= spec.parameters.keys() or not isinstance(mask, np.ndarray):
        return
    if not _seen_by_any(mask).all():
        for names, said in WAYS:
            yield Alternative(spec.name, said, partial(_compute, names=names), COST)


def _seen_by_any(mask: Any) -> np.ndarray:
    """Return which keys a query of any head and batch entry sees, as a column."""
    seen = np.asarray(mask, dtype=bool)
    return np.asarray(seen.any(axis=tuple(range(seen.ndim - 1))))[:, None]


def _compute(spec: Specification, named: Named, names: tuple[str, ...]) -> Any:
    if (mask := named.get("mask")) is None:
        return call_right(spec, named)
    seen = _seen_by_any(mask)
    return call_right(spec, {**named, "mask": None, **{name: np.where(seen, named[name], 0.0) for name in names}})
