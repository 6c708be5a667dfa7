"""The interface of an operation, as a server in another language has it: names, shapes, dtypes and defaults.

What the equation and its declaration do not say, which arrays are inside another argument and which arrays hold integers, is read
from a few drawn calls.
"""

from __future__ import annotations

import ast
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..calls.operation import Operation
from ..calls.signature import EXAMPLE_VALUES
from ..calls.violation import NotImplementedVariant
from ..deviations import OracleBackend
from ..implementation.backend import Backend, build_backend
from ..inputs.choices import shape_choices
from ..inputs.chosen_draw import Chosen, ChosenDraw
from ..specification.conventions import find_passings
from ..specification.formats import INTEGER, WIDER
from ..specification.pytree import leaves
from ..specification.registry import Specification, operations, specification
from ..specification.shapes import BATCH, GROUP, Shape, find_section

DRAWN_CALLS = 24  # every second one has every optional array
INDEX = re.compile(r"\[(\d+)\]")  # of an entry of a list, in the path of an array
KEY = re.compile(r"\['(\w+)'\]")
BROADCASTABLE = "broadcastable to"  # before the axes that an array has to broadcast to
ENTRY = ".N"  # stands for any index of a list

FLOATING, AT_LEAST_FLOAT32, FLOATING_OR_WIDER, FORMAT = "floating", "at_least_float32", "floating_or_wider", "format"


@dataclass(frozen=True)
class Array:
    """An array of a request or of an answer."""

    name: str  # dotted, as messages have it; N stands for the index of an entry of a list
    dtype: str  # floating, at_least_float32, floating_or_wider, integer, bool, format, or a dtype
    format: str | None  # the keyword that names the format, if the dtype is that: codes for numbers in few bits
    shape: tuple[tuple[str, ...], ...]  # the lists of axes that it may have; none where the equation says it in words alone
    optional: bool
    has_gradient: bool  # whether a gradient of the operation returns one for it


@dataclass(frozen=True)
class Keyword:
    """A keyword of a request."""

    name: str
    type: str  # as Python writes it
    required: bool
    default: Any  # None where it is required
    values: tuple[Any, ...]  # all that there are; none where it is a number or a text of its own
    example: Any  # a value of a required one


@dataclass(frozen=True)
class Interface:
    """What a server is sent for an operation or a gradient, and what it answers."""

    operation: str
    summary: str
    arrays: tuple[Array, ...]
    keywords: tuple[Keyword, ...]
    results: tuple[Array, ...]  # none, if the answer is `value`
    dtypes: tuple[str, ...]  # the floating dtypes in which it is defined; none where it is in all
    shapes: str  # as the page of the operation has them, in one line
    conventions: Mapping[str, tuple[str, ...]]  # of how arrays are passed: the values, of which the first is the one here


@cache
def interface(name: str) -> Interface:
    """Return the interface of an operation or a gradient."""
    spec, forward = specification(name), specification(specification(name).forward)
    arrays, section = tuple(_list_arrays(forward)), find_section(forward.reference.__doc__ or "")
    results = tuple(_list_results(forward, arrays))
    if spec.is_gradient:
        cotangents = _list_cotangents(results)
        results = tuple(_as_gradient(array) for array in arrays if array.has_gradient)
        arrays = (*cotangents, *arrays)
    summary = f"The gradients of {spec.forward}." if spec.is_gradient else (spec.reference.__doc__ or "").strip().splitlines()[0]
    dtypes, conventions = forward.declaration.dtypes, {passing.name: tuple(passing.values) for passing in find_passings(name)}
    return Interface(name, summary, arrays, tuple(_list_keywords(spec)), results, dtypes, section, conventions)


# --- arrays -----------------------------------------------------------------------------------------------------------


def _list_arrays(spec: Specification) -> Iterator[Array]:
    """Yield the arrays of the operation, in the order of its arguments and, inside one, in the order of drawn calls."""
    found: dict[str, str] = {}
    ranks: dict[str, set[int]] = defaultdict(set)
    for call in _draw_calls(spec):
        for path, x in leaves(call):
            if isinstance(x, np.ndarray):
                found[_dot(path)] = x.dtype.kind
                ranks[_dot(path)].add(x.ndim)
    places = list(spec.positional)
    for name in sorted(found, key=lambda name: places.index(name.partition(".")[0])):
        root, inside = name.partition(".")[0], name.rpartition(".")[2]
        is_optional = spec.parameters[root].default is None or inside in spec.declaration.optional_weights
        dtype = _dtype_of(spec, root, found[name])
        has_gradient = found[name] == "f" and root not in spec.declaration.constant_arguments and dtype != FORMAT
        shapes = _add_leading_axes(_shapes_of(spec, root, inside), ranks[name])
        yield Array(name, dtype, spec.declaration.formats.get(root), shapes, is_optional, has_gradient)


def _dtype_of(spec: Specification, root: str, kind: str) -> str:
    """Return the dtype of an array whose elements are drawn as numbers of this kind of NumPy's."""
    declaration = spec.declaration
    if root in declaration.formats:
        return FORMAT
    if kind == "f":
        return AT_LEAST_FLOAT32 if root in declaration.wide_arguments else FLOATING
    return "bool" if kind == "b" else declaration.integer_dtypes.get(root, INTEGER)


