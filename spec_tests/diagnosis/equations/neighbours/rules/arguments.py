"""Arguments and variables: ignored, exchanged with another of their shape, or used once more where they do not belong."""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator
from typing import Any

from ..edit import Change
from ._rule import Place, definition, fill, is_numpy, load, names_in, names_that_may_be_none, replaced, rule

COUNTED_OR_REAL = ("array", "number", "integer", "integers")


@rule(ast.Name)
def another_variable(place: Place) -> Iterator[Any]:
    """A variable stands for another of its kind."""
    if isinstance(place.node.ctx, ast.Load):
        for name, seen in names_in(place, place.seen.kind).items():
            if name != place.node.id and place.seen.kind not in ("other", "none") and len(seen.shape) == len(place.seen.shape):
                yield load(name)


@rule(ast.Call)
def argument_left_out(place: Place) -> Iterator[Any]:
    """An optional argument is not passed on, two arguments are exchanged, or None is passed."""
    node = place.node
    if isinstance(node.func, ast.Attribute) and is_numpy(node.func.value) and node.func.attr in ("errstate", "reshape"):
        return
    for i, keyword in enumerate(node.keywords):
        yield ast.Call(node.func, node.args, [*node.keywords[:i], *node.keywords[i + 1 :]])
        if keyword.arg not in (None, "axis", "keepdims"):
            yield ast.Call(
                node.func, node.args, [*node.keywords[:i], ast.keyword(keyword.arg, ast.Constant(None)), *node.keywords[i + 1 :]]
            )
    if len(node.args) > 1 and not isinstance(node.args[-1], ast.Starred):
        yield ast.Call(node.func, node.args[:-1], node.keywords)
    for i, argument in enumerate(node.args):
        if i and not isinstance(argument, ast.Starred):
            yield ast.Call(node.func, [*node.args[:i], ast.Constant(None), *node.args[i + 1 :]], node.keywords)


@rule(ast.Call, ast.Tuple, ast.List)
def two_exchanged(place: Place) -> Iterator[Any]:
    """Two arguments of a call, or two entries of a tuple, are exchanged."""
    node = place.node
    items = node.args if isinstance(node, ast.Call) else node.elts
    if isinstance(getattr(node, "ctx", None), ast.Store):
        return
    for i, j in itertools.combinations(range(len(items)), 2):
        exchanged = list(items)
        exchanged[i], exchanged[j] = exchanged[j], exchanged[i]
        yield ast.Call(node.func, exchanged, node.keywords) if isinstance(node, ast.Call) else type(node)(exchanged, ast.Load())


@rule(ast.Dict)
def entries_exchanged(place: Place) -> Iterator[Any]:
    """Two entries of a dict are exchanged."""
    for i, j in itertools.combinations(range(len(place.node.values)), 2):
        if place.node.keys[i] is not None and place.node.keys[j] is not None:
            values = list(place.node.values)
            values[i], values[j] = values[j], values[i]
            yield ast.Dict(place.node.keys, values)


@rule(ast.FunctionDef, cost=1.25)
def variables_exchanged(place: Place) -> Iterator[Any]:
    """Two variables of a kind are exchanged wherever they are used."""
    uses: dict[str, list[tuple[Any, str, int | None]]] = {}
    for parent in ast.walk(place.node):
        for field, value in ast.iter_fields(parent):
            for index, item in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load):
                    uses.setdefault(item.id, []).append((parent, field, index))
    known = names_in(place, "array", "number", "integer", "integers")
    for a, b in itertools.combinations(known, 2):
        if known[a].kind == known[b].kind and len(known[a].shape) == len(known[b].shape):
            yield tuple(Change(*where, load(other)) for name, other in ((a, b), (b, a)) for where in uses.get(name, ()))


@rule(ast.BinOp, ast.Name, ast.Call, ast.Subscript, cost=1.5)
def variable_joins(place: Place) -> Iterator[Any]:
    """A variable is added or multiplied where it does not belong."""
    seen = place.seen
    if seen.kind != "array":
        return
    optional = names_that_may_be_none(place.site.tree)
    for name, other in names_in(place, "array", "number").items():
        if _broadcasts(other.shape, seen.shape) and not (isinstance(place.node, ast.Name) and place.node.id == name):
            for template in ("x + y", "x * y", "x - y", "x / y", "np.maximum(x, y)"):
                joined = fill(template, x=place.node, y=load(name))
                yield fill("x if y is None else j", x=place.node, y=load(name), j=joined) if name in optional else joined


