"""Calls like a known one, with another value of one fact."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..calls.in_domain import dimension_sizes
from .asking import Answer, Ask, Wish
from .condition import is_integer, is_number
from .region_axis import AXIS_FACTS, find_axis
from .region_facts import BATCH_ENTRIES, ELEMENTS, TIMES, WITH_OPTIONS, list_given_weights
from .region_fills import LARGEST_OF_CALL, MAX_ORDINARY, STRANGE_FILLS, Fill, fill_equal_rows, fill_up_to
from .region_products import change_elements, change_product


def wish_like(ask: Ask, answer: Answer) -> Wish:
    """Return the wish for a call with the sizes and options of an answered one, and other values."""
    call = answer.call
    spec, named = call.operation.spec, call.named
    first = next((x for x in named.values() if isinstance(x, np.ndarray) and x is not named.get("cotangent")), None)
    core = next((n for name, n in spec.core.items() if named.get(name) is first), next(iter(spec.core.values()), 0)) or 1
    plain = {
        name: x for name, x in call.keywords.items() if name in spec.parameters and not hasattr(x, "shape") and name != "wrt"
    }
    sizes = {name: size for name, size in {**dimension_sizes(call), **plain}.items() if ask.largest(name) and is_integer(size)}
    return Wish(
        sizes={name: int(size) for name, size in sizes.items()},
        keywords={name: x for name, x in plain.items() if name not in sizes and not isinstance(x, dict | list)},
        given={name: named.get(name) is not None and not _is_default(call, name) for name in _list_optional(answer)}
        | list_given_weights(call),
        batch=None if first is None else _batch_of(first, core, call.keywords.get("axis", -1)),
        layout=call.layout,
        fill=_strange_fill(answer),
    )


def fill_rows(wish: Wish, fill: Fill) -> Wish:
    """Return the wish with ordinary values that lie along the last axis, which is the one that an `axis` names then."""
    return wish.but(fill=fill, is_ordinary=True, keywords={"axis": -1} if "axis" in wish.keywords else {})


def _strange_fill(answer: Answer) -> Fill | None:
    """Return what fills arrays as strangely as those of the answer, None if its values are finite and differ."""
    if answer.call.layout == "broadcast":
        return fill_equal_rows
    if any(name.startswith("NaN in ") and value for name, value in answer.facts.items()):
        return STRANGE_FILLS[0]
    infinite = any(name.endswith(" is finite") and not value for name, value in answer.facts.items())
    minus = any(name.startswith("−∞ in ") and value for name, value in answer.facts.items())
    return STRANGE_FILLS[1] if infinite and not minus else None


def _batch_of(first: np.ndarray, core: int, axis: int) -> tuple[int, ...]:
    """Return the shape of the batch: what is left of the first array without its own dimensions, or without its axis."""
    shape = list(first.shape)
    if core == 1 and shape:
        del shape[axis]
        return tuple(shape)
    return tuple(shape[: max(len(shape) - core, 0)])


def _list_optional(answer: Answer) -> list[str]:
    parameters = answer.call.operation.spec.parameters
    return [name for name, p in parameters.items() if p.default is not p.empty and answer.call.operation.accepts(name)]


def _is_default(call: Any, name: str) -> bool:
    value = call.named.get(name)
    return not hasattr(value, "shape") and value == call.operation.spec.parameters[name].default


def change(ask: Ask, wish: Wish, answer: Answer, fact: str, value: Any) -> Wish | None:  # noqa: C901 - one case for each kind of fact
    """Return the wish with another value of one fact, None if the fact cannot be chosen. `answer` is a call like the wish."""
    parameters = answer.call.operation.spec.parameters
    if fact == WITH_OPTIONS:
        names = _list_optional(answer)
        return wish.but(given=dict.fromkeys(names, False) if not value else {names[0]: True} if names else {})
    if fact.startswith("with "):
        return wish.but(given={fact.removeprefix("with "): bool(value)})
    if fact in parameters and not ask.largest(fact):
        given = {fact: value != parameters[fact].default} if fact in _list_optional(answer) else {}
        return wish.but(keywords={fact: value}, given=given)
    if fact == "storage":
        return wish.but(layout=value, fill=fill_equal_rows if value == "broadcast" else wish.fill)
    if fact == "empty":
        return wish.but(batch=(0, *(wish.batch or ())[1:])) if value else wish
    if fact == "batch_dims":
        return wish.but(batch=(2, 3, 2, 1)[:value]) if value <= 4 else None
    if fact == BATCH_ENTRIES:
        return wish.but(batch=(int(value),))
    if fact == "first batch axis":
        return wish.but(batch=(int(value), *(wish.batch or ())[1:]))
    if fact in AXIS_FACTS:
        found = find_axis(wish.batch, wish.keywords["axis"], fact, value) if wish.batch is not None else None
        return found and wish.but(batch=found[0], keywords={"axis": found[1]})
    if fact.endswith(" is finite") or fact.startswith("NaN in "):
        return wish.but(fill=STRANGE_FILLS[0] if value == fact.startswith("NaN") else None)
    if fact.startswith("rows of "):
        rows = [name for name, size in wish.sizes.items() if answer.call.value.shape[-2:-1] == (size,)]
        return wish.but(sizes=dict.fromkeys(rows[:1], int(value)), given={fact.removeprefix("rows of "): True})
    if fact == "a square result":
        return _make_square(wish, answer) if value else wish
    if fact.startswith(LARGEST_OF_CALL):
        return wish.but(fill=fill_up_to(abs(value), np.sign(value)), is_ordinary=abs(value) < MAX_ORDINARY)
    if fact == ELEMENTS:
        return change_elements(ask, wish, answer, int(value))
    one, _, other = fact.partition(TIMES)
    if other:
        return change_product(ask, wish, one, other, int(value))
    one, _, other = fact.partition(" = ")
    if other:
        return _equate_sizes(wish, one, other, are_equal=bool(value))
    one, _, other = fact.partition(" > ")
    if other:
        return _order_sizes(ask, wish, one, other, is_larger=bool(value))
    one, _, shared = fact.partition(" / ")
    if shared:
        return wish.but(sizes={one: int(value) * wish.sizes[shared]}) if wish.sizes.get(shared) else None
    if ask.largest(fact) and is_number(value):
        return wish.but(sizes={fact: int(value)})
    return None


def _equate_sizes(wish: Wish, one: str, other: str, *, are_equal: bool) -> Wish | None:
    """Return the wish with two equal sizes, or with sizes that differ by 1.

    The second may be the number of batch entries, or a product of sizes: then the first is changed.
    """
    size = wish.sizes.get(one)
    factors = other.split() if other != BATCH_ENTRIES else []
    if len(factors) > 1:
        product = math.prod(wish.sizes.get(factor, 0) for factor in factors)
        return wish.but(sizes={one: product + (not are_equal)}) if product else None
    if size is None:
        return None
    wanted = size if are_equal else size + 1
    return wish.but(batch=(wanted,)) if other == BATCH_ENTRIES else wish.but(sizes={other: wanted})


def _order_sizes(ask: Ask, wish: Wish, one: str, other: str, *, is_larger: bool) -> Wish | None:
    """Return the wish with one size larger than another, or not larger. Either may be an option, which is left as it is."""
    if isinstance(number := wish.keywords.get(other), int):
        wanted = number + 1 if is_larger else number
        return wish.but(sizes={one: wanted}) if 0 < wanted <= ask.largest(one) else None
    if isinstance(number := wish.keywords.get(one), int):
        wanted = number - 1 if is_larger else number
        return wish.but(sizes={other: wanted}) if 0 < wanted <= ask.largest(other) else None
    entries = math.prod(wish.batch) if wish.batch is not None else None
    size = wish.sizes.get(other, entries if other == BATCH_ENTRIES else None)
    if size is None:
        return None
    wanted = size + 1 + size // 2 if is_larger else max(size - 1, 1)
    if one == BATCH_ENTRIES:
        return wish.but(batch=(wanted,))
    return wish.but(sizes={one: wanted}) if wanted <= ask.largest(one) else None


def _make_square(wish: Wish, answer: Answer) -> Wish | None:
    """Return the wish with the last two axes of the result equal: two dimensions, or a dimension and the batch."""
    shape = answer.call.value.shape
    names = [name for name, size in wish.sizes.items() if shape and size == shape[-1]]
    if wish.batch and len(wish.batch) == len(shape) >= 2:  # the axis is reduced, and the batch is the result
        return wish.but(batch=(*wish.batch[:-1], wish.batch[-2]))
    if wish.batch and names and len(wish.batch) == len(shape) - 1:
        return wish.but(batch=(*wish.batch[:-1], wish.sizes[names[-1]]))
    rows = [name for name, size in wish.sizes.items() if len(shape) > 1 and size == shape[-2] and name not in names]
    return wish.but(sizes={rows[0]: wish.sizes[names[-1]]}) if rows and names else None
