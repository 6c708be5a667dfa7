"""Constants, counts and sizes: off by one, doubled, rounded to a power of two or to a multiple of a block."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..edit import Change
from ._rule import Place, children, fill, load, name_of, names_in, rule, without_marks

IN_BLOCKS = 1.2  # the cost of a count of padding: few edits, which are tried early in every part
LIMITS = (64, 128, 256, 512, 1024, 4096)
BLOCKS = (4, 8, 16, 32, 64, 128)
COUNT = (
    "n + 1", "n - 1", "2 * n", "n // 2", "power_of_two_above(n)", "power_of_two_below(n)", "2 * power_of_two_below(n)",
    "n or 1", "max(n, 0)", "-n", "n * n", "n // 4 * 2 or 2",
    *(f"rounded_up(n, {block})" for block in BLOCKS), *(f"whole_blocks_of(n, {block})" for block in BLOCKS),
)  # fmt: skip

BY_ELEMENTS = ("square", "exp", "abs", "float64", "rounded", "wide")  # functions whose result has the shape of their argument

OTHER_COUNT = (
    "(n - 1)", "max(n - 1, 1)", "(n + 1)", "power_of_two_above(n)", "power_of_two_below(n)",
    *(f"rounded_up(n, {block})" for block in BLOCKS),
    *(f"whole_blocks_of(n, {block})" for block in BLOCKS),
)  # fmt: skip


@rule(ast.Constant)
def another_constant(place: Place) -> Iterator[Any]:
    """A constant is larger or smaller by one, doubled, halved, negative, zero or one, or the other truth."""
    value = place.node.value
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int | float):
        others: list[Any] = [value + 1, value - 1, 2 * value, value / 2, -value, 0, 1]
        if isinstance(value, int):
            others[3] = value // 2
        if value == -float("inf"):
            others = [0.0]
        yield from (ast.Constant(type(value)(other)) for other in dict.fromkeys(others) if other != value and abs(other) < 2**60)


@rule(ast.Name, ast.Attribute, ast.Subscript, ast.BinOp, ast.Call)
def another_count(place: Place) -> Iterator[Any]:
    """A count is off by one, doubled, rounded to a power of two or to a multiple of a block, or limited."""
    if place.seen.kind == "integer":
        for template in COUNT:
            yield fill(template, n=place.node)
        yield from (fill(f"min(n, {limit})", n=place.node) for limit in LIMITS if limit < place.seen.largest)
        if place.seen.largest >= 2**16:
            yield from (fill(template, n=place.node) for template in ("n % 65536", "(n + 2**31) % 2**32 - 2**31"))


@rule(ast.Name, ast.BinOp, cost=1.5)
def constant_for_a_number(place: Place) -> Iterator[Any]:
    """A number is taken for 0 or 1."""
    if place.seen.kind == "number":
        yield from (ast.Constant(value) for value in (0.0, 1.0))
    if place.seen.kind == "integer":
        yield from (ast.Constant(value) for value in (0, 1, 2))


@rule(ast.FunctionDef, cost=1.25)
def factor_for_each_of_a_count(place: Place) -> Iterator[Any]:
    """A factor acts once for each of what is counted, where it should act once: its power with the count, at all of its uses."""
    uses: dict[str, list[tuple[Any, str, int | None, Any]]] = {}
    for parent, field, index, node in children(place.node):
        seen = place.trace.get(node)
        if isinstance(node, ast.Name) and isinstance(parent, ast.BinOp | ast.Call) and seen is not None and seen.kind == "number":
            uses.setdefault(node.id, []).append((parent, field, index, node))
    for name in _list_counted(place):
        for where in uses.values():
            power = "p ** np.maximum(n, 1)"
            yield tuple(
                Change(parent, field, index, fill(power, p=node, n=load(name)))
                for parent, field, index, node in where
                if not _is_asked(place, parent)
            )


def _is_asked(place: Place, node: Any) -> bool:
    """Whether an expression is part of a condition."""
    conditions = [x.test for x in ast.walk(place.node) if isinstance(x, ast.If | ast.IfExp)]
    return any(part is node for test in conditions for part in ast.walk(test))


def _list_counted(place: Place) -> list[str]:
    """Return the arrays of counts: what the function asks whether it is above 0."""
    arrays = names_in(place, "array", "integers")
    asked = [node for node in ast.walk(place.site.tree) if isinstance(node, ast.Compare)]
    above = [node.left for node in asked if isinstance(node.ops[0], ast.Gt) and _is_zero(node.comparators[0])]
    return list(dict.fromkeys(node.id for node in above if isinstance(node, ast.Name) and node.id in arrays))


def _is_zero(node: Any) -> bool:
    return isinstance(node, ast.Constant) and not isinstance(node.value, bool) and node.value == 0


@rule(ast.BinOp, ast.Name, ast.Call, ast.Subscript)
def divided_by_a_count(place: Place) -> Iterator[Any]:
    """An array is divided by the length of one of its axes, or multiplied with it, or with its root."""
    seen = place.seen
    if seen.kind == "number":
        yield from _divided_by_an_integer(place)
    if seen.kind != "array":
        return
    for axis in (-1, -2, -3, 0):
        if -len(seen.shape) <= axis < len(seen.shape) and not (axis == 0 and len(seen.shape) < 4):
            for template in ("x / n", "x * n", "x / np.sqrt(n)", "x * np.sqrt(n)"):
                yield fill(template, x=place.node, n=fill(f"x.shape[{axis}]", x=place.node))
    for name, other in names_in(place, "array").items():
        if len(other.shape) > 1:
            for template in ("x / rows_of(y)", "x * rows_of(y)"):
                yield fill(template, x=place.node, y=load(name))
    for name in names_in(place, "integer"):
        for template in ("x / n", "x * n", "x / y.shape[n]", "x * y.shape[n]"):
            yield fill(template, x=place.node, n=load(name), y=place.node)


def _divided_by_an_integer(place: Place) -> Iterator[Any]:
    """Yield a number divided by an integer that the function computes, and multiplied with it."""
    found = {
        ast.unparse(node): node
        for node in ast.walk(place.site.tree)
        if isinstance(node, ast.Name | ast.Call) and (seen := place.trace.get(node)) is not None and seen.kind == "integer"
    }
    for n in found.values():
        if any(node is place.node for node in ast.walk(n)):
            continue  # it would be divided by itself, without end
        yield fill("x / n", x=place.node, n=n)
        yield fill("x * n", x=place.node, n=n)


@rule(ast.Call)
def averaged(place: Place) -> Iterator[Any]:
    """A sum is divided by the number of its terms, or by the length of an axis of what it sums."""
    seen = place.seen
    if seen.kind == "array" and place.node.args:
        inner = place.trace.get(place.node.args[0])
        if inner is not None and inner.kind == "array":
            if len(inner.shape) > len(seen.shape) or inner.shape != seen.shape:
                yield fill("x / (math.prod(y.shape) / math.prod(x.shape))", x=place.node, y=place.node.args[0])
            for n in _list_counts(place.node):
                yield fill("x / n", x=place.node, n=n)
                yield fill("x * n", x=place.node, n=n)
                for template in OTHER_COUNT:
                    yield fill(f"x * fraction_of(n, {template})", x=place.node, n=n)


@rule(ast.BinOp, cost=IN_BLOCKS)
def averaged_difference(place: Place) -> Iterator[Any]:
    """A mean that is written as a difference, a - mean(x), is the sum of the differences divided by another count."""
    node = place.node
    if place.seen.kind != "array" or not isinstance(node.op, ast.Add | ast.Sub):
        return
    for side in (node.left, node.right):
        if name_of(mean := without_marks(side)) == "mean":
            for n in _list_counts(mean):
                yield fill("x * n", x=node, n=n)
                for template in OTHER_COUNT:
                    yield fill(f"x * fraction_of(n, {template})", x=node, n=n)


def _list_counts(call: Any) -> Iterator[Any]:
    """Yield the numbers of terms that a sum, a mean or a product of matrices has, and the other lengths of what it sums."""
    axis = next((keyword.value for keyword in call.keywords if keyword.arg == "axis"), None)
    if name_of(call) in ("sum", "mean", "max") and axis is not None:
        yield fill("y.shape[a]", y=_of_its_shape(call.args[0]), a=axis)
    elif name_of(call) in ("matmul", "sum", "mean"):
        yield from (fill(f"y.shape[{axis}]", y=_of_its_shape(call.args[0])) for axis in (-1, -2))


def _of_its_shape(node: Any) -> Any:
    """Return the array of which a node is a function by elements, whose shape is shorter to write."""
    while name_of(node) in BY_ELEMENTS and len(node.args) == 1:
        node = node.args[0]
    return node
