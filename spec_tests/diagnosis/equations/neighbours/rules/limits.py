"""Steps that are cut off or saturated: at a finite number in the place of an infinite one, or at a parameter on both sides."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ._rule import Place, fill, is_numpy, load, names_in, rule

FINITE = ("1e4", "1e9", "1e30", "1e38", "65504.0", "3.4028234663852886e38", "1.7976931348623157e308")
LIMITS = ("np.maximum(x, -1e4)", "np.maximum(x, -1e9)", "at_most(x, 65504.0)", "np.maximum(at_most(x, 65504.0), -65504.0)")


@rule(ast.Attribute, ast.Name, ast.Call)
def finite_for_infinite(place: Place) -> Iterator[Any]:
    """A large finite number stands for an infinite one."""
    if isinstance(place.node, ast.Attribute) and is_numpy(place.node.value) and place.node.attr == "inf":
        yield from (fill(text) for text in FINITE)


@rule(ast.BinOp, ast.Name, ast.Call, ast.Subscript, cost=1.5)
def cut_off_at_a_known_limit(place: Place) -> Iterator[Any]:
    """An array is cut off at the largest number of a format, or at a number that stands for infinity."""
    if place.seen.kind == "array":
        yield from (fill(template, x=place.node) for template in LIMITS)


@rule(ast.BinOp, ast.Name, ast.Call, ast.Subscript, cost=1.25)
def cut_off_at_a_parameter(place: Place) -> Iterator[Any]:
    """An array, or what a function is given in the place of its result, is cut off at a number, from above, below, or both."""
    if place.seen.kind == "array":
        given = place.node.args if isinstance(place.node, ast.Call) else []
        for x in (place.node, *(x for x in given if place.trace.get(x) == place.seen)):
            for name in names_in(place, "number"):
                for template in ("at_most(x, p)", "np.maximum(x, -p)", "np.maximum(at_most(x, p), -p)", "at_most(x, -p)"):
                    yield fill(template, x=x, p=load(name))
