"""Indices and masks of places: kept in too few bits, limited, shifted by a difference of counts, or with a place too many."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from typing import Any

from ._rule import Place, fill, load, names_in, rule

IN_FEWER_BITS = tuple(f"x % 2**{bits}" for bits in (16, 8, 15)) + tuple(
    f"(x + 2**{bits - 1}) % 2**{bits} - 2**{bits - 1}" for bits in (16, 8)
)


@rule(ast.Name, ast.Call, ast.BinOp)
def index_in_fewer_bits(place: Place) -> Iterator[Any]:
    """Indices are kept in so few bits that large ones begin anew."""
    if place.seen.kind == "integers":
        yield from (fill(template, x=place.node) for template in IN_FEWER_BITS)


@rule(ast.Name, ast.Call, ast.BinOp, cost=1.25)
def index_limited(place: Place) -> Iterator[Any]:
    """Indices are limited by the length of an axis of an array, or by one less."""
    if place.seen.kind != "integers":
        return
    yield fill("np.maximum(x, 0)", x=place.node)
    yield fill("np.maximum(x, 1)", x=place.node)
    for name, seen in names_in(place, "array").items():
        for axis in (0, -1, -2)[: len(seen.shape) + 1]:
            for template in ("np.minimum(x, n - 1)", "np.minimum(x, max(n - 2, 0))", "x % n"):
                yield fill(template, x=place.node, n=fill(f"y.shape[{axis}]", y=load(name)))
    for name in names_in(place, "integer"):
        yield fill("np.minimum(x, n - 1)", x=place.node, n=load(name))
        yield fill("np.minimum(x, max(n - 2, 0))", x=place.node, n=load(name))


@rule(ast.Name, ast.Call, ast.BinOp, ast.Subscript, cost=1.25)
def difference_joins(place: Place) -> Iterator[Any]:
    """The difference of two counts is added where it does not belong."""
    if place.seen.kind in ("integer", "integers"):
        for a, b in itertools.permutations(names_in(place, "integer"), 2):
            yield fill("x + (a - b)", x=place.node, a=load(a), b=load(b))


@rule(ast.Compare, ast.BinOp, ast.Name, ast.Call, ast.IfExp, cost=1.25)
def place_added_to_a_mask(place: Place) -> Iterator[Any]:
    """A mask also holds, or does not hold, at the first place, where two places are equal, or where their blocks differ."""
    if place.seen.kind != "mask":
        return
    known = [name for name, seen in names_in(place, "integers").items() if seen.shape]
    for name in known:
        for template in ("x | (y == 0)", "x & (y != 0)"):
            yield fill(template, x=place.node, y=load(name))
    for a, b in itertools.combinations(known, 2):
        for template in ("x | (y == z)", "x & (y != z)", *(f"x & (y // {n} == z // {n})" for n in (16, 32, 64, 128))):
            yield fill(template, x=place.node, y=load(a), z=load(b))
