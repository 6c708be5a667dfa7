"""Masks, comparisons and conditions: inverted, misaligned, ignored, or fixed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..edit import Change
from ._rule import Place, fill, rule

ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


@rule(ast.Compare)
def another_comparison(place: Place) -> Iterator[Any]:
    """A comparison has another sign, the other direction, or one side that is off by one."""
    node = place.node
    (op,), (right,) = node.ops[:1], node.comparators[:1]
    if isinstance(op, ORDER):
        for other in ORDER:
            if not isinstance(op, other):
                yield ast.Compare(node.left, [other()], [right])
        for template in ("y + 1", "y - 1"):
            yield ast.Compare(node.left, [op], [fill(template, y=right)])
        for block in (4, 8, 16, 32, 64, 128):
            in_blocks = f"x // {block} * {block}"
            yield ast.Compare(fill(in_blocks, x=node.left), [op], [right])
            yield ast.Compare(node.left, [op], [fill(in_blocks, x=right)])
        if place.seen.kind == "mask":
            yield fill("x | x.T if x.shape[0] == x.shape[1] else x", x=node)
            yield fill("transposed_if_square(x)", x=node)
    if isinstance(op, ast.Is) and isinstance(right, ast.Constant):
        yield fill("not x", x=node.left)
    if isinstance(op, ast.Eq | ast.NotEq | ast.Is | ast.IsNot):
        yield ast.Compare(
            node.left, [{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is}[type(op)]()], [right]
        )


@rule(ast.IfExp, ast.If)
def condition_fixed(place: Place) -> Iterator[Any]:
    """A condition is ignored: one of its branches is always taken."""
    node = place.node
    if isinstance(node, ast.If) and any(isinstance(statement, ast.Raise) for statement in node.body):
        return
    for value in (True, False):
        if isinstance(node, ast.IfExp):
            yield node.body if value else node.orelse
        else:
            yield (Change(node, "test", None, ast.Constant(value)),)


@rule(ast.BoolOp)
def condition_dropped(place: Place) -> Iterator[Any]:
    """One of several conditions is left out."""
    yield from place.node.values


@rule(ast.Assign)
def assignment_left_out(place: Place) -> Iterator[Any]:
    """A variable keeps its earlier value: the line that changes it is left out."""
    targets = {node.id for target in place.node.targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    used = {node.id for node in ast.walk(place.node.value) if isinstance(node, ast.Name)}
    if targets & used:
        yield ast.Pass()


@rule(ast.Name, ast.Call)
def mask_unused(place: Place) -> Iterator[Any]:
    """A mask is true everywhere: what it leaves out counts as well."""
    if place.seen.kind == "mask":
        yield fill("no_exception(x)", x=place.node)
