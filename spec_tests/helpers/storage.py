"""The same values stored in other ways: views for some of the arguments alone, and one array for two arguments."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from ..calls.call import Call
from ..calls.given import WHICH, Given
from ..calls.operation import Operation
from ..specification.formats import is_floating


def native_as_given(call: Call, layout: str, given: Given) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the native arguments of a call in this layout, given in this way. The call keeps both."""
    operation = call.operation
    positional, keywords = operation.native(call, layout)
    if given.which != "all":
        plain, plain_keywords = operation.native(call)
        of_first, of_others = WHICH[given.which]
        first = (positional if of_first else plain)[:1]
        positional, keywords = (*first, *(positional if of_others else plain)[1:]), keywords if of_others else plain_keywords
    named = dict(zip(operation.spec.positional, positional, strict=False))
    if given.one_array:
        one, other = given.one_array
        named[other] = named[one]
    if given.copies > 1:
        tile = operation.backend.framework.tile
        named = {name: tile(x, given.copies) if name in given.stacked else x for name, x in named.items()}
        keywords = {name: tile(x, given.copies) if name in given.stacked else x for name, x in keywords.items()}
    call.layout, call.given = layout, given
    return tuple(named.values()), keywords


def lay_out_some(operation: Operation, call: Call, layout: str, which: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return native arguments of which all, the first or all others have this layout. The rest is contiguous."""
    return native_as_given(call, layout, Given(which))


def pairs_of_one_shape(operation: Operation, call: Call) -> list[tuple[int, int]]:
    """Return the places of any two floating arguments that have the same shape and the same dtype."""
    arrays, names, axes = call.arguments, operation.spec.positional, operation.argument_order.axes
    return [
        (i, j)
        for i, j in combinations(range(len(arrays)), 2)
        if is_floating(arrays[i]) and is_floating(arrays[j]) and np.shape(arrays[i]) == np.shape(arrays[j]) and np.ndim(arrays[i])
        if operation.argument_format(names[i], call.keywords) == operation.argument_format(names[j], call.keywords)
        if axes.get(names[i]) == axes.get(names[j])
        if not {names[i], names[j]} & {*operation.spec.declaration.updates, *operation.spec.declaration.positive}
    ]


def give_twice(operation: Operation, call: Call, pair: tuple[int, int]) -> tuple[Call, tuple[tuple[Any, ...], dict[str, Any]]]:
    """Return the call whose second argument of the pair equals the first, and native arguments in which both are one array."""
    one, other = pair
    arguments = list(call.arguments)
    arguments[other] = arguments[one]
    equal = operation.call(*arguments, **call.keywords)
    names = operation.spec.positional
    return equal, native_as_given(equal, "contiguous", Given(one_array=(names[one], names[other])))
