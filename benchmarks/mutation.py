"""Bugs that nobody chose: every small change of a source file, one at a time, by the operators that mutation testing knows.

What is changed: operators and their operands' order, terms and factors dropped, signs, comparisons, constants (axes and slices
among them), functions for their neighbours, arguments swapped or left out, conditions fixed, assignments deleted.
What is not: texts, errors and the tests that lead to them, defaults (every keyword is passed), the marks that are the identity
on arrays, and what is no operation's own code.
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
TERMS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
ORDERED = (ast.Sub, ast.Div, ast.Pow, ast.MatMult, ast.FloorDiv)
FUNCTIONS = {
    "max": ("min",), "min": ("max",), "sum": ("mean",), "mean": ("sum",), "exp": ("expm1", "exp2"), "log": ("log1p", "log2"),
    "sqrt": ("square", "cbrt"), "square": ("abs",), "sin": ("cos",), "cos": ("sin",), "tanh": ("arctan",), "abs": ("negative",),
    "maximum": ("minimum",), "minimum": ("maximum",), "logical_and": ("logical_or",), "logical_or": ("logical_and",),
    "isinf": ("isnan",), "isfinite": ("isnan",), "all": ("any",), "any": ("all",), "repeat": ("tile",), "tri": ("eye",),
}  # fmt: skip
IDENTITIES = ("rounded", "eager", "wide", "exact", "float64", "joined", "asarray")
KEPT = ("zip", "range", "getattr", "isinstance", "ValueError")


@dataclass(frozen=True)
class Mutation:
    file: str
    place: str
    function: str
    before: str
    after: str
    changed: str  # the whole function

    @property
    def id(self) -> str:
        return f"{self.file}:{self.place} {self.before} → {self.after}"


def mutations(path: Path, name: str) -> list[Mutation]:
    """Every mutation of a file, `name` in reports; each changed function once."""
    found: dict[str, Mutation | None] = {}
    for function in ast.parse(path.read_text()).body:
        if not isinstance(function, ast.FunctionDef):
            continue
        found[ast.unparse(function)] = None
        for node in (each for statement in function.body for each in _nodes(statement)):
            for other in _others(node):
                changed = ast.unparse(ast.fix_missing_locations(_replaced(function, node, other)))
                place = f"{node.lineno}:{node.col_offset + 1}"
                found.setdefault(changed, Mutation(name, place, function.name, _short(node), _short(other), changed))
    return [one for one in found.values() if one]


def _nodes(node: Any) -> Iterator[Any]:
    """Those that may be changed, from the outside in."""
    if _untouched(node):
        return
    yield node
    signed = isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)  # one number
    annotations = [getattr(node, "returns", None), getattr(node, "annotation", None)]
    for child in () if signed else ast.iter_child_nodes(node):
        if not isinstance(child, ast.arguments) and child not in annotations:
            yield from _nodes(child)


def _untouched(node: Any) -> bool:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True  # a docstring
    if isinstance(node, ast.If) and any(isinstance(each, ast.Raise) for each in node.body):
        return True
    return isinstance(node, ast.Raise | ast.JoinedStr | ast.expr_context)


def _others(node: Any) -> Iterator[Any]:
    match node:
        case ast.BinOp(left, op, right):
            yield from (ast.BinOp(left, other(), right) for other in OPERATORS.get(type(op), ()))
            if isinstance(op, TERMS):
                yield left
            if isinstance(op, ast.Add | ast.Mult):
                yield right
            if isinstance(op, ORDERED):
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
            yield from _other_calls(node)
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if _mentions(value, name):
            yield ast.Pass()
        case ast.AugAssign():
            yield ast.Pass()


def _other_calls(call: ast.Call) -> Iterator[Any]:
    function, args, keywords = call.func, call.args, call.keywords
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name in KEPT:
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


class _Replacing(ast.NodeTransformer):
    def __init__(self, node: Any, other: Any):
        self.node, self.other = node, other

    def visit(self, node: Any) -> Any:
        return self.other if node is self.node else self.generic_visit(node)


def _replaced(function: ast.FunctionDef, node: Any, other: Any) -> Any:
    """A copy of the function, another node at this one's place in it."""
    place = next(i for i, each in enumerate(ast.walk(function)) if each is node)
    copied = copy.deepcopy(function)
    return _Replacing(next(each for i, each in enumerate(ast.walk(copied)) if i == place), copy.deepcopy(other)).visit(copied)


def _short(node: Any) -> str:
    return ast.unparse(ast.fix_missing_locations(node)).partition("\n")[0]
