"""The result, changed wherever the function returns one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..edit import UNKNOWN, Change
from ._rule import Place, fill, load, names_in, rule
from .axes import BLOCKS, SIZES
from .functions import ELEMENTWISE

STEPS_OF_AXES = ("first_of", "last_of", "reversed_along", "rolled", "only_first", "without_first", "without_last")


@rule(ast.FunctionDef)
def result_normalized(place: Place) -> Iterator[Any]:
    """Probabilities, or their logarithms, are returned where the result is no distribution yet."""
    returns = [node for node in _list_returns(place) if _shape_of(place, node.value)]
    for template in ("softmax_of(x, -1)", "log_softmax_of(x, -1)") if returns else ():
        yield tuple(Change(node, "value", None, fill(template, x=node.value)) for node in returns)


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


@rule(ast.FunctionDef, cost=1.5)
def every_result_in_part(place: Place) -> Iterator[Any]:
    """Whatever the function returns is zero in a part, or holds its first or last entry everywhere."""
    returns = _list_returns(place)
    axes = sorted({axis for node in returns for axis in range(-min(len(_shape_of(place, node.value)), 3), 0)})
    for axis in axes:
        templates = [f"{step}(x, {axis})" for step in STEPS_OF_AXES]
        templates += [f"{step}(x, {axis}, {block})" for block in BLOCKS for step in ("without_tail", "whole_blocks")]
        templates += [f"cut_after(x, {axis}, {size})" for size in SIZES]
        for template in templates:
            yield tuple(Change(node, "value", None, fill(template, x=node.value)) for node in returns)


@rule(ast.Tuple, cost=1.25)
def several_results(place: Place) -> Iterator[Any]:
    """Several of the results lack a factor or have one too many, or two of one shape are exchanged."""
    if not (isinstance(place.parent, ast.Return) and isinstance(place.node.ctx, ast.Load)):
        return
    items = place.node.elts
    counts = [f"rows_of({name})" for name, seen in names_in(place, "array").items() if len(seen.shape) > 1]
    templates = ["2 * x", "x / 2", "-x", "0.0 * x", *(f"x {op} {count}" for count in counts for op in "/*")]
    for part in (slice(None), slice(1, None), slice(0, -1), slice(1, -1)):
        numbers = [i for i in range(len(items))[part] if not isinstance(items[i], ast.Starred) and not _is_none(items[i])]
        if len(numbers) > 1:
            for template in templates:
                changed = {i: _apply(template, items[i]) for i in numbers}
                yield ast.Tuple([changed.get(i, item) for i, item in enumerate(items)], ast.Load())
    for i in range(len(items) - 1):
        if not any(_is_none(item) or isinstance(item, ast.Starred) for item in items[i : i + 2]):
            swap = ast.Starred(fill("exchanged(a, b)", a=items[i], b=items[i + 1]), ast.Load())
            yield ast.Tuple([*items[:i], swap, *items[i + 2 :]], ast.Load())


@rule(ast.FunctionDef, cost=2.0, has_unknown=True)
def every_result_with_a_constant(place: Place) -> Iterator[Any]:
    """Whatever the function returns is multiplied with a constant, raised by it, or limited by it."""
    returns = _list_returns(place)
    if len(returns) > 1:
        for template in ("x * C", "x + C", "np.maximum(x, C)", "at_most(x, C)"):
            yield tuple(Change(node, "value", None, fill(template, x=node.value, C=load(UNKNOWN))) for node in returns)


def _list_returns(place: Place) -> list[Any]:
    return [node for node in ast.walk(place.node) if isinstance(node, ast.Return) and node.value is not None]


def _shape_of(place: Place, node: Any) -> tuple[int, ...]:
    seen = place.trace.get(node)
    return seen.shape if seen is not None and seen.kind == "array" else ()


def _is_none(node: Any) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _apply(template: str, node: Any) -> Any:
    """Return the expression with a template applied to what it is, if it is not None."""
    if isinstance(node, ast.IfExp) and _is_none(node.body):
        return ast.IfExp(node.test, node.body, fill(template, x=node.orelse))
    return fill(template, x=node)
