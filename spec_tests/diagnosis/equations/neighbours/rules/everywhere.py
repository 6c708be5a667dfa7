"""One slip wherever it can be made, in a function or in one branch of it: a factor, a sum, two variables, the start of a sum."""

from __future__ import annotations

import ast
import itertools
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from ..edit import Change
from ._rule import Place, children, fill, load, name_of, names_in, rule, without_marks

OF_SUMS = ("x / np.sqrt(2)", "x / 2", "2 * x", "a", "b", "a - b", "np.maximum(a, b)")


@rule(ast.FunctionDef, ast.If, cost=1.25)
def factor_everywhere(place: Place) -> Iterator[Any]:
    """A factor or a term is missing, or is there twice, wherever it stands."""
    found: dict[tuple[str, type[ast.operator]], list[tuple[Change, Any, Any]]] = defaultdict(list)
    for parent, field, index, node in _inside(place):
        if isinstance(node, ast.BinOp):
            for side, other in ((node.left, node.right), (node.right, node.left)):
                if isinstance(name := without_marks(side), ast.Name):
                    found[name.id, type(node.op)].append((Change(parent, field, index, node), node, other))
    for (name, op), uses in found.items():
        if len(uses) > 1:
            yield tuple(Change(c.parent, c.field, c.index, other) for c, _, other in uses)
            yield tuple(Change(c.parent, c.field, c.index, ast.BinOp(node, op(), load(name))) for c, node, _ in uses)


@rule(ast.FunctionDef, ast.If, cost=1.25)
def every_sum(place: Place) -> Iterator[Any]:
    """Every sum of two arrays is divided, doubled, or lacks a term."""
    sums = [
        (Change(parent, field, index, node), node)
        for parent, field, index, node in _inside(place)
        if isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Add)
        and (seen := place.trace.get(node)) is not None
        and seen.kind == "array"
    ]
    if len(sums) > 1:
        for template in OF_SUMS:
            yield tuple(Change(c.parent, c.field, c.index, fill(template, x=node, a=node.left, b=node.right)) for c, node in sums)


@rule(ast.FunctionDef, cost=1.25)
def every_sum_a_maximum(place: Place) -> Iterator[Any]:
    """The largest term stands for the sum wherever the function adds up."""
    changes = []
    for parent, field, index, node in children(place.node):
        if name_of(node) == "sum" and isinstance(node.func, ast.Attribute):
            largest = ast.Call(ast.Attribute(node.func.value, "max", ast.Load()), node.args, node.keywords)
            changes.append(Change(parent, field, index, largest))
        elif name_of(node) == "joined" and len(node.args) == 2:
            changes.append(Change(parent, field, index, fill("np.maximum(a, b)", a=node.args[0], b=node.args[1])))
    if len(changes) > 1:
        yield tuple(changes)


@rule(ast.FunctionDef, ast.If, cost=1.25)
def sum_begins_later(place: Place) -> Iterator[Any]:
    """What is added to a function of a step of x is that step, not x: at one place, or at every one."""
    changes = []
    for _, _, _, node in _inside(place):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            for side, other in (("left", node.right), ("right", node.left)):
                name = without_marks(getattr(node, side))
                if isinstance(name, ast.Name) and (step := _first_step(other, name.id)) is not None:
                    changes.append(Change(node, side, None, step))
    yield from ((change,) for change in changes)
    if len(changes) > 1:
        yield tuple(changes)


@rule(ast.If, cost=1.25)
def variables_exchanged_in_a_branch(place: Place) -> Iterator[Any]:
    """Two variables of a kind are exchanged in one branch."""
    uses: dict[str, list[tuple[ast.AST, str, int | None]]] = defaultdict(list)
    for parent, field, index, node in _inside(place):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            uses[node.id].append((parent, field, index))
    known = names_in(place, "array", "number", "integer", "integers")
    for a, b in itertools.combinations([name for name in known if name in uses], 2):
        if known[a].kind == known[b].kind and len(known[a].shape) == len(known[b].shape):
            yield tuple(Change(*where, load(other)) for name, other in ((a, b), (b, a)) for where in uses[name])


@rule(ast.For)
def loop_in_another_order(place: Place) -> Iterator[Any]:
    """A loop runs from the last to the first, leaves the first or last out, or stops after the first."""
    sequence = fill("list(x)", x=place.node.iter) if name_of(place.node.iter) in ("zip", "enumerate") else place.node.iter
    for template in ("x[::-1]", "x[1:]", "x[:-1]", "x[:1]"):
        yield (Change(place.node, "iter", None, fill(template, x=sequence)),)


def _inside(place: Place) -> Iterator[tuple[ast.AST, str, int | None, Any]]:
    """Yield what is below the function, or below the first branch of the condition, with where it stands."""
    if isinstance(place.node, ast.If):
        for statement in place.node.body:
            yield from children(statement)
    else:
        yield from children(place.node)


def _first_step(tree: Any, name: str) -> Any:
    """Return the innermost function call whose first argument is the variable, None if there is none."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and not isinstance(node.args[0], ast.Starred):
            first = without_marks(node.args[0])
            if isinstance(first, ast.Name) and first.id == name and without_marks(node) is node:
                return node
    return None
