"""Numbers and intermediate results that are held in another format than they should be."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..edit import Change
from ._rule import Place, children, fill, rule

FORMATS_OF_RESULTS = ("float32", "float16", "bfloat16", "tf32")


@rule(ast.BinOp, ast.Name, ast.Call, ast.Subscript, cost=1.25)
def stored_in_another_format(place: Place) -> Iterator[Any]:
    """An intermediate result is stored in another format."""
    if place.seen.kind == "array":
        for name in FORMATS_OF_RESULTS:
            yield fill("held(x, n)", x=place.node, n=ast.Constant(name))


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
