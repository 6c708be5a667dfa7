"""Calls made of a call: on one entry of its batch, on none, beside spoiled ones, or with other values and parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..calls.call import Call
from ..implementation.domain import BROADCAST
from ..inputs.draw import Draw
from ..specification.pytree import tree_map

BATCHED = ("about:core", "about:not unbatched")  # the operations that a statement about the batch concerns


def _batched(call: Call) -> dict[str, int]:
    """The number of batch dimensions of each array argument that may have some."""
    return {
        name: max(np.ndim(call.named[name]) - core, 0)
        for name, core in call.operation.spec.core.items()
        if isinstance(call.named.get(name), np.ndarray)
    }


def batch_shape(call: Call) -> tuple[int, ...]:
    return np.broadcast_shapes(*(np.shape(call.named[name])[:rank] for name, rank in _batched(call).items()))


def stacked(call: Call) -> tuple[str, ...]:
    """The arguments that grow where the first axis of the batch does; the others are broadcast along it."""
    whole = batch_shape(call)
    return tuple(n for n, rank in _batched(call).items() if rank == len(whole) and call.named[n].shape[0] == whole[0])


def indexed(call: Call, draw: Draw) -> tuple[int, ...]:
    """The index of some entry of the batch, often the last."""
    last = draw.one_of((True, False))
    return tuple(dim - 1 if last else draw.integer(0, dim - 1) for dim in batch_shape(call))


def portion(call: Call, name: str, index: tuple[int, ...]) -> tuple[int, ...]:
    """Where an argument, which may be broadcast, holds its part of the entry."""
    rank = _batched(call)[name]
    return tuple(i if size > 1 else 0 for i, size in zip(index[len(index) - rank :], call.named[name].shape, strict=False))


def _rebuilt(call: Call, parts: dict[str, Any]) -> Call:
    positional = call.operation.spec.positional[: len(call.arguments)]
    arguments = [parts.get(name, value) for name, value in zip(positional, call.arguments, strict=True)]
    return call.operation.call(*arguments, **{name: parts.get(name, value) for name, value in call.keywords.items()})


def alone(call: Call, index: tuple[int, ...], *, empty: bool = False) -> Call:
    """The call on one entry of the batch, of the same rank; or, with `empty`, on none of the first axis."""
    parts = {}
    for name, rank in _batched(call).items():
        x = call.named[name]
        place = index[len(index) - rank :] if rank else ()
        if not empty:
            at = (slice(i, i + 1) if size > 1 else slice(0, 1) for i, size in zip(place, x.shape, strict=False))
            parts[name] = x[tuple(at)]
        elif rank == len(index) and x.shape[0] == len(np.empty(batch_shape(call))):
            parts[name] = x[:0]
        elif rank == len(index):
            parts[name] = x  # broadcast along the empty axis
    return _rebuilt(call, parts)


def poisoned(call: Call, index: tuple[int, ...], poison: float) -> Call:
    """The same call, every other entry of the batch filled with NaN or infinities."""
    parts = {}
    for name, rank in _batched(call).items():
        x = call.named[name]
        if not rank or x.dtype.kind != "f":
            continue
        place = portion(call, name, index)
        spoiled = np.full(x.shape, poison)
        spoiled[place] = x[place]
        parts[name] = spoiled
    return _rebuilt(call, parts)


def in_a_batch(call: Call) -> Call:
    """The call, its axis moved last, if it has one: before it is the batch. Where that has no dimensions, two of the call."""
    if "axis" in call.keywords:
        (x,) = call.arguments
        call = call.operation.call(np.moveaxis(x, call.keywords["axis"], -1), **{**call.keywords, "axis": -1})
    if batch_shape(call):
        return call
    return _rebuilt(call, {name: np.stack(2 * [call.named[name]]) for name in _batched(call) if name not in BROADCAST})


PARAMETERS = ("theta", "eps", "scale")
CHOICES = {
    "layout": ("interleaved", "half"), "approximate": ("none", "tanh"), "activation": ("relu", "gelu"), "norm": ("pre", "post"),
}  # fmt: skip


def among_others(draw: Draw, x: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
    """A token of x, and x twice with that token alone unchanged: the others in one are opposite to those in the other."""
    z, kept = draw.vectors(x.shape), tuple(draw.integer(0, n - 1) for n in x.shape[:-1])
    one, other = z.copy(), -z
    one[kept] = other[kept] = x[kept]
    return kept, one, other


def changeable(call: Call) -> tuple[str, ...]:
    """The arguments of which another value can be had without knowing more of the operation."""
    domain, accepts = call.operation.domain, call.operation.accepts

    def configures(name: str, value: Any) -> bool:
        known = name == "window" or (name in PARAMETERS and isinstance(value, float)) or (name == "is_causal" and value)
        return (known or value in CHOICES.get(name, ())) and name not in domain and accepts(name)

    return tuple(
        name
        for name, value in call.named.items()
        if (name != "positions" or "positions" not in domain)
        and (isinstance(value, np.ndarray | dict) or configures(name, value))
    )


def changed(call: Call, only: str | None = None, place: float | None = None) -> Call:
    """The same shapes with another value of one argument, or of all: what a cache keyed by shape confuses.
    place: of the one element of each array that changes, from 0, the first, to 1; None: every element does."""
    return _rebuilt(call, {name: _other(call, name, place) for name in changeable(call) if only in (None, name)})


def _other(call: Call, name: str, place: float | None) -> Any:
    value, hold = call.named[name], call.operation.storage.round
    if name in CHOICES:
        return next(choice for choice in CHOICES[name] if choice != value)
    if isinstance(value, bool):
        return False
    if isinstance(value, int | float):
        return 2 * value if value else 0.5 if isinstance(value, float) else 1

    def other(x: Any) -> Any:
        if not isinstance(x, np.ndarray):
            return x
        y = _other_array(name, x, hold)
        here = np.arange(x.size).reshape(x.shape) == int((place or 0.0) * x.size)
        return y if place is None else np.where(here, y, x)

    return tree_map(other, value)


def _other_array(name: str, x: np.ndarray, hold: Callable[[Any], np.ndarray]) -> np.ndarray:
    if x.dtype.kind == "f":
        y, finite = x.copy(), np.isfinite(x)
        y[finite] = hold(-0.5 * np.roll(x[finite], 1))
        return y
    if x.dtype.kind == "b":
        return np.ones_like(x)
    return np.flip(x) + 1 if name == "positions" else np.flip(x)
