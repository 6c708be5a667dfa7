"""Mutate source files: make every small change of a file, one at a time, with the usual operators of mutation testing.

These are changed: operators and the order of their operands, terms and factors (dropped), signs, comparisons, constants
(including axes and slices), functions (replaced by similar ones), arguments (swapped or left out), conditions (fixed),
and assignments (deleted).
These are left alone: strings, `raise` statements and the conditions that lead to them, default values (calls pass every keyword),
and the marks that are the identity on arrays.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OPERATORS: dict[type[ast.AST], tuple[type[Any], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult, ast.Mod),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
}
DROPPABLE = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
NONCOMMUTATIVE = (ast.Sub, ast.Div, ast.Pow, ast.MatMult, ast.FloorDiv)
FUNCTIONS = {  # a function: those that replace it
    "max": ("min",), "min": ("max",), "sum": ("mean",), "mean": ("sum",), "exp": ("expm1", "exp2"), "log": ("log1p", "log2"),
    "sqrt": ("square", "cbrt"), "square": ("abs",), "sin": ("cos",), "cos": ("sin",), "tanh": ("arctan",), "abs": ("negative",),
    "maximum": ("minimum",), "minimum": ("maximum",), "logical_and": ("logical_or",), "logical_or": ("logical_and",),
    "isinf": ("isnan",), "isfinite": ("isnan",), "all": ("any",), "any": ("all",), "repeat": ("tile",), "tri": ("eye",),
}  # fmt: skip
IDENTITIES = ("rounded", "eager", "wide", "exact", "float64", "joined", "asarray")  # marks: dropping them changes no array
UNCHANGED_FUNCTIONS = ("zip", "range", "getattr", "isinstance", "ValueError")


@dataclass(frozen=True)
class Mutation:
    """One changed function of a file."""

    file: str
    place: str  # line:column
    function: str
    before: str
    after: str
    changed: str  # source of the whole changed function

    @property
    def id(self) -> str:
        return f"{self.file}:{self.place} {self.before} → {self.after}"


def list_mutations(path: Path, name: str) -> list[Mutation]:
    """Return every mutation of a file, which reports call `name`. Mutations that give the same function are listed once."""
    found: dict[str, Mutation | None] = {}
    for function in ast.parse(path.read_text()).body:
        if not isinstance(function, ast.FunctionDef):
            continue
        found[ast.unparse(function)] = None
        for node in (node for statement in function.body for node in _list_mutable_nodes(statement)):
            for replacement in _list_replacements(node):
                changed = ast.unparse(ast.fix_missing_locations(_replace_node(function, node, replacement)))
                place = f"{node.lineno}:{node.col_offset + 1}"
                before, after = _format_node(node), _format_node(replacement)
                found.setdefault(changed, Mutation(name, place, function.name, before, after, changed))
    return [mutation for mutation in found.values() if mutation]


def _list_mutable_nodes(node: Any) -> Iterator[Any]:
    """Yield the nodes that may be changed, parents before children."""
    if _is_left_alone(node):
        return
    yield node
    signed = isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)  # -1 is one number
    annotations = [getattr(node, "returns", None), getattr(node, "annotation", None)]
    for child in () if signed else ast.iter_child_nodes(node):
        if not isinstance(child, ast.arguments) and child not in annotations:
            yield from _list_mutable_nodes(child)


def _is_left_alone(node: Any) -> bool:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True  # docstring
    if isinstance(node, ast.If) and any(isinstance(statement, ast.Raise) for statement in node.body):
        return True
    return isinstance(node, ast.Raise | ast.JoinedStr | ast.expr_context)


def _list_replacements(node: Any) -> Iterator[Any]:  # noqa: C901 - one case for each kind of node
    match node:
        case ast.BinOp(left, op, right):
            yield from (ast.BinOp(left, other(), right) for other in OPERATORS.get(type(op), ()))
            if isinstance(op, DROPPABLE):
                yield left
            if isinstance(op, ast.Add | ast.Mult):
                yield right
            if isinstance(op, NONCOMMUTATIVE):
                yield ast.BinOp(right, op, left)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            yield from (ast.Constant(other) for other in (-number + 1, -number - 1))
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.Compare(left, [op], [right]):
            yield from (ast.Compare(left, [other()], [right]) for other in OPERATORS.get(type(op), ()))
        case ast.BoolOp(op, values):
            yield ast.BoolOp(OPERATORS[type(op)][0](), values)
            yield from values
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield from (ast.Constant(other) for other in (value + 1, value - 1))
        case ast.Constant(value=float(value)):
            yield from (ast.Constant(other) for other in (value + 1, value * 1.01, -value) if other != value)
        case ast.IfExp(_, body, orelse):
            yield body
            yield orelse
        case ast.If(body=body, orelse=orelse):
            yield from (ast.If(ast.Constant(value), body, orelse) for value in (True, False))
        case ast.Slice(lower, upper, step):
            yield from (s for s in (ast.Slice(None, upper, step), ast.Slice(lower, None, step)) if ast.dump(s) != ast.dump(node))
        case ast.Tuple(elts=[first, second], ctx=ast.Load()):
            yield ast.Tuple([second, first], ast.Load())
        case ast.Call():
            yield from _list_call_replacements(node)
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if _mentions(value, name):
            yield ast.Pass()
        case ast.AugAssign():
            yield ast.Pass()


def _list_call_replacements(call: ast.Call) -> Iterator[Any]:
    function, args, keywords = call.func, call.args, call.keywords
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name in UNCHANGED_FUNCTIONS:
        return
    for other in FUNCTIONS.get(name, ()):
        if isinstance(function, ast.Attribute):
            yield ast.Call(ast.Attribute(function.value, other, ast.Load()), args, keywords)
    if name in IDENTITIES:
        return
    for i in range(len(args) - 1):
        yield ast.Call(function, [*args[:i], args[i + 1], args[i], *args[i + 2 :]], keywords)
    for i in range(len(keywords)):
        yield ast.Call(function, args, keywords[:i] + keywords[i + 1 :])
    if len(args) > 1 and not isinstance(args[-1], ast.Starred):
        yield ast.Call(function, args[:-1], keywords)
    if args and not isinstance(args[0], ast.Starred):
        yield args[0]
    elif isinstance(function, ast.Attribute):
        yield function.value


def _mentions(tree: ast.AST, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(tree))


class _NodeReplacer(ast.NodeTransformer):
    def __init__(self, node: Any, replacement: Any):
        self.node, self.replacement = node, replacement

    def visit(self, node: Any) -> Any:
        return self.replacement if node is self.node else self.generic_visit(node)


def _replace_node(function: ast.FunctionDef, node: Any, replacement: Any) -> Any:
    """Return a copy of the function with `replacement` in the place of `node`."""
    index = next(i for i, candidate in enumerate(ast.walk(function)) if candidate is node)
    copied = copy.deepcopy(function)
    copied_node = next(candidate for i, candidate in enumerate(ast.walk(copied)) if i == index)
    return _NodeReplacer(copied_node, copy.deepcopy(replacement)).visit(copied)


def _format_node(node: Any) -> str:
    """Return the first line of the node's source."""
    return ast.unparse(ast.fix_missing_locations(node)).partition("\n")[0]
