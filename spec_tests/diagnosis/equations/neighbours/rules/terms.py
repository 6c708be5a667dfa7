"""Terms, factors, operators and signs: dropped, doubled, exchanged, or regrouped."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from ._rule import REAL, Place, definition, fill, load, name_of, names_in, rule, without_marks

OTHER_OPERATORS: Mapping[type[ast.operator], tuple[type[ast.operator], ...]] = MappingProxyType(
    {
        ast.Add: (ast.Sub, ast.Mult),
        ast.Sub: (ast.Add, ast.Mult),
        ast.Mult: (ast.Add, ast.Div),
        ast.Div: (ast.Mult, ast.Sub),
        ast.FloorDiv: (ast.Mod, ast.Mult),
        ast.Mod: (ast.FloorDiv,),
        ast.Pow: (ast.Mult,),
        ast.BitAnd: (ast.BitOr,),
        ast.BitOr: (ast.BitAnd,),
    }
)
ORDERED = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)


@rule(ast.BinOp)
def another_operator(place: Place) -> Iterator[Any]:
    """An operator stands for another, or the larger of both operands for their sum."""
    node = place.node
    for other in OTHER_OPERATORS.get(type(node.op), ()):
        yield ast.BinOp(node.left, other(), node.right)
    if isinstance(node.op, ast.Add) and place.seen.kind in REAL:
        yield fill("np.maximum(a, b)", a=node.left, b=node.right)


@rule(ast.BinOp)
def operand_dropped(place: Place) -> Iterator[Any]:
    """A term or a factor is missing."""
    yield place.node.left
    yield place.node.right
    if isinstance(place.node.op, ast.Sub | ast.Div):
        yield fill("-b" if isinstance(place.node.op, ast.Sub) else "1 / b", b=place.node.right)


@rule(ast.BinOp, cost=1.5)
def begins_at_another_number(place: Place) -> Iterator[Any]:
    """What rises from 0 rises from another number of the function: b + (a - b) * s for a * s."""
    node = place.node
    if isinstance(node.op, ast.Mult) and place.seen.kind == "number":
        for whole, share in ((node.left, node.right), (node.right, node.left)):
            if isinstance(whole, ast.Name):
                for name in sorted(names_in(place, "number").keys() - {whole.id}):
                    yield fill("b + (a - b) * s", a=whole, b=load(name), s=share)


@rule(ast.BinOp)
def operands_exchanged(place: Place) -> Iterator[Any]:
    """The operands of a difference or quotient are in the other order."""
    if isinstance(place.node.op, ORDERED):
        yield ast.BinOp(place.node.right, place.node.op, place.node.left)


@rule(ast.BinOp)
def operand_doubled(place: Place) -> Iterator[Any]:
    """A term or a factor is there twice."""
    node = place.node
    if place.seen.kind in (*REAL, "integer", "integers"):
        yield ast.BinOp(node, node.op, node.right)
        if isinstance(node.op, ast.Mult | ast.Add):
            yield ast.BinOp(node, node.op, node.left)


@rule(ast.BinOp, ast.UnaryOp, ast.Call, cost=1.25)
def inner_part(place: Place) -> Iterator[Any]:
    """An expression is replaced by a part deep inside it."""
    if place.seen.kind in ("array", "integers", "mask"):
        for node in ast.walk(place.node):
            seen = place.trace.get(node)
            if node is not place.node and seen is not None and seen.kind == place.seen.kind:
                yield node
                if place.seen.kind == "integers":
                    yield fill("x + 0 * y", x=node, y=place.node)


@rule(ast.UnaryOp)
def sign_dropped(place: Place) -> Iterator[Any]:
    """A minus or a `not` is missing."""
    yield place.node.operand


@rule(ast.BinOp)
def regrouped(place: Place) -> Iterator[Any]:
    """Two operations are done in the other order: (a + b) c for a c + b."""
    node = place.node
    left, right = definition(place, node.left), definition(place, node.right)
    if isinstance(left, ast.BinOp):
        a, b, c = left.left, left.right, node.right
        yield ast.BinOp(a, left.op, ast.BinOp(b, node.op, c))
        yield ast.BinOp(ast.BinOp(a, node.op, c), left.op, b)
    if isinstance(right, ast.BinOp):
        a, b, c = node.left, right.left, right.right
        yield ast.BinOp(ast.BinOp(a, node.op, b), right.op, c)
        yield ast.BinOp(b, right.op, ast.BinOp(a, node.op, c))


def _list_sums(place: Place, call: ast.Call) -> Iterator[tuple[ast.BinOp, Callable[[Any], Any]]]:
    """Yield the first argument of a call if it has two operands, and what puts a value in the place of the call.

    Where an optional term is not given, as in `x if z is None else x - z`, the call stays as it is.
    """
    if not call.args or isinstance(call.args[0], ast.Starred):
        return
    inner = definition(place, call.args[0])
    if isinstance(inner, ast.BinOp):
        yield inner, lambda new: new
    if isinstance(inner, ast.IfExp) and isinstance(given := without_marks(inner.orelse), ast.BinOp):
        absent = ast.Call(call.func, [inner.body, *call.args[1:]], call.keywords)
        yield given, lambda new: ast.IfExp(inner.test, absent, new)


@rule(ast.Call, ast.BinOp)
def function_of_another_part(place: Place) -> Iterator[Any]:
    """A function is applied to one operand of a sum or product, not to the whole, or to the whole and not to one operand."""
    node = place.node
    if isinstance(node, ast.Call):
        for inner, put in _list_sums(place, node):

            def apply(x: Any) -> Any:
                return ast.Call(node.func, [x, *node.args[1:]], node.keywords)

            yield put(ast.BinOp(apply(inner.left), inner.op, inner.right))
            yield put(ast.BinOp(inner.left, inner.op, apply(inner.right)))
            yield put(ast.BinOp(apply(inner.left), inner.op, apply(inner.right)))
        return
    for side in ("left", "right"):
        call, other = definition(place, getattr(node, side)), getattr(node, "right" if side == "left" else "left")
        if (
            isinstance(call, ast.Call)
            and call.args
            and not isinstance(call.args[0], ast.Starred)
            and name_of(call) not in ("arange", "float64")
        ):
            first = call.args[0]
            whole = ast.BinOp(first, node.op, other) if side == "left" else ast.BinOp(other, node.op, first)
            yield ast.Call(call.func, [whole, *call.args[1:]], call.keywords)


@rule(ast.Call)
def functions_exchanged(place: Place) -> Iterator[Any]:
    """Two functions are applied in the other order: the square of the mean for the mean of the square."""
    outer = place.node
    if outer.args and isinstance(inner := definition(place, outer.args[0]), ast.Call) and inner.args:
        yield ast.Call(
            inner.func, [ast.Call(outer.func, [inner.args[0], *outer.args[1:]], outer.keywords), *inner.args[1:]], inner.keywords
        )
