"""Calls like a known one, with other values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...calls.call import Call
from ...calls.in_domain import dimension_sizes
from ..wish import Wish
from .asking import Answer, Ask
from .condition import Condition
from .facts.of_calls.arguments import list_given_weights, list_optional
from .facts.of_calls.values import HoldsMinusInfinity, HoldsNaN, IsFinite
from .facts.of_elements import ElementFact
from .fills import MAX_ORDINARY, WITH_INFINITY, WITH_NAN, Fill, fill_equal_rows, fill_often_with
from .values import is_integer, is_number


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
        given={name: named.get(name) is not None and not _is_default(call, name) for name in list_optional(call)}
        | list_given_weights(call),
        batch=None if first is None else _batch_of(first, core, call.keywords.get("axis", -1)),
        layout=call.layout,
        fill=_strange_fill(answer),
    )


def name_first(call: Call) -> str:
    """Return the name of the first argument that is no cotangent, "" if there is none. Of a gradient it is the operation's."""
    return next((name for name in call.named if name != "cotangent"), "")


def fill_near(condition: Condition, first: str) -> Fill | None:
    """Return a function that draws values on both sides of a threshold and of both signs, or often with the value of a condition.

    None if the condition has no number, or is not about the first argument.
    """
    fact, values = condition.fact, condition.values
    assert isinstance(fact, ElementFact)
    if fact.is_flag:
        return fact.fill_some(first)
    if not values or not is_number(values[0]):
        return None
    if condition.kind == "is":
        return fill_often_with(float(values[0])) if fact.argument == first else None
    make, limit = fact.fill_between(first) if condition.kind in ("above", "below") else None, abs(float(values[0]))
    return make(-2 * limit - 1, 2 * limit + 1) if make and limit < MAX_ORDINARY else None


def _strange_fill(answer: Answer) -> Fill | None:
    """Return what fills arrays as strangely as those of the answer, None if its values are finite and differ."""
    if answer.call.layout == "broadcast":
        return fill_equal_rows
    if any(isinstance(fact, HoldsNaN) and value for fact, value in answer.facts.items()):
        return WITH_NAN
    infinite = any(isinstance(fact, IsFinite) and not value for fact, value in answer.facts.items())
    minus = any(isinstance(fact, HoldsMinusInfinity) and value for fact, value in answer.facts.items())
    return WITH_INFINITY if infinite and not minus else None


def _batch_of(first: np.ndarray, core: int, axis: int) -> tuple[int, ...]:
    """Return the shape of the batch: what is left of the first array without its own dimensions, or without its axis."""
    shape = list(first.shape)
    if core == 1 and shape:
        del shape[axis]
        return tuple(shape)
    return tuple(shape[: max(len(shape) - core, 0)])


def _is_default(call: Call, name: str) -> bool:
    value: Any = call.named.get(name)
    return not hasattr(value, "shape") and bool(value == call.operation.spec.parameters[name].default)
