"""The result, changed wherever the function returns one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..edit import UNKNOWN, Change
from ._rule import Place, fill, load, rule
from .functions import ELEMENTWISE


@rule(ast.FunctionDef, cost=1.25)
def every_result(place: Place) -> Iterator[Any]:
    """Whatever the function returns goes through a function, or lacks a factor or a term."""
    returns = _list_returns(place)
    if len(returns) < 2:
        return
    for template in ELEMENTWISE:
        yield tuple(Change(node, "value", None, fill(template, x=node.value)) for node in returns)
    sums = [node for node in returns if isinstance(node.value, ast.BinOp)]
    for side in ("left", "right") if sums else ():
        yield tuple(Change(node, "value", None, getattr(node.value, side)) for node in sums)


@rule(ast.FunctionDef, cost=2.0, has_unknown=True)
def every_result_with_a_constant(place: Place) -> Iterator[Any]:
    """Whatever the function returns is multiplied with a constant, raised by it, or limited by it."""
    returns = _list_returns(place)
    if len(returns) > 1:
        for template in ("x * C", "x + C", "np.maximum(x, C)", "at_most(x, C)"):
            yield tuple(Change(node, "value", None, fill(template, x=node.value, C=load(UNKNOWN))) for node in returns)


def _list_returns(place: Place) -> list[Any]:
    return [node for node in ast.walk(place.node) if isinstance(node, ast.Return) and node.value is not None]
