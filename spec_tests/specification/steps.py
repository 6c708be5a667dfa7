"""How many operations an equation has: those of its lines, and of the equations that it calls."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

PACKAGE = "reference_numpy."
MARKS = f"{PACKAGE}_marks"  # whose functions are steps, and no equations
STEPS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.Call)


@cache
def count_steps(equation: Callable[..., Any]) -> int:
    """Return the operations in the lines of an equation and of those that it names. Each branch counts, each loop once."""
    function = inspect.unwrap(equation)
    nodes = list(ast.walk(_functions_of(function.__module__)[function.__name__]))
    named = [function.__globals__.get(node.id) for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    parts = [part for part in named if isinstance(part, FunctionType) and part is not function and _is_equation(part)]
    return sum(isinstance(node, STEPS) for node in nodes) + sum(map(count_steps, parts))


def _is_equation(function: FunctionType) -> bool:
    return function.__module__.startswith(PACKAGE) and function.__module__ != MARKS


@cache
def _functions_of(module: str) -> dict[str, ast.FunctionDef]:
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
