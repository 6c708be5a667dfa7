"""Axes, orders and places: another axis, the first entry for all, a transposition, a shift by one, and parts left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..edit import Change
from ..trace import Seen
from ._rule import Place, children, fill, name_of, rule

BLOCKS = (4, 8, 16, 32, 64, 128)
AXES = ("0", "-1", "along(x, -2)", "1", "2")  # a number fits arrays of so many axes alone
SIZES = (64, 128, 256, 512, 1024, 4096)


@rule(ast.Call)
def another_axis(place: Place) -> Iterator[Any]:
    """A function runs along another axis than it should, or along more of them."""
    node = place.node
    argument = node.args[0] if node.args else None
    for i, keyword in enumerate(node.keywords):
        if keyword.arg == "axis" and argument is not None:
            for text in (*AXES, "along(x, 1 - len(x.shape))"):
                others = [*node.keywords[:i], ast.keyword("axis", fill(text, x=argument)), *node.keywords[i + 1 :]]
                yield ast.Call(node.func, node.args, others)
                if any(k.arg == "keepdims" for k in node.keywords):
                    yield ast.Call(node.func, [node, *node.args[1:]], others)
    if name_of(node) in ("max", "sum", "mean") and argument is not None:
        yield ast.Call(node.func, [fill("all_of(x)", x=argument)], [ast.keyword("axis", ast.Constant(0))])


@rule(ast.FunctionDef)
def every_reduction_along_another_axis(place: Place) -> Iterator[Any]:
    """All reductions of the function run along another axis."""
    found = [(Change(parent, field, index, node), node) for parent, field, index, node in children(place.node)]
    reductions = [(change, node) for change, node in found if name_of(node) in ("max", "sum", "mean") and node.args]
    for text in AXES:
        yield tuple(
            Change(keyword, "value", None, fill(text, x=call.args[0]))
            for _, call in reductions
            for keyword in call.keywords
            if keyword.arg == "axis"
        )
    both = "f(f(x, axis=-1, keepdims=True), axis=along(x, -2), keepdims=True)"
    yield tuple(replace(change, new=fill(both, f=call.func, x=call.args[0])) for change, call in reductions)


def list_axes(seen: Seen, most: int) -> list[int]:
    """Return the last axes of an array, at most so many, and its first one."""
    axes = list(range(-min(len(seen.shape), most), 0))
    return axes if len(seen.shape) <= most else [*axes, 0]


@rule(ast.BinOp, ast.Name, ast.Call, ast.Subscript, cost=1.5)
def another_place(place: Place) -> Iterator[Any]:
    """The first or last entry along an axis serves for all, entries stand in another order, or two axes are exchanged."""
    seen, node = place.seen, place.node
    if seen.kind not in ("array", "mask", "integers"):
        return
    for axis in list_axes(seen, 4):
        for step in ("first_of", "last_of", "reversed_along", "rolled"):
            yield fill(f"{step}(x, {axis})", x=node)
        if seen.kind == "array":
            yield fill(f"delayed(x, {axis})", x=node)
    for count in range(1, min(len(seen.shape), 4)):
        yield fill(f"first_entry(x, {count})", x=node)
    if len(seen.shape) > 1:
        yield fill("transposed_if_square(x)", x=node)
        for a in range(-min(len(seen.shape), 4), 0):
            for b in range(a + 1, 0):
                yield fill(f"reinterpreted(x, {a}, {b})", x=node)
                yield fill(f"np.swapaxes(x, {a}, {b})", x=node)


@rule(ast.BinOp, ast.Name, ast.Call, ast.Subscript, cost=1.5)
def part_left_out(place: Place) -> Iterator[Any]:
    """Entries beyond the last whole block, or beyond a size, or all but the first or last, are taken for zeros."""
    seen, node = place.seen, place.node
    if seen.kind != "array":
        return
    yield fill("0.0 * x", x=node)
    for axis in list_axes(seen, 3):
        yield fill(f"only_first(x, {axis})", x=node)
        yield fill(f"only_last(x, {axis})", x=node)
        yield fill(f"without_first(x, {axis})", x=node)
        yield fill(f"without_last(x, {axis})", x=node)
        for block in (block for block in BLOCKS if block <= seen.largest):
            yield fill(f"without_tail(x, {axis}, {block})", x=node)
            yield fill(f"whole_blocks(x, {axis}, {block})", x=node)
            yield fill(f"ones_in_tail(x, {axis}, {block})", x=node)
        for size in (size for size in SIZES if size < seen.largest):
            yield fill(f"cut_after(x, {axis}, {size})", x=node)


@rule(ast.BinOp, ast.Name, ast.Call, ast.Subscript, cost=1.5)
def statistic_removed(place: Place) -> Iterator[Any]:
    """An array is centred or normalized where it should not be."""
    if place.seen.kind == "array":
        for axis in (-1, -2)[: len(place.seen.shape)]:
            yield fill(f"x - np.mean(x, axis={axis}, keepdims=True)", x=place.node)
            yield fill(f"x / np.sqrt(np.mean(np.square(x), axis={axis}, keepdims=True))", x=place.node)
            length = f"np.sqrt(np.sum(np.square(x), axis={axis}, keepdims=True))"
            yield fill(f"x / {length}", x=place.node)
            yield fill(f"x / np.maximum({length}, 1.0)", x=place.node)
            yield fill(f"softmax_of(x, {axis})", x=place.node)


@rule(ast.Subscript)
def another_slice(place: Place) -> Iterator[Any]:
    """A slice has another start, end or step."""
    index = place.node.slice
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    for i, item in enumerate(items):
        if isinstance(item, ast.Slice):
            for part in ("lower", "upper", "step"):
                given = {name: getattr(item, name) for name in ("lower", "upper", "step")}
                if given[part] is not None:
                    changed = [*items[:i], ast.Slice(**{**given, part: None}), *items[i + 1 :]]
                    new = ast.Tuple(changed, ast.Load()) if isinstance(index, ast.Tuple) else changed[0]
                    yield ast.Subscript(place.node.value, new, ast.Load())