@rule(ast.BinOp, ast.Name, cost=1.3)
def factor_joins(place: Place) -> Iterator[Any]:
    """A factor that the function computes for another term, such as a correction 1 - b^t, joins this one as well."""
    if place.seen.kind not in ("array", "number") or isinstance(getattr(place.node, "ctx", None), ast.Store):
        return
    for factor in _list_factors(place).values():
        if not any(part is place.node for part in ast.walk(factor)) and not any(part is factor for part in ast.walk(place.node)):
            yield fill("x * y", x=place.node, y=factor)
            yield fill("x / y", x=place.node, y=factor)


def _list_factors(place: Place) -> dict[str, Any]:
    """Return the numbers that the function computes inside of its expressions, by their text."""
    numbers = (node for node in ast.walk(place.site.tree) if isinstance(node, ast.BinOp))
    return {ast.unparse(node): node for node in numbers if (seen := place.trace.get(node)) is not None and seen.kind == "number"}


def _broadcasts(small: tuple[int, ...], large: tuple[int, ...]) -> bool:
    pairs = zip(reversed(small), reversed(large), strict=False)
    return len(small) <= len(large) and all(a in (1, b) for a, b in pairs)


@rule(ast.Name, cost=1.25)
def another_definition_at_one_use(place: Place) -> Iterator[Any]:
    """What a variable stands for is made of another variable, or lacks a term, at one of the places where it is used."""
    value = definition(place, place.node)
    if value is not place.node and place.seen.kind in ("array", "integers"):
        yield from map(copy.deepcopy, _list_other_definitions(place, value))  # the line that sets it stays as it is


def _list_other_definitions(place: Place, value: Any) -> Iterator[Any]:
    for node in ast.walk(value):
        if isinstance(node, ast.Name) and (seen := place.trace.get(node)) is not None and seen.kind in COUNTED_OR_REAL:
            for name, other in names_in(place, seen.kind).items():
                if name not in (node.id, place.node.id) and len(other.shape) == len(seen.shape):
                    yield replaced(value, node, load(name))
        if isinstance(node, ast.BinOp):
            yield replaced(value, node, node.left)
            yield replaced(value, node, node.right)
        if isinstance(node, ast.Call) and node.args and not isinstance(node.args[0], ast.Starred):
            yield replaced(value, node, node.args[0])
            for i in range(1, len(node.args)):
                others = [*node.args[:i], ast.Constant(None), *node.args[i + 1 :]]
                yield replaced(value, node, ast.Call(node.func, others, node.keywords))


@rule(ast.Name, cost=1.25)
def earlier_value_at_one_use(place: Place) -> Iterator[Any]:
    """A variable has the value from before a line that changes it, at one place where it is used, or in what a variable there is.

    So a softcap, a clamp or a norm acts on some of what is computed with a variable, and not on the rest.
    """
    if place.seen.kind != "array" or not isinstance(place.node.ctx, ast.Load):
        return
    yield from _list_earlier_values(place, place.node)
    value = definition(place, place.node)
    if value is not place.node:
        for node in ast.walk(value):
            if isinstance(node, ast.Name) and (seen := place.trace.get(node)) is not None and seen.kind == "array":
                for earlier in _list_earlier_values(place, node):
                    yield replaced(value, node, earlier)


def _list_earlier_values(place: Place, node: ast.Name) -> Iterator[Any]:
    """Yield what a variable was first set to, if a later line computes it anew from itself."""
    lines = [line for line in ast.walk(place.site.tree) if isinstance(line, ast.Assign) and _is_name(line.targets, node.id)]
    lines.sort(key=lambda line: line.lineno)
    if len(lines) < 2 or any(part is node for line in lines for part in ast.walk(line)):
        return
    changes = [line for line in lines[1:] if any(_is_name([part], node.id) for part in ast.walk(line.value))]
    if changes and lines[0].lineno < changes[0].lineno:
        yield copy.deepcopy(lines[0].value)  # the line itself stays as it is


def _is_name(nodes: list[Any], name: str) -> bool:
    return len(nodes) == 1 and isinstance(nodes[0], ast.Name) and nodes[0].id == name
