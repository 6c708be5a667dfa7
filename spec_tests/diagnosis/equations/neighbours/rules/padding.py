"""Arrays that are padded with zeros along the axis of a reduction, where the padding takes part."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..edit import Change
from ._rule import Place, children, fill, load, name_of, names_in, rule

BLOCKS = (8, 16, 32, 64, 128)
REDUCTIONS = ("max", "sum", "mean")


@rule(ast.FunctionDef, cost=1.5)
def padded_with_zeros(place: Place) -> Iterator[Any]:
    """An array is padded with zeros to a power of two, or to a multiple of a block. The result is cut to its length."""
    function = place.node
    parameters = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
    axes = {ast.unparse(axis): axis for axis in _list_axes(function) if _is_known(axis, parameters)}
    returns = [node for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None]
    arrays = [name for name, seen in names_in(place, "array").items() if name in parameters and seen.shape]
    for axis in axes.values():
        for name in arrays:
            for size in ("power_of_two_above(n)", *(f"rounded_up(n, {block})" for block in BLOCKS)):
                whole = fill("padded(x, a, s)", x=load(name), a=axis, s=fill(size, n=fill("x.shape[a]", x=load(name), a=axis)))
                both = ast.Tuple([ast.Name("whole", ast.Store()), ast.Name(name, ast.Store())], ast.Store())
                first = ast.Assign([both], ast.Tuple([load(name), whole], ast.Load()))
                cuts = [
                    Change(r, "value", None, fill("as_long_as(w, x, a)", w=load("whole"), x=r.value, a=axis)) for r in returns
                ]
                yield (*cuts, Change(function, "body", None, [first, *function.body]))


def _list_axes(function: Any) -> Iterator[Any]:
    for _, _, _, node in children(function):
        if isinstance(node, ast.Call) and name_of(node) in REDUCTIONS:
            yield from (keyword.value for keyword in node.keywords if keyword.arg == "axis")


def _is_known(axis: Any, parameters: set[str]) -> bool:
    """Whether an axis is known as the function begins."""
    return all(node.id in parameters for node in ast.walk(axis) if isinstance(node, ast.Name))
