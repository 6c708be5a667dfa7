"""A parameter that is used at another place than it should be: a mask after the softmax, a scale after the bias."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..edit import Change
from ._rule import Place, fill, load, names_in, rule, without_marks

WITH_NUMBER = ("x + p", "x * p", "x / p", "np.maximum(x, p)")
WITH_ARRAY = ("x if p is None else x + p", "x if p is None else x * p")
WITH_MASK = ("x * p", "np.where(p, x, 0.0)")


@rule(ast.FunctionDef, cost=1.25)
def moved(place: Place) -> Iterator[Any]:
    """A parameter does not act where it should, but on another step."""
    function = place.node
    parameters = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
    known = names_in(place, "array", "number", "mask")
    targets = list(_list_targets(place))
    for name in sorted(parameters & known.keys()):
        templates = {"number": WITH_NUMBER, "array": WITH_ARRAY, "mask": WITH_MASK}[known[name].kind]
        for removal, removed in _list_removals(function, name):
            for parent, field, index, node in targets:
                if any(node is gone or _holds(gone, node) for gone in removed) or (
                    parent is removal.parent and field == removal.field and index == removal.index
                ):
                    continue
                if _holds(node, removal.parent) or node is removal.parent:
                    # The removal happens inside what the parameter is applied to, so that both changes meet.
                    for template in templates:
                        yield (removal, Change(parent, field, index, fill(template, x=node, p=load(name))))
                    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                        inverse = fill("a * (1 / b + p)", a=node.left, b=node.right, p=load(name))
                        yield (removal, Change(parent, field, index, inverse))
                    continue
                for template in templates:
                    yield (Change(parent, field, index, fill(template, x=node, p=load(name))), removal)


def _list_targets(place: Place) -> Iterator[tuple[ast.AST, str, int | None, Any]]:
    for parent in ast.walk(place.node):
        for field, value in ast.iter_fields(parent):
            for index, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
                seen = place.trace.get(node) if isinstance(node, ast.AST) else None
                if (
                    seen is not None
                    and seen.kind == "array"
                    and isinstance(node, ast.BinOp | ast.Call | ast.Name | ast.Subscript)
                ):
                    yield parent, field, index, node


def _list_removals(function: ast.FunctionDef, name: str) -> Iterator[tuple[Change, list[Any]]]:
    """Yield the changes that take a use of the parameter away, with the nodes that then are gone."""
    for parent in ast.walk(function):
        for field, value in ast.iter_fields(parent):
            for index, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(node, ast.BinOp):
                    for side, other in ((node.left, node.right), (node.right, node.left)):
                        if _is_name(side, name):
                            yield Change(parent, field, index, other), [side]
                elif isinstance(node, ast.Call) and len(node.args) > 1:
                    for i, argument in enumerate(node.args):
                        if i and _is_name(argument, name):
                            yield Change(node, "args", i, ast.Constant(None)), [argument]
                elif isinstance(node, ast.If) and isinstance(node.test, ast.Compare) and _is_name(node.test.left, name):
                    yield Change(node, "test", None, ast.Constant(False)), [node]


def _is_name(node: Any, name: str) -> bool:
    inner = without_marks(node)
    if isinstance(inner, ast.Call) and len(inner.args) == 1 and isinstance(inner.func, ast.Name):
        inner = inner.args[0]
    return isinstance(inner, ast.Name) and inner.id == name


def _holds(outer: Any, inner: Any) -> bool:
    return any(node is inner for node in ast.walk(outer))
