"""Calls derived from a call: on one entry of its batch, on an empty batch, beside spoiled entries, or with other values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..calls.call import Call
from ..implementation.domain import broadcasts
from ..inputs.draw import Draw
from ..specification.formats import INTEGER, is_floating
from ..specification.narrow_formats import NarrowFormat
from ..specification.pytree import tree_map
from ..specification.registry import core_of, result_ranks

BATCHED = ("about:core", "about:not unbatched")  # what a law about the batch needs of an operation


def _count_batch_dims(call: Call) -> dict[str, int]:
    """Return the number of batch dimensions of each array argument that may have some."""
    return {
        name: max(np.ndim(call.named[name]) - core, 0)
        for name, core in core_of(call.operation.spec, call.named).items()
        if isinstance(call.named.get(name), np.ndarray)
    }


def batch_shape(call: Call) -> tuple[int, ...]:
    """Return the shape of the batch, to which the batch dimensions of all arguments are broadcast."""
    return np.broadcast_shapes(*(np.shape(call.named[name])[:rank] for name, rank in _count_batch_dims(call).items()))


def stacked_arguments(call: Call) -> tuple[str, ...]:
    """Return the arguments that have the first axis of the batch. The others are broadcast along it."""
    whole = batch_shape(call)
    return tuple(n for n, rank in _count_batch_dims(call).items() if rank == len(whole) and call.named[n].shape[0] == whole[0])


def draw_entry(call: Call, draw: Draw) -> tuple[int, ...]:
    """Draw the index of an entry of the batch, often the last."""
    last = draw.one_of((True, False))
    return tuple(dim - 1 if last else draw.integer(0, dim - 1) for dim in batch_shape(call))


def locate_entry(call: Call, name: str, index: tuple[int, ...]) -> tuple[int, ...]:
    """Return the index of the entry in an argument, which may be broadcast along the batch."""
    rank = _count_batch_dims(call)[name]
    return tuple(i if size > 1 else 0 for i, size in zip(index[len(index) - rank :], call.named[name].shape, strict=False))


def has_entry(call: Call, name: str, result: Any, index: tuple[int, ...]) -> bool:
    """Whether a result has the entry of the batch as its own: one of several results may lack axes of the batch."""
    ranks = result_ranks(call.operation.spec)
    return name not in ranks or (
        result.ndim - ranks[name] == len(index) and all(size > i for i, size in zip(index, result.shape, strict=False))
    )


def take_entry(call: Call, name: str, result: Any, index: tuple[int, ...]) -> Any:
    """Return the entry of the batch in a result. One of several results may lack axes of the batch, or have one of size 1."""
    ranks = result_ranks(call.operation.spec)
    if name not in ranks:
        return result[index]
    rank = result.ndim - ranks[name]
    place = index[len(index) - rank :] if rank else ()
    return result[tuple(i if size > 1 else 0 for i, size in zip(place, result.shape, strict=False))]


def replace_arguments(call: Call, parts: dict[str, Any]) -> Call:
    """Return the call with other arguments in place of those named."""
    positional = call.operation.spec.positional[: len(call.arguments)]
    arguments = [parts.get(name, value) for name, value in zip(positional, call.arguments, strict=True)]
    return call.operation.call(*arguments, **{name: parts.get(name, value) for name, value in call.keywords.items()})


def isolate_entry(call: Call, index: tuple[int, ...], *, empty: bool = False) -> Call:
    """Return the call on one entry of the batch, of the same rank. With `empty`, the first axis of the batch has size 0."""
    parts = {}
    for name, rank in _count_batch_dims(call).items():
        x = call.named[name]
        place = index[len(index) - rank :] if rank else ()
        if not empty:
            at = (slice(i, i + 1) if size > 1 else slice(0, 1) for i, size in zip(place, x.shape, strict=False))
            parts[name] = x[tuple(at)]
        elif rank == len(index) and x.shape[0] == len(np.empty(batch_shape(call))):
            parts[name] = x[:0]
        elif rank == len(index):
            parts[name] = x  # broadcast along the empty axis
    return replace_arguments(call, parts)


def holds_nan(call: Call, name: str) -> bool:
    """Whether the format of a floating argument has NaN. Some formats of few bits have none."""
    f = call.operation.named_format(name, call.keywords)
    return not isinstance(f, NarrowFormat) or f.nan is not None


def poison_other_entries(call: Call, index: tuple[int, ...], poison: float) -> Call:
    """Return the call with every other entry of the batch filled with `poison`, NaN or an infinity."""
    parts = {}
    for name, rank in _count_batch_dims(call).items():
        x = call.named[name]
        checked = name in call.operation.spec.declaration.checked
        if checked or not rank or x.dtype.kind != "f" or not holds_nan(call, name):
            continue
        place = locate_entry(call, name, index)
        spoiled = np.full(x.shape, poison)
        spoiled[place] = x[place]
        parts[name] = spoiled
    return replace_arguments(call, parts)


def ensure_batch(call: Call) -> Call:
    """Return the call with its axis, if it has one, moved to the end, so that the batch is in front.

    Without batch dimensions, the call is stacked twice, if the operation takes a batch.
    """
    if call.operation.spec.declaration.unbatched:
        return call
    if "axis" in call.keywords:
        (x,) = call.arguments
        call = call.operation.call(np.moveaxis(x, call.keywords["axis"], -1), **{**call.keywords, "axis": -1})
    if batch_shape(call):
        return call
    spec = call.operation.spec
    return replace_arguments(
        call, {name: np.stack(2 * [call.named[name]]) for name in _count_batch_dims(call) if not broadcasts(spec, name)}
    )


def draw_call_with_equal_rows(draw: Draw) -> Call:
    """Draw a call whose arrays are constant along their first axis, so that they can be stored as broadcast views.

    That may be the axis that is reduced, so no row is left with nothing but −∞: what that gives is the subject of a level.
    """
    call = draw.call()

    def repeat(x: Any) -> Any:
        if not (is_floating(x) and x.ndim > 1 and len(x)):
            return x
        one = np.where(np.isneginf(x[:1]), np.max(x, axis=0, keepdims=True), x[:1])
        return np.repeat(one, len(x), axis=0)

    return call.operation.call(*map(repeat, call.arguments), **{k: repeat(v) for k, v in call.keywords.items()})


def set_argument_to_constant(draw: Draw, call: Call) -> Call:
    """Return the call, or one of whose arguments one is 0 or 1 throughout: code may return another argument as it is, then."""
    spec = call.operation.spec
    floating = [name for name, x in call.named.items() if is_floating(x) and name in spec.positional]
    names = [name for name in floating if name not in spec.declaration.positive]
    chooses = INTEGER in spec.results.values()  # equal logits leave the choice open
    if not names or chooses or not draw.one_of((False, False, True)):
        return call
    name, constant = draw.one_of(names), draw.one_of((0.0, 0.0, 1.0))
    return replace_arguments(call, {name: np.full(call.named[name].shape, constant)})


CHANGEABLE_FLOATS = ("theta", "eps", "scale")  # of any operation; an operation's own are in its `changeable`


def draw_other_tokens(draw: Draw, x: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
    """Choose a token of x. Return its index, and two arrays that have the same token there and others elsewhere.

    The other tokens of the second array are those of the first with the opposite sign.
    """
    z, kept = draw.vectors(x.shape), tuple(draw.integer(0, n - 1) for n in x.shape[:-1])
    one, other = z.copy(), -z
    one[kept] = other[kept] = x[kept]
    return kept, one, other


def changeable_arguments(call: Call) -> tuple[str, ...]:
    """Return the arguments that `change_arguments` can change, whatever the operation."""
    domain, accepts, spec = call.operation.domain, call.operation.accepts, call.operation.spec
    floats = (*CHANGEABLE_FLOATS, *spec.declaration.changeable)

    def configures(name: str, value: Any) -> bool:
        known = name == "window" or (name in floats and isinstance(value, float)) or (name == "is_causal" and value)
        return (known or value in spec.declaration.choices.get(name, ())) and name not in domain and accepts(name)

    return tuple(
        name
        for name, value in call.named.items()
        if (name != "positions" or "positions" not in domain)
        and name not in call.operation.spec.declaration.structure
        and (isinstance(value, np.ndarray | dict) or configures(name, value))
    )


def change_arguments(call: Call, only: str | None = None, place: float | None = None) -> Call:
    """Return a call of the same shapes with another value of one argument, or of all. A cache keyed by shape confuses the two.

    An argument that goes with the others in no other value keeps its own.
    place: changes a single element of each array, from 0, the first, to 1, the last. None changes every element.
    """
    go_together, changes = call.operation.spec.declaration.go_together, dict[str, Any]()
    for name in changeable_arguments(call):
        if only in (None, name):
            others = ({**changes, name: value} for value in _other_values(call, name, place))
            allowed = (x for x in others if go_together is None or go_together({**call.named, **x}))
            changes = next(allowed, changes)
    return replace_arguments(call, changes)


def _other_values(call: Call, name: str, place: float | None) -> Iterator[Any]:
    """Yield the values that an argument may take in place of its own, the first of which is taken that goes with the others."""
    value, hold = call.named[name], (call.operation.named_format(name, call.keywords) or call.operation.storage).round
    if choices := call.operation.spec.declaration.choices.get(name):
        yield from (choice for choice in choices if choice != value)
        return
    if isinstance(value, bool):
        yield False
        return
    if isinstance(value, int | float):
        yield 2 * value if value else 0.5 if isinstance(value, float) else 1
        return

    def other(x: Any, make: Callable[[np.ndarray], np.ndarray]) -> Any:
        if not isinstance(x, np.ndarray):
            return x
        y = make(x)
        here = np.arange(x.size).reshape(x.shape) == int((place or 0.0) * x.size)
        return y if place is None else np.where(here, y, x)

    positive = name in call.operation.spec.declaration.positive

    def make(x: np.ndarray) -> np.ndarray:
        return 2 * np.roll(x, 1) if positive and x.dtype.kind == "f" else _another_array(name, x, hold)

    yield tree_map(lambda x: other(x, make), value)
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":  # with the same signs, and smaller
        yield other(value, lambda x: hold(0.5 * np.roll(x, 1)))
        yield other(value, lambda x: hold(0.5 * x))


def _another_array(name: str, x: np.ndarray, hold: Callable[[Any], np.ndarray]) -> np.ndarray:
    if x.dtype.kind == "f":
        y, finite = x.copy(), np.isfinite(x)
        y[finite] = hold(-0.5 * np.roll(x[finite], 1))
        return y
    if x.dtype.kind == "b":
        return np.ones_like(x)
    return np.flip(x) + 1 if name == "positions" else np.flip(x)
