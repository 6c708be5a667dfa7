"""The same values stored in other ways: views for some of the arguments alone, and one array for two arguments."""

from __future__ import annotations

from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np

from ..calls.call import Call
from ..calls.operation import Operation
from ..specification.formats import is_floating

WHICH = MappingProxyType({"all": (True, True), "the first alone": (True, False), "all but the first": (False, True)})


def lay_out_some(operation: Operation, call: Call, layout: str, which: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return native arguments of which all, the first or all others have this layout. The rest is contiguous."""
    (first, *others), keywords = operation.native(call, layout)
    if which == "all":
        return (first, *others), keywords
    (plain, *plain_others), plain_keywords = operation.native(call)
    call.layout = layout
    of_first, of_others = WHICH[which]
    return (first if of_first else plain, *(others if of_others else plain_others)), keywords if of_others else plain_keywords


def pairs_of_one_shape(operation: Operation, call: Call) -> list[tuple[int, int]]:
    """Return the places of any two floating arguments that have the same shape and the same dtype."""
    arrays, names = call.arguments, operation.spec.positional
    return [
        (i, j)
        for i, j in combinations(range(len(arrays)), 2)
        if is_floating(arrays[i]) and is_floating(arrays[j]) and np.shape(arrays[i]) == np.shape(arrays[j]) and np.ndim(arrays[i])
        if operation.argument_format(names[i]) == operation.argument_format(names[j])
        if not {names[i], names[j]} & set(operation.spec.declaration.updates)
    ]


def give_twice(operation: Operation, call: Call, pair: tuple[int, int]) -> tuple[Call, tuple[tuple[Any, ...], dict[str, Any]]]:
    """Return the call whose second argument of the pair equals the first, and native arguments in which both are one array."""
    one, other = pair
    arguments = list(call.arguments)
    arguments[other] = arguments[one]
    equal = operation.call(*arguments, **call.keywords)
    positional, keywords = operation.native(equal)
    native = list(positional)
    native[other] = native[one]
    return equal, (tuple(native), keywords)
