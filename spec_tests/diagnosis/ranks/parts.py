"""Parts of arguments that ranks mistake: they are joined in another order, left out on some ranks, or exchanged with others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from ...calls.asked_rank import RANK
from ...calls.call import Call
from ...specification.registry import Specification
from ..operator.alternative import Alternative, Named, call_right, take
from .layout import Layout


def list_mistaken_parts(layout: Layout, calls: Sequence[Call]) -> Iterator[Alternative]:
    """Yield what comes of parts of the arguments of some call that ranks mistake."""
    if layout.spec.is_gradient:
        return
    given = {name for call in calls for name, x in call.named.items() if isinstance(x, np.ndarray)}
    names = [name for name in layout.spec.positional if name in given and layout.of_argument(name) is not None]
    for name in names:
        yield from _list_orders(layout, name)
        words = f"the parts of {name} of every rank but the first are left out, as if they were 0"
        yield Alternative(layout.spec.name, words, partial(_leave_out, layout=layout, name=name), 0.5)
    for one, other in combinations(names, 2):
        words = f"the parts of {one} and {other} are exchanged on every rank but the first"
        yield Alternative(layout.spec.name, words, partial(_exchange, layout=layout, one=one, other=other), 0.5)


def _list_orders(layout: Layout, name: str) -> Iterator[Alternative]:
    """Yield the orders in which the parts of one argument may be joined or dealt out by mistake."""
    for said, order in (
        ("in the reverse order of the ranks", lambda count, rank: range(count)[::-1]),
        ("moved on by one rank", lambda count, rank: [(i + 1) % count for i in range(count)]),
        ("moved back by one rank", lambda count, rank: [(i - 1) % count for i in range(count)]),
        ("those of the rank itself, for all", lambda count, rank: [rank] * count),
    ):
        compute = partial(_reorder, layout=layout, name=name, order=order)
        yield Alternative(layout.spec.name, f"the parts of {name} are {said}", compute, 0.5)


def _reorder(spec: Specification, named: Named, *, layout: Layout, name: str, order: Any) -> Any:
    x, axis = named.get(name), layout.axis_of(name)
    if x is None or axis is None:
        return call_right(spec, named)
    places = layout.places(name, x)
    joined = np.concatenate([places[i] for i in order(layout.count, RANK.get())])
    return call_right(spec, {**named, name: take(x, joined, axis)})


def _is_of_first(layout: Layout, name: str, x: Any) -> np.ndarray:
    """Return which entries of an argument rank 0 has, as an array that broadcasts to it."""
    axis = layout.axis_of(name)
    assert axis is not None
    held = np.zeros(x.shape[axis], dtype=bool)
    held[layout.places(name, x)[0]] = True
    return held.reshape(-1, *(1,) * (-axis - 1))


def _leave_out(spec: Specification, named: Named, *, layout: Layout, name: str) -> Any:
    x = named.get(name)
    changed = {} if x is None else {name: np.where(_is_of_first(layout, name, x), x, 0)}
    return call_right(spec, {**named, **changed})


def _exchange(spec: Specification, named: Named, *, layout: Layout, one: str, other: str) -> Any:
    x, y = named.get(one), named.get(other)
    if x is None or y is None:
        return call_right(spec, named)
    if x.shape != y.shape or layout.axis_of(one) != layout.axis_of(other):
        raise ValueError(f"{one} and {other} differ in shape, or in their cuts")
    own = _is_of_first(layout, one, x)
    return call_right(spec, {**named, one: np.where(own, x, y), other: np.where(own, y, x)})
