"""A line of an equation in the notation of the operations' pages: without NumPy, without marks, with names that a reader knows.

What is changed is written between « and ». A line that is too long has … in place of parts, first of those that are not changed.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterator
from functools import cache
from types import FunctionType, MappingProxyType
from typing import Any

from reference_numpy import _reverse_mode

from ....specification.registry import gradients, operations
from . import steps, whole_steps
from .notation_table import NOTATIONS, PLAIN, SECOND

MAX_LENGTH = 120  # characters: the names of an option and of a step, and what is done with them

INSIDE = (steps, whole_steps, _reverse_mode)  # modules of whose functions lines call none that begins with an underscore
OPEN, CLOSE, LEFT_OUT = "«", "»", "…"
LENGTHS = (60, 40, 30, 20, 14, 10, 6, 3, 1)  # of the longest parts that are written, in turn until the line is short enough
OPERATORS: MappingProxyType[type[ast.operator], tuple[str, int]] = MappingProxyType(
    {
        ast.Add: (" + ", 5), ast.Sub: (" - ", 5), ast.Mult: (" * ", 6), ast.Div: (" / ", 6), ast.FloorDiv: (" // ", 6),
        ast.Mod: (" mod ", 6), ast.MatMult: (" ", 7), ast.Pow: ("^", 9), ast.BitAnd: (" and ", 3), ast.BitOr: (" or ", 2),
        ast.BitXor: (" xor ", 2), ast.LShift: (" << ", 5), ast.RShift: (" >> ", 5),
    }
)  # fmt: skip
COMPARISONS: MappingProxyType[type[ast.cmpop], str] = MappingProxyType(
    {
        ast.Eq: "=", ast.NotEq: "≠", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
        ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",  # codespell:ignore
    }
)  # fmt: skip
WORDS, CONDITION, NEGATION, COMPARISON, ATOM = 0, 1, 4, 4, 10  # how tightly a part holds together, beside those of OPERATORS
SAME_VALUES = ("reshape", "ravel", "squeeze", "broadcast_to")  # NumPy's functions that are written as their argument
REDUCTIONS = ("sum", "mean", "max", "min", "cumsum", "any", "all", "prod", "argmax")
ELEMENTWISE = MappingProxyType({"maximum": "max", "minimum": "min", "concatenate": "concat", "abs": "abs"})


class Writer:
    """Writes the parts of a line, those that are marked between « and »."""

    def __init__(
        self,
        marked: Collection[int],
        longest: int = 1000,
        longest_marked: int = 1000,
        *,
        in_full: bool = False,
    ):
        self.marked = marked
        self.longest, self.longest_marked = longest, longest_marked
        self.in_full = in_full  # whether options are written that a page leaves out, such as keepdims
        self.inside = 0  # how many marks are open

    def has_mark(self, node: Any) -> bool:
        return isinstance(node, ast.AST) and any(id(each) in self.marked for each in ast.walk(node))

    def part(self, node: Any, at_least: int = WORDS) -> str:
        """Return a part, in parentheses if it holds together less tightly than its surroundings ask for."""
        if id(node) in self.marked and not self.inside:
            self.inside += 1
            text, tightness = self._expression(node)
            self.inside -= 1
            return f"{OPEN}({text}){CLOSE}" if tightness < at_least else f"{OPEN}{text}{CLOSE}"
        text, tightness = self._expression(node)
        if len(text) > (self.longest_marked if self.inside else self.longest) and (self.inside or not self.has_mark(node)):
            return LEFT_OUT
        return f"({text})" if tightness < at_least else text

    def _as(self, node: Any) -> tuple[str, int]:
        """Return a part that stands for the whole of what is written."""
        return (self.part(node), ATOM) if id(node) in self.marked and not self.inside else self._expression(node)

    def statement(self, node: ast.stmt) -> str:
        """Return a statement, or the first line of one that holds others."""
        text = self._statement(node)
        return f"{OPEN}{text}{CLOSE}" if id(node) in self.marked else text

    def _statement(self, node: Any) -> str:
        match node:
            case ast.Return(value=None):
                return "no result"
            case ast.Return():
                return f"y = {self.part(node.value)}"
            case ast.Assign(targets=[ast.Tuple(elts=[ast.Name(id="whole"), target])], value=ast.Tuple(elts=[_, value])):
                return f"{self.part(target)} = {self.part(value)}"  # the array as it was is kept for its length
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(values):
                pairs = list(zip(targets, values, strict=True))
                shown = [pair for pair in pairs if any(map(self.has_mark, pair))] or pairs
                return ", ".join(f"{self.part(target)} = {self.part(value)}" for target, value in shown)
            case ast.Assign():
                return f"{' = '.join(map(self.part, node.targets))} = {self.part(node.value)}"
            case ast.AugAssign():
                operator, tightness = OPERATORS[type(node.op)]
                name = self.part(node.target)
                return f"{name} = {name}{operator}{self.part(node.value, tightness)}"
            case ast.If() | ast.While():
                return f"where {self.part(node.test)}"
            case ast.For():
                return f"for each {self.part(node.target)} of {self.part(node.iter)}"
            case ast.Expr():
                return self.part(node.value)
            case ast.Raise():
                return "no result"
        return LEFT_OUT

    def _expression(self, node: Any) -> tuple[str, int]:  # noqa: C901 - one case for each kind of node
        match node:
            case ast.Name():
                return node.id.strip("_"), ATOM
            case ast.Constant():
                return _constant(node.value), ATOM if not _is_negative(node.value) else 5
            case ast.UnaryOp():
                sign = {ast.USub: "-", ast.UAdd: "+", ast.Not: "not ", ast.Invert: "not "}[type(node.op)]
                is_sign = isinstance(node.op, ast.USub | ast.UAdd)
                return sign + self.part(node.operand, 6 if is_sign else NEGATION), 5 if is_sign else NEGATION
            case ast.BinOp():
                operator, tightness = OPERATORS[type(node.op)]
                is_power = isinstance(node.op, ast.Pow)
                left, right = self.part(node.left, tightness + is_power), self.part(node.right, tightness + 1)
                return f"{left}{operator}{right}", tightness
            case ast.BoolOp():
                word, tightness = (" and ", 3) if isinstance(node.op, ast.And) else (" or ", 2)
                return word.join(self.part(value, tightness + 1) for value in node.values), tightness
            case ast.Compare():
                text = self.part(node.left, COMPARISON + 1)
                for comparison, operand in zip(node.ops, node.comparators, strict=True):
                    text += f" {COMPARISONS[type(comparison)]} {self.part(operand, COMPARISON + 1)}"
                return text, COMPARISON
            case ast.IfExp():
                test, body, other = (self.part(each, CONDITION + 1) for each in (node.test, node.body, node.orelse))
                return f"{body} if {test}, else {other}", CONDITION
            case ast.Attribute(value=ast.Name(id="np" | "math")):
                return node.attr, ATOM
            case ast.Attribute(attr="T" | "mT"):
                return f"{self.part(node.value, ATOM)}^T", 9
            case ast.Attribute():
                return f"{self.part(node.value, ATOM)}.{node.attr}", ATOM
            case ast.Subscript():
                return self._subscript(node)
            case ast.Tuple() | ast.List():
                return f"({', '.join(map(self.part, node.elts))})", ATOM
            case ast.Starred():
                return self.part(node.value), ATOM
            case ast.Slice():
                return ":".join(self.part(each) if each else "" for each in (node.lower, node.upper)) + (
                    f":{self.part(node.step)}" if node.step else ""
                ), ATOM
            case ast.GeneratorExp() | ast.ListComp():
                loops = " ".join(f"for each {self.part(each.target)} of {self.part(each.iter)}" for each in node.generators)
                return f"{self.part(node.elt)} {loops}", WORDS
            case ast.Lambda():
                return self.part(node.body), WORDS
            case ast.Dict():
                pairs = zip(node.keys, node.values, strict=True)
                shown = [f"{self.part(key)}: {self.part(value)}" if key else self.part(value) for key, value in pairs]
                return f"({', '.join(shown)})", ATOM
            case ast.DictComp():
                loops = " ".join(f"for each {self.part(each.target)} of {self.part(each.iter)}" for each in node.generators)
                return f"{self.part(node.key)}: {self.part(node.value)} {loops}", WORDS
            case ast.Call():
                return self._call(node)
        return LEFT_OUT, ATOM

    def _subscript(self, node: ast.Subscript) -> tuple[str, int]:
        if _keeps_all(node.slice) and not self.has_mark(node.slice):
            return self.part(node.value, ATOM), ATOM
        index = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return f"{self.part(node.value, ATOM)}[{', '.join(map(self.part, index))}]", ATOM

    def _call(self, node: ast.Call) -> tuple[str, int]:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) not in ("np", "math"):
            return f"{self.part(node.func)}({', '.join(map(self.part, node.args))})", ATOM
        if isinstance(node.func, ast.Attribute):
            return self._numpy(name, node)
        if name in PLAIN and len(node.args) > (name in SECOND):
            return self._as(node.args[name in SECOND])
        if name in NOTATIONS:
            return self._in_words(name, node)
        if name in (*operations(), *gradients(), *PYTHON):
            shown = [self.part(each) for each in node.args]
            shown += [
                f"{each.arg}={self.part(each.value)}"
                for each in node.keywords
                if each.arg and (self.in_full or self.has_mark(each))
            ]
            return f"{name}({', '.join(shown)})", ATOM
        return f"{self.part(node.func, ATOM)}({', '.join(map(self.part, node.args))})", ATOM  # of a variable

    def _in_words(self, name: str, node: ast.Call) -> tuple[str, int]:
        template, names = NOTATIONS[name], parameters_of(name)
        given = {names[i] if i < len(names) else f"{i}": each for i, each in enumerate(node.args)}
        given |= {each.arg: each.value for each in node.keywords if each.arg}
        is_words = not template.startswith(CLOSED)
        asked = _names_in(template)
        written = {each: self._in_template(given[each], is_words) if each in given else LEFT_OUT for each in asked}
        text = template.format_map(written).replace("axis axis", "axis")
        hidden = [value for key, value in given.items() if key not in asked and (self.in_full or self.has_mark(value))]
        if hidden:
            text += f" with {', '.join(map(self.part, hidden))}"
        return text, WORDS if is_words or hidden else ATOM

    def _in_template(self, node: Any, is_words: bool) -> str:
        is_number = isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant))
        return self.part(node, ATOM if is_words and not is_number else WORDS).strip("'")

    def _numpy(self, name: str, node: ast.Call) -> tuple[str, int]:
        first, *others = node.args if node.args else [ast.Constant("")]
        rest = [*others, *node.keywords]
        has_marked_option = self.in_full or any(self.has_mark(each) for each in rest)
        match name:
            case "square":
                return f"{self.part(first, ATOM)}^2", 9
            case "power" if len(node.args) == 2:
                return f"{self.part(first, ATOM)}^{self.part(node.args[1], ATOM)}", 9
            case "matmul" if len(node.args) == 2:
                return f"{self.part(first, 8)} {self.part(node.args[1], 8)}", 7
            case "swapaxes" if not has_marked_option and _is_transposition(node):
                return f"{self.part(first, ATOM)}^T", 9
            case "where" if len(node.args) == 3:
                test, body, other = (self.part(each, CONDITION + 1) for each in node.args)
                return f"{body} where {test}, else {other}", CONDITION
            case "logical_not":
                return f"not {self.part(first, NEGATION)}", NEGATION
            case "logical_and" | "logical_or" if len(node.args) == 2:
                word, tightness = (" and ", 3) if name == "logical_and" else (" or ", 2)
                return f"{self.part(first, tightness)}{word}{self.part(node.args[1], tightness + 1)}", tightness
            case "asarray" | "float64":
                return self._as(first)
            case _ if name in SAME_VALUES and not has_marked_option and not self.inside:
                return self._as(first)
        shown = [self.part(first), *(self.part(each) for each in others)]
        for keyword in node.keywords:
            is_last_axis = ast.unparse(keyword.value) in ("-1", "axis", "True") or keyword.arg in ("keepdims", "initial")
            if self.in_full or self.has_mark(keyword) or (keyword.arg == "axis" and not is_last_axis):
                shown.append(f"{keyword.arg}={self.part(keyword.value)}")
        return f"{ELEMENTWISE.get(name, name)}({', '.join(shown)})", ATOM


CLOSED = ("sigmoid(", "Phi(", "(", "min(", "sum({x})", "softmax(", "1")  # how templates begin that hold together
PYTHON = ("len", "int", "float", "range", "min", "max", "sum", "abs", "zip", "tuple", "list", "dict", "isinstance", "enumerate")


def write_short(marked: Collection[int], write: Callable[[Writer], str], limit: int, *, in_full: bool = False) -> str:
    """Return what `write` makes with a writer, with as few parts left out as the limit asks for."""
    text = write(Writer(marked, in_full=in_full))
    for lengths in (*((longest, 1000) for longest in LENGTHS), *((LENGTHS[-1], longest) for longest in LENGTHS)):
        if len(text) <= limit:
            return text
        text = write(Writer(marked, *lengths, in_full=in_full))
    if len(text) <= limit:
        return text
    place = max(0, min(text.find(OPEN) - 1, len(text) - limit + 2))  # the rest is a row of parts that are left out
    cut = text[place : place + limit - 3].rstrip(OPEN)
    cut = re.sub(r"^\w*" if place else "", "", cut)  # no part of a name
    return f"{LEFT_OUT if place else ''}{cut}{CLOSE * (cut.count(OPEN) - cut.count(CLOSE))}{LEFT_OUT}"


def parameters_of(name: str) -> tuple[str, ...]:
    """Return the names of the parameters of a function that `NOTATIONS` has, in order."""
    return next((tuple(inspect.signature(f).parameters) for f in list_helpers() if f.__name__ == name), ())


def list_helpers() -> Iterator[FunctionType]:
    """Yield the functions that lines may call and that are no operations: those of the equations, and those of changed lines."""
    known = (*operations(), *gradients(), "d_ff")  # which is a helper of the course, and of no equation
    modules = [module for name, module in sys.modules.items() if name.startswith("reference_numpy.")]
    for module in (*modules, steps, whole_steps):
        for name, value in vars(module).items():
            is_own = isinstance(value, FunctionType) and value.__module__ == module.__name__
            if is_own and name not in known and not (module in INSIDE and name.startswith("_")):
                yield value


@cache
def _names_in(template: str) -> tuple[str, ...]:
    return tuple(part.partition("}")[0] for part in template.split("{")[1:])


def _constant(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e6:
        return str(int(value))
    return "..." if value is Ellipsis else "none" if value is None else repr(value) if isinstance(value, str) else f"{value}"


def _is_negative(value: Any) -> bool:
    return isinstance(value, int | float) and value < 0


def _keeps_all(index: Any) -> bool:
    """Whether an index only adds axes of length 1."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return all(
        (isinstance(part, ast.Constant) and part.value in (None, Ellipsis))
        or (isinstance(part, ast.Slice) and part.lower is part.upper is part.step is None)
        for part in parts
    )


def _is_transposition(node: ast.Call) -> bool:
    return sorted(ast.unparse(each) for each in node.args[1:]) == ["-1", "-2"]