def _shapes_of(spec: Specification, root: str, inside: str) -> tuple[tuple[str, ...], ...]:
    """Return the lists of axes of an argument, or of an entry of one, which may be one of another operation's argument."""
    for stated in (spec, *(specification(name) for name in operations() if name in spec.shapes.words)):
        shapes, name = stated.shapes, root if inside in (root, "N") else inside
        if name in shapes.arguments:
            exact = (shapes.arguments[name], *shapes.others.get(name, ()))
            return (*map(_write_shape, exact), *_find_broadcast(stated, name))
        if name in shapes.broadcast:
            return ((BROADCASTABLE, *_write_shape(shapes.broadcast[name])),)
    return ()


def _add_leading_axes(shapes: tuple[tuple[str, ...], ...], ranks: set[int]) -> tuple[tuple[str, ...], ...]:
    """Return the shapes, and the first one with axes before its own where the drawn arrays have more of them than any shape."""
    if not shapes or any(axes[:1] in ((BATCH,), (BROADCASTABLE,)) for axes in shapes) or ranks <= {len(axes) for axes in shapes}:
        return shapes
    return (*shapes, (BATCH, *shapes[0]))


def _find_broadcast(spec: Specification, name: str) -> Iterator[tuple[str, ...]]:
    """Yield the axes that an array may broadcast to where it has not those of the first shape, as "(n) or broadcastable to"."""
    section = find_section(spec.reference.__doc__ or "")
    if found := re.search(rf"\b{name} \([^()]*\) or {BROADCASTABLE} \(([^()]*)\)", section):
        yield (BROADCASTABLE, *re.split(r",\s*", found[1]))


def _write_shape(shape: Shape) -> tuple[str, ...]:
    return (BATCH,) * (shape.batch or shape.any) + shape.labels


def _dot(path: str) -> str:
    """Return the dotted name of an array, with N for the index of an entry of a list."""
    return KEY.sub(r".\1", INDEX.sub(ENTRY, path)).removeprefix(".")


@cache
def _draw_calls(spec: Specification) -> tuple[Mapping[str, Any], ...]:
    """Return the arguments of a few small calls by their names. Each is drawn as for the laws, and none is evaluated."""
    operation, drawn = Operation(spec, _oracle(), "float32", spec.precision), []
    for number in range(DRAWN_CALLS):
        source = random.Random(f"{spec.name} {number}")
        chosen = Chosen(as_drawn=number % 4 < 2)  # else small, which some options ask for
        draw = ChosenDraw(source.randint, operation, chosen, shape_choices(spec.name, source))
        with suppress(NotImplementedVariant):
            drawn.append(draw.call(all_arguments=number % 2 == 0).named)
    return tuple(drawn)


@cache
def _oracle() -> Backend:
    return build_backend(OracleBackend(), operations())


# --- results ----------------------------------------------------------------------------------------------------------


def _list_results(spec: Specification, arrays: tuple[Array, ...]) -> Iterator[Array]:
    """Yield the arrays of an answer to a call of the operation."""
    if not spec.positional and spec.dtype == "int64":
        return  # the answer is a `value`
    for name, rule in spec.results.items():
        keyword = spec.declaration.formats.get(name)
        dtype = FORMAT if keyword else {"": FLOATING, WIDER: FLOATING_OR_WIDER}.get(rule, rule)
        shapes = _shapes_of_result(spec, name, arrays)
        dotted = (name or "result") + ENTRY * bool(spec.list_like)
        is_optional = name in spec.declaration.optional_results
        yield Array(dotted, dtype, keyword, shapes, is_optional, False)


def _shapes_of_result(spec: Specification, name: str, arrays: tuple[Array, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the lists of axes of a result. One without a name may have several, as for each value of a keyword."""
    if name in spec.shapes.results:
        return (_write_shape(spec.shapes.results[name]),)
    if spec.shapes.single is None or name:
        return next((array.shape for array in arrays if array.name == spec.shapes.like), ())
    right = find_section(spec.reference.__doc__ or "").partition("->")[2]
    groups = [group for group in GROUP.findall(right) if ":" not in group]
    return tuple(tuple(re.split(r",\s*", group)) if group else () for group in groups)


def _list_cotangents(results: tuple[Array, ...]) -> tuple[Array, ...]:
    """Return the cotangents of these results: those of several are numbered, and each may be absent."""
    several = len(results) > 1
    return tuple(
        Array(f"cotangent.{number}" if several else "cotangent", FLOATING, None, result.shape, several, False)
        for number, result in enumerate(results)
        if result.dtype in (FLOATING, FLOATING_OR_WIDER)
    )


def _as_gradient(array: Array) -> Array:
    return Array(array.name, array.dtype, array.format, array.shape, array.optional, False)


# --- keywords ---------------------------------------------------------------------------------------------------------


def _list_keywords(spec: Specification) -> Iterator[Keyword]:
    for name in (*spec.required, *spec.defaults):
        required, stated = name in spec.required, spec.parameters[name].annotation
        example = _find_example(spec, name) if required else None
        kind = stated if isinstance(stated, str) else getattr(stated, "__name__", str(stated))
        default, choices = spec.defaults.get(name), spec.declaration.choices.get(name, ())
        values = choices if required or not choices or default in choices else (default, *choices)
        yield Keyword(name, kind, required, default, tuple(values), example)


def _find_example(spec: Specification, name: str) -> Any:
    """Return a value of a keyword that is required: the one that messages show, or one of a drawn call."""
    if name in EXAMPLE_VALUES:
        return ast.literal_eval(EXAMPLE_VALUES[name])
    return next((call[name] for call in _draw_calls(specification(spec.forward)) if name in call), None)
