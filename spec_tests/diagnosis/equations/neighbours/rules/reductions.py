"""Reductions over a part of an axis, over all axes from one on, or block by block without a correction."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..edit import Change
from ._rule import Place, children, definition, fill, name_of, rule, without_marks

BLOCKS = (4, 8, 16, 32, 64, 128, 256, 512)
SIZES = (1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
IN_BLOCKS = 1.2  # the cost of a loop over blocks that forgets a correction: few edits, which are tried early in every part
SO_FAR = ("finite_maximum_so_far", "maximum_so_far")  # with and without a guard for blocks of -inf alone
BEFORE_THE_REST = ("finite_maximum_before_the_rest", "maximum_before_the_rest")
REDUCTIONS = ("max", "sum", "mean")


@rule(ast.BinOp)
def divided_by_all(place: Place) -> Iterator[Any]:
    """A sum is divided by the number of all of its terms, not of those that count."""
    total = without_marks(place.node.left)
    if isinstance(place.node.op, ast.Div) and name_of(total) == "sum" and (axis := _axis_of(total)) is not None:
        for count in ("x.shape[a]", "max(x.shape[a], 1)"):
            yield fill(f"total / {count}", total=total, x=total.args[0], a=axis)


@rule(ast.Call, cost=1.25)
def reduction_over_a_part(place: Place) -> Iterator[Any]:
    """A reduction sees only the first entries, only whole blocks, or all but the first or last entry."""
    node = place.node
    if (axis := _axis_of(node)) is not None:
        largest = place.trace.get(node.args[0], place.seen).largest
        parts = [f"head_of(x, a, {size})" for size in SIZES if size < largest]
        parts += [f"cut_to_blocks(x, a, {block})" for block in BLOCKS if block < largest]
        parts += ["tail_of(x, a, 1)", "tail_from(x, a, 1)", "head_without(x, a, 1)", "head_of(x, a, max(x.shape[a] // 2, 1))"]
        for part in parts:
            yield ast.Call(node.func, [fill(part, x=node.args[0], a=axis), *node.args[1:]], node.keywords)


@rule(ast.Call)
def size_after_reduction(place: Place) -> Iterator[Any]:
    """The size is taken of the largest or smallest number, where the largest of the sizes counts."""
    node = place.node
    for i, sizes in enumerate(node.args):
        if name_of(sizes) != "abs" or len(sizes.args) != 1:
            continue
        arguments = [*node.args[:i], sizes.args[0], *node.args[i + 1 :]]
        smallest = ast.Name("smallest", ast.Load())
        if name_of(node) == "max" and _axis_of(node) is not None:
            functions = [(node.func, arguments), (smallest, arguments)]
        else:  # the reduction is an argument, as of a function that reduces blocks
            largest = [j for j, x in enumerate(arguments) if isinstance(x, ast.Attribute) and x.attr == "max"]
            changed = [(node.func, [*arguments[:j], smallest, *arguments[j + 1 :]]) for j in largest]
            functions = [(node.func, arguments), *changed] if largest else []
        for function, given in functions:
            yield fill("np.abs(y)", y=ast.Call(function, given, node.keywords))


@rule(ast.Call, cost=1.5)
def maximum_so_far(place: Place) -> Iterator[Any]:
    """A maximum is that of the blocks that came so far, without a correction when it grows."""
    if name_of(place.node) == "max" and (axis := _axis_of(place.node)) is not None:
        for so_far in _list_maxima_so_far(place, place.node.args[0]):
            yield fill(so_far, x=place.node.args[0], a=axis)


@rule(ast.Call, cost=IN_BLOCKS)
def shifted_by_the_maximum_so_far(place: Place) -> Iterator[Any]:
    """A sum of exponentials is taken block by block, shifted by the maximum so far, and not corrected when that grows."""
    node = place.node
    if name_of(node) != "sum" or (axis := _axis_of(node)) is None:
        return
    power = definition(place, node.args[0])
    inside = without_marks(power.args[0]) if name_of(power) == "exp" and power.args else None
    if isinstance(inside, ast.BinOp) and isinstance(inside.op, ast.Sub):
        for so_far in _list_maxima_so_far(place, node.args[0], (*SO_FAR, *BEFORE_THE_REST)):
            shifted = fill(f"np.exp(x - {so_far})", x=inside.left, a=axis)
            yield ast.Call(node.func, [shifted, *node.args[1:]], node.keywords)


@rule(ast.BinOp, cost=IN_BLOCKS)
def accumulated_without_rescaling(place: Place) -> Iterator[Any]:
    """What a sum of exponentials divides is shifted by the maximum so far, block by block, and not corrected when that grows."""
    node = place.node
    power, sums = definition(place, node.left), definition(place, node.right)
    if not isinstance(node.op, ast.Div) or name_of(power) != "exp" or name_of(sums) != "sum" or not isinstance(sums, ast.Call):
        return
    inside, axis = without_marks(power.args[0]) if power.args else None, _axis_of(sums)
    if axis is None or not isinstance(inside, ast.BinOp) or not isinstance(inside.op, ast.Sub):
        return
    if name_of(without_marks(inside.right)) == "max":
        for so_far in _list_maxima_so_far(place, sums.args[0]):
            yield ast.BinOp(fill(f"np.exp(x - {so_far})", x=inside.left, a=axis), node.op, node.right)


@rule(ast.Call, cost=IN_BLOCKS)
def rest_not_rescaled(place: Place) -> Iterator[Any]:
    """What whole blocks have accumulated is not corrected when the rest after them raises the maximum."""
    if name_of(place.node) == "max" and (axis := _axis_of(place.node)) is not None:
        for so_far in _list_maxima_so_far(place, place.node.args[0], BEFORE_THE_REST):
            yield fill(so_far, x=place.node.args[0], a=axis)


@rule(ast.Call, cost=IN_BLOCKS)
def mean_of_means(place: Place) -> Iterator[Any]:
    """A mean is that of the means of blocks, of which the last, shorter one counts as much as the others."""
    node = place.node
    if name_of(node) == "mean" and (axis := _axis_of(node)) is not None:
        largest = place.trace.get(node.args[0], place.seen).largest
        for block in (block for block in BLOCKS if block < largest):
            means = fill(f"means_of_blocks(x, a, {block})", x=node.args[0], a=axis)
            yield ast.Call(node.func, [means, *node.args[1:]], node.keywords)


@rule(ast.BinOp, ast.Name, ast.Call, ast.Subscript, cost=1.5)
def some_rows_alone(place: Place) -> Iterator[Any]:
    """Only the first or last of all rows, or the rows of whole blocks, take part."""
    if place.seen.kind == "array" and len(place.seen.shape) > 1:
        yield from (
            fill(f"some_rows(x, {start}, {end})", x=place.node) for start, end in ((0, 1), (-1, None), (0, -1), (1, None))
        )
        for block in (block for block in BLOCKS if block <= place.seen.largest):
            yield fill(f"some_rows(x, 0, rows_of(x) // {block} * {block})", x=place.node)
            yield fill(f"some_rows(x, 0, {block})", x=place.node)


@rule(ast.FunctionDef, cost=1.25)
def every_reduction_along_the_rest(place: Place) -> Iterator[Any]:
    """All reductions of the function run along their axis and all after it, or over the same part."""
    found = [
        (Change(parent, field, index, node), node, axis)
        for parent, field, index, node in children(place.node)
        if (axis := _axis_of(node)) is not None
    ]
    yield tuple(
        Change(c.parent, c.field, c.index, fill("along_rest(f, x, a)", f=node.func, x=node.args[0], a=axis))
        for c, node, axis in found
    )
    if len(found) > 1:
        for part in (*(f"head_of(x, a, {size})" for size in SIZES), *(f"cut_to_blocks(x, a, {block})" for block in BLOCKS)):
            yield tuple(Change(node, "args", 0, fill(part, x=node.args[0], a=axis)) for _, node, axis in found)


def _list_maxima_so_far(place: Place, x: Any, names: tuple[str, ...] = SO_FAR) -> list[str]:
    """Return the maxima of x so far along an axis `a`, for each size of blocks of which x has more than one."""
    blocks = [block for block in (1, *BLOCKS) if block < place.trace.get(x, place.seen).largest]
    return [f"{name}(x, a, {block})" for name in names for block in blocks]


def _axis_of(node: Any) -> Any:
    """Return the axis of a reduction, None if the node is none."""
    if not (isinstance(node, ast.Call) and name_of(node) in REDUCTIONS and node.args):
        return None
    return next((keyword.value for keyword in node.keywords if keyword.arg == "axis"), None)
