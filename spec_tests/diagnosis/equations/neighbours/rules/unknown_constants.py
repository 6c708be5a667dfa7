"""Constants that nobody gave: a fixed parameter, a limit, a factor, a floor. Their values are solved for (see solve.py)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..edit import UNKNOWN, Change
from ._rule import Place, fill, load, name_of, names_in, rule

STEPS = (
    "x * C", "x + C", "np.maximum(x, C)", "at_most(x, C)", "np.maximum(at_most(x, C), -C)", "np.maximum(x, C * x)",
    "C * np.tanh(x / C)",

)  # fmt: skip
CURVES = ("logistic", "normal_cdf", "tanh", "positive")


@rule(ast.FunctionDef, cost=2.0, has_unknown=True)
def parameter_fixed(place: Place) -> Iterator[Any]:
    """A parameter has a fixed value, whatever is given."""
    known = names_in(place, "number", "none")
    for name in [a.arg for a in (*place.node.args.args, *place.node.args.kwonlyargs)]:
        if name in known:
            assignment = ast.Assign([ast.Name(name, ast.Store())], load(UNKNOWN))
            yield (Change(place.node, "body", None, [assignment, *place.node.body]),)


@rule(ast.FunctionDef, cost=2.0, has_unknown=True)
def parameter_scaled(place: Place) -> Iterator[Any]:
    """A parameter that is a number is multiplied with a constant: its sign and its factor may both be wrong."""
    known = names_in(place, "number")
    for name in [a.arg for a in (*place.node.args.args, *place.node.args.kwonlyargs)]:
        if name in known:
            assignment = ast.Assign([ast.Name(name, ast.Store())], fill("p * C", p=load(name), C=load(UNKNOWN)))
            yield (Change(place.node, "body", None, [assignment, *place.node.body]),)


@rule(ast.Name, ast.Constant, ast.UnaryOp, ast.BinOp, ast.Call, ast.IfExp, cost=2.0, has_unknown=True)
def number_fixed(place: Place) -> Iterator[Any]:
    """A number of the equation has another value."""
    if place.seen.kind == "number":
        yield load(UNKNOWN)


@rule(ast.BinOp, ast.Name, ast.Call, ast.Subscript, cost=2.0, has_unknown=True)
def constant_joins(place: Place) -> Iterator[Any]:
    """An array or a number is multiplied with a constant, raised by it, or limited by it."""
    if place.seen.kind == "array":
        for template in STEPS:
            yield fill(template, x=place.node, C=load(UNKNOWN))
            if isinstance(place.node, ast.Call) and place.node.args and not isinstance(place.node.args[0], ast.Starred):
                yield fill(template, x=place.node.args[0], C=load(UNKNOWN))
    elif place.seen.kind == "number" and not isinstance(place.node, ast.Call):
        for template in ("x * C", "x + C", "np.maximum(x, C)"):
            yield fill(template, x=place.node, C=load(UNKNOWN))


@rule(ast.Call, cost=2.0, has_unknown=True)
def curve_with_a_constant(place: Place) -> Iterator[Any]:
    """A curve stands for another, of an argument multiplied with a constant."""
    if name_of(place.node) in CURVES and len(place.node.args) == 1:
        x = place.node.args[0]
        for template in (
            "logistic(C * x)",
            "normal_cdf(C * x)",
            "(1 + np.tanh(C * x)) / 2",
            "np.tanh(C * x)",
            "np.maximum(at_most(C * x + 0.5, 1.0), 0.0)",
        ):
            yield fill(template, x=x, C=load(UNKNOWN))


@rule(ast.Call, cost=2.0, has_unknown=True)
def hidden_by_a_constant(place: Place) -> Iterator[Any]:
    """What a mask hides is lowered by a constant, not replaced."""
    if name_of(place.node) == "where" and len(place.node.args) == 3:
        mask, shown, _ = place.node.args
        yield fill("x + np.where(m, 0.0, C)", x=shown, m=mask, C=load(UNKNOWN))
