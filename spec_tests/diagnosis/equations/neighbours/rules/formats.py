"""Numbers and intermediate results that are held in another format than they should be."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..edit import Change
from ._rule import Place, children, fill, name_of, rule, without_marks

FORMATS_OF_RESULTS = ("float32", "float16", "bfloat16", "tf32")


@rule(ast.BinOp, ast.Name, ast.Call, ast.Subscript, cost=1.25)
def stored_in_another_format(place: Place) -> Iterator[Any]:
    """An intermediate result is stored in another format."""
    if place.seen.kind == "array":
        for name in FORMATS_OF_RESULTS:
            yield fill("held(x, n)", x=place.node, n=ast.Constant(name))


@rule(ast.Call, cost=1.25)
def factors_in_another_format(place: Place) -> Iterator[Any]:
    """Both factors of a product of matrices are rounded to another format."""
    if name_of(place.node) == "matmul" and len(place.node.args) == 2:
        a, b = place.node.args
        for name in FORMATS_OF_RESULTS:
            yield fill("f(held(a, n), held(b, n))", f=place.node.func, a=a, b=b, n=ast.Constant(name))


@rule(ast.FunctionDef, cost=1.5)
def every_step_in_another_format(place: Place) -> Iterator[Any]:
    """Every intermediate result of the function that has a name, and what it returns, is stored in another format."""
    steps = [
        (Change(node, "value", None, node.value), node.value)
        for node in ast.walk(place.node)
        if isinstance(node, ast.Assign | ast.Return) and node.value is not None and _is_array(place, node.value)
    ]
    if len(steps) > 1:
        for name in FORMATS_OF_RESULTS:
            yield tuple(replace(change, new=fill("held(x, n)", x=x, n=ast.Constant(name))) for change, x in steps)


def _is_array(place: Place, node: Any) -> bool:
    seen = place.trace.get(without_marks(node))
    return seen is not None and seen.kind == "array"


@rule(ast.FunctionDef, cost=1.5)
def constants_in_another_format(place: Place) -> Iterator[Any]:
    """The constants of the function have the digits of another format: all of them, or one."""
    found = list(_list_constants(place))
    for name in FORMATS_OF_RESULTS:
        changes = [
            Change(parent, field, index, fill("held(x, n)", x=node, n=ast.Constant(name))) for parent, field, index, node in found
        ]
        yield from ((change,) for change in changes)
        if len(changes) > 1:
            yield tuple(changes)


def _list_constants(place: Place) -> Iterator[tuple[ast.AST, str, int | None, Any]]:
    """Yield the largest expressions that are made of numbers alone and are no integers, with where they stand."""
    inside: set[int] = set()
    for parent, field, index, node in children(place.node):
        if id(node) in inside or field in ("defaults", "kw_defaults"):
            continue
        seen = place.trace.get(node)
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        if seen is not None and seen.kind == "number" and names <= {"np", "math"} and not _is_integer(node):
            inside |= set(map(id, ast.walk(node)))
            yield parent, field, index, node


def _is_integer(node: Any) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and float(node.value).is_integer()
