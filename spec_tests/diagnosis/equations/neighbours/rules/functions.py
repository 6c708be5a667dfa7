"""Functions: left out, replaced by a related one, or applied where there is none."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from .....specification.registry import gradients, operations, same_kind, specification
from ..edit import Change
from ._rule import Place, fill, is_numpy, load, name_of, rule

MARKS = ("float64", "rounded", "eager", "wide", "exact", "beside_one", "through_quotient")
REDUCTIONS = frozenset({"max", "sum", "mean"})
ELEMENTWISE = (
    "-x", "np.abs(x)", "np.square(x)", "np.sqrt(x)", "1 / x", "1 + x", "1 - x", "x / 2", "2 * x", "np.maximum(x, 0.0)",
    "np.exp(x)", "exp2(x)", "np.log(x)", "log2(x)", "np.tanh(x)", "logistic(x)", "normal_cdf(x)", "positive(x)",
    "finite_or_zero(x)", "np.maximum(x, 0.0) + np.log(1 + np.exp(-np.abs(x)))", "x * x * x", "np.sin(x)", "np.cos(x)",
    "x * logistic(x)", "x * normal_cdf(x)",
    "x * (1 - x)", "np.tanh(np.log(1 + np.exp(x)))", "np.maximum(x, 0.0) + np.exp(-np.maximum(-x, 0.0)) - 1",
)  # fmt: skip
UNARY = frozenset({"exp", "log", "square", "abs", "sqrt", "tanh", "logistic", "normal_cdf", "positive", "cos", "sin"})


@rule(ast.Call)
def call_dropped(place: Place) -> Iterator[Any]:
    """A function is left out: its argument, or one of its arguments, stands for its value."""
    node = place.node
    if place.seen.kind == "other" and name_of(node) not in ("rope_vjp",):
        return
    for argument in node.args:
        if not isinstance(argument, ast.Starred):
            yield argument
    if isinstance(node.func, ast.Attribute) and not is_numpy(node.func.value):
        yield node.func.value


@rule(ast.Call)
def another_reduction(place: Place) -> Iterator[Any]:
    """A maximum, sum or mean stands for another, or for a smallest element, a root of a mean square, or a mean of sizes."""
    node, name = place.node, name_of(place.node)
    if name in REDUCTIONS and isinstance(node.func, ast.Attribute):
        for other in sorted(REDUCTIONS - {name}):
            yield ast.Call(ast.Attribute(node.func.value, other, ast.Load()), node.args, node.keywords)
        yield ast.Call(ast.Name("smallest", ast.Load()), node.args, node.keywords)
        square, size = fill("np.square(x)", x=node.args[0]), fill("np.abs(x)", x=node.args[0])
        yield fill("np.sqrt(x)", x=ast.Call(node.func, [square], node.keywords))
        yield ast.Call(node.func, [size], node.keywords)


@rule(ast.Call)
def another_function(place: Place) -> Iterator[Any]:
    """An elementwise function stands for another."""
    is_unary = name_of(place.node) in UNARY and len(place.node.args) == 1
    if is_unary or (place.seen.kind == "array" and name_of(place.node) in (*operations(), "maximum")):
        for template in (*ELEMENTWISE, "softmax_of(x, -1)", "compounded(x)"):
            yield fill(template, x=place.node.args[0])
    pairs = {"logical_and": "logical_or", "logical_or": "logical_and"}
    if other := pairs.get(name_of(place.node)):
        yield ast.Call(ast.Attribute(place.node.func.value, other, ast.Load()), place.node.args, [])
    if name_of(place.node) == "joined" and len(place.node.args) == 2:
        yield fill("np.maximum(a, b)", a=place.node.args[0], b=place.node.args[1])
    if name_of(place.node) == "repeat":
        yield ast.Call(ast.Name("in_turn", ast.Load()), place.node.args, place.node.keywords)


@rule(ast.BinOp, ast.Name, ast.Call, ast.Subscript, ast.IfExp, cost=1.5)
def function_applied(place: Place) -> Iterator[Any]:
    """An elementwise function is applied where there is none."""
    if place.seen.kind in ("array", "number"):
        for template in ELEMENTWISE:
            yield fill(template, x=place.node)
    elif place.seen.kind == "integers":
        yield from (
            fill(template, x=place.node) for template in ("-x", "np.abs(x)", "x * x", "x + 1", "x - 1", "2 * x", "x // 2")
        )
    elif place.seen.kind == "mask":
        yield fill("np.logical_not(x)", x=place.node)


@rule(ast.BinOp, ast.Name, ast.Call, cost=1.25)
def function_applied_again(place: Place) -> Iterator[Any]:
    """A function that the equation calls is applied at another place as well."""
    if place.seen.kind == "array":
        calls = [node for node in ast.walk(place.site.tree) if isinstance(node, ast.Call) and len(node.args) == 1]
        plain = {node.func.id: node for node in calls if isinstance(node.func, ast.Name) and node.func.id not in MARKS}
        for call in plain.values():
            if not any(node is place.node for keyword in call.keywords for node in ast.walk(keyword)):
                yield ast.Call(call.func, [place.node], call.keywords)


@rule(ast.Call)
def another_operation(place: Place) -> Iterator[Any]:
    """An operation is called in place of another that takes the same arguments."""
    node, name = place.node, name_of(place.node)
    if isinstance(node.func, ast.Name) and name in operations():
        for other in _same_arguments(name):
            yield ast.Call(ast.Name(other, ast.Load()), node.args, node.keywords)


@rule(ast.FunctionDef)
def whole_operation(place: Place) -> Iterator[Any]:
    """The function computes another operation, of the same arguments."""
    name = place.node.name
    if name in (*operations(), *gradients()):
        for other in _same_arguments(name):
            spec = specification(other)
            given = [a.arg for a in place.node.args.args if a.arg in spec.positional]
            call = ast.Call(load(other), [load(a) for a in given], [ast.keyword(k, load(k)) for k in spec.required])
            yield (Change(place.node, "body", None, [ast.Return(call)]),)
            if not spec.is_gradient:
                for template in ("np.log(y)", "np.exp(y)", "-y"):
                    yield (Change(place.node, "body", None, [ast.Return(fill(template, y=call))]),)
            if given:
                before = ast.Assign([ast.Name(given[0], ast.Store())], call)
                yield (Change(place.node, "body", None, [before, *place.node.body]),)


def _same_arguments(name: str) -> list[str]:
    spec = specification(name)
    required = [n for n, p in spec.parameters.items() if p.default is p.empty]
    return [
        other
        for other in same_kind(name)
        if other != name
        and [n for n, p in specification(other).parameters.items() if p.default is p.empty] == required
        and not specification(other).dtype
    ]
