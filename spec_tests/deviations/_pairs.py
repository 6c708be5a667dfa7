"""Two known bugs at once: the one is put inside the other.

A deviation replaces something: its operation, a part of it, or steps of its equation. In a pair of them, what the inner one
replaces is replaced wherever the outer one computes it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, wraps
from typing import Any

from ..specification.composition import parts_of
from ..specification.formats import FORMATS
from ..specification.registry import specification
from ._catalogue import Deviation, put_inside
from ._oracle_backend import prepare

Equation = Callable[..., Any]
LOOKED_UP_IN = ("reference_numpy.", "spec_tests.deviations.")  # modules whose equations look functions up by name


def join(outer: Deviation, inner: Deviation) -> Deviation:
    """Return the deviation that has both bugs, the inner one wherever the outer one computes what that replaces."""
    if outer.part and inner.part and outer.part.operation == inner.part.operation:
        return put_inside(outer.operation, join(outer.part, inner.part))
    reference = specification(outer.operation).reference
    instead = _replaced(inner)
    replaced = {function: _outside(other, instead) for function, other in instead.items()}
    inner_alone = wraps(reference)(_outside(_take_all_options(inner), instead))
    of_outer = prepare(outer.operation, outer.function, FORMATS["float64"], inner_alone)

    @wraps(reference)
    def equation(*arguments: Any, **keywords: Any) -> Any:
        with _put(replaced):
            return of_outer(*arguments, **keywords)

    equation.__name__ = f"{outer.name} with {inner.name}".replace("-", "_")
    equation.__doc__ = f"{outer.what}; and {inner.what}."
    dtypes = tuple(dtype for dtype in outer.dtypes if dtype in inner.dtypes)
    return replace(outer, function=equation, dtypes=dtypes, caught_by=(f"{outer.operation}.reference",), meant="", part=None)


def find_counterpart(pair: Deviation, operation: str) -> Deviation | None:
    """Return the same two bugs in an operation, which may be one that the pair's is a part of; None if it has not both."""
    root = pair.part or pair
    if operation == pair.operation:
        return pair
    if operation == root.operation:
        return root
    return put_inside(operation, root) if root.operation in parts_of(operation) else None


def _replaced(deviation: Deviation) -> Mapping[Equation, Equation]:
    """Return what the deviation has in place of which functions."""
    if inner := deviation.part:
        return {specification(inner.operation).reference: _take_all_options(inner)}
    steps = getattr(deviation.function, "replaced", None)
    return steps or {specification(deviation.operation).reference: _take_all_options(deviation)}


def _take_all_options(deviation: Deviation) -> Equation:
    return prepare(deviation.operation, deviation.function, FORMATS["float64"])


@cache
def _find_namespaces(function: Equation) -> tuple[dict[str, Any], ...]:
    """Return the namespaces of the modules in which equations look up a function by its name. Nothing may be replaced yet."""
    modules = [module for name, module in sys.modules.items() if name.startswith(LOOKED_UP_IN)]
    return tuple(vars(module) for module in modules if vars(module).get(function.__name__) is function)


@contextmanager
def _put(functions: Mapping[Equation, Equation]) -> Iterator[None]:
    """Within the context, every equation that looks up one of the functions calls what stands in its place."""
    places = [(names, own.__name__, other) for own, other in functions.items() for names in _find_namespaces(own)]
    before = [names[name] for names, name, _ in places]
    for names, name, other in places:
        names[name] = other
    try:
        yield
    finally:
        for (names, name, _), function in zip(places, before, strict=True):
            names[name] = function


def _outside(equation: Equation, replaced: Iterable[Equation]) -> Equation:
    """Return the equation, evaluated where none of these functions is replaced."""
    own = {function: function for function in replaced if _find_namespaces(function)}  # found now, before anything is replaced

    def evaluate(*arguments: Any, **keywords: Any) -> Any:
        with _put(own):
            return equation(*arguments, **keywords)

    return evaluate
