"""Parameters, changed as the function begins: ignored, fixed, or read wrongly wherever they are used."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from ..edit import Change
from ..trace import Seen
from ._rule import Place, fill, load, names_in, names_that_may_be_none, rule

NUMBER = ("0.0", "1.0", "p * p", "np.sqrt(p)", "1 / p", "p + 1", "-p", "2 * p", "p / 2", "None")
INTEGER = (
    "p + 1", "p - 1", "2 * p", "p // 2", "p // 2 + 1", "p or 1", "None", "1", "0", "-1", "p * p",
    "power_of_two_above(p)", "power_of_two_below(p)",
    *(f"rounded_up(p, {block})" for block in (2, 4, 8, 16, 32, 64)),
)  # fmt: skip
ARRAY = (
    "None", "1 + p", "1 - p", "-p", "2 * p", "p / 2", "np.ones(p.shape)", "np.zeros(p.shape)", "np.square(p)", "np.abs(p)",
    "finite_or_zero(p)",    "transposed_if_square(p)", "p - np.mean(p, axis=-1, keepdims=True)",
    "p / np.sqrt(np.mean(np.square(p), axis=-1, keepdims=True))",
    "np.maximum(p, 0.0)",
)  # fmt: skip


@rule(ast.FunctionDef)
def parameter_changed(place: Place) -> Iterator[Any]:
    """A parameter is ignored, fixed, or read wrongly wherever the function uses it."""
    function, known = (
        place.node,
        names_in(place, "array", "number", "integer", "integers", "mask", "truth", "text", "other", "none"),
    )
    defaults = _find_defaults(function)
    optional = names_that_may_be_none(function)
    used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    for name in [a.arg for a in (*function.args.args, *function.args.kwonlyargs)]:
        if name not in used:  # the right equation needs it not
            for other, like in known.items():
                if like.kind == "array":
                    yield _begin_with(function, other, load(name))
        if name not in known:
            continue
        if name in defaults:
            yield _begin_with(function, name, defaults[name])
        for text in _list_readings(place, known[name]):
            value = fill(text, p=load(name))
            if name in optional and any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(value)):
                value = fill("None if p is None else v", p=load(name), v=value)
            yield _begin_with(function, name, value)
        yield from _exchange(function, name, known)


def _list_readings(place: Place, seen: Seen) -> list[str]:
    """Return what may be read for a parameter p of which such values were seen."""
    match seen.kind:
        case "number" | "none":
            return [*NUMBER]
        case "integer":
            return [*INTEGER]
        case "integers":
            return ["p + 1", "p - 1", "np.abs(p)", "p * 0"]
        case "truth":
            return ["True", "False", "not p"]
        case "text":
            return _list_other_texts(_list_texts(place))
        case "array":
            return [*ARRAY, *_list_moves(len(seen.shape))]
        case "mask":
            return ["None", "np.logical_not(p)", "transposed_if_square(p)", *_list_moves(len(seen.shape))]
        case _:
            return []


def _list_moves(rank: int) -> list[str]:
    """Return arrays p of that many axes whose entries are moved, or left out."""
    axes = range(-min(rank, 4), 0)
    moves = [f"{step}(p, {axis})" for axis in axes for step in ("first_of", "last_of", "reversed_along", "rolled")]
    entries = [f"first_entry(p, {count})" for count in range(1, min(rank, 4))]
    pairs = [f"{step}(p, {a}, {b})" for a in axes for b in range(a + 1, 0) for step in ("reinterpreted", "np.swapaxes")]
    return [*moves, *entries, *pairs]


def _list_other_texts(values: list[str]) -> list[str]:
    """Return an option p that is fixed, one that is taken for another, and two that are exchanged."""
    texts = [repr(text) for text in values]
    for one, instead in itertools.permutations(values, 2):
        texts.append(f"{one!r} if p == {instead!r} else p")
        if one < instead:
            texts.append(f"{{{one!r}: {instead!r}, {instead!r}: {one!r}}}.get(p, p)")
    return texts


def _exchange(function: ast.FunctionDef, name: str, known: Mapping[str, Seen]) -> Iterator[Any]:
    """Yield changes that read another parameter of the same kind and rank in place of one, or exchange the two."""
    seen = known[name]
    if seen.kind not in ("array", "number", "integer"):
        return
    for other, like in known.items():
        if other == name or like.kind != seen.kind or len(like.shape) != len(seen.shape):
            continue
        yield _begin_with(function, name, load(other))
        if seen.kind == "array" and other > name:
            both = ast.Tuple([ast.Name(name, ast.Store()), ast.Name(other, ast.Store())], ast.Store())
            swap = fill("exchanged(a, b)", a=load(name), b=load(other))
            yield (Change(function, "body", None, [ast.Assign([both], swap), *function.body]),)


@rule(ast.FunctionDef, cost=1.5)
def parameter_ignored_beside_another(place: Place) -> Iterator[Any]:
    """An optional parameter is ignored where another one is given."""
    function, defaults = place.node, _find_defaults(place.node)
    for name in defaults:
        for other in defaults:
            if other != name:
                given = fill("p if o is d else q", p=load(name), o=load(other), d=defaults[other], q=defaults[name])
                yield _begin_with(function, name, given)
                absent = fill("q if o is d else p", p=load(name), o=load(other), d=defaults[other], q=defaults[name])
                yield _begin_with(function, name, absent)


def _list_texts(place: Place) -> list[str]:
    """Return the texts that the functions of the file compare something with, or look up: the values of options."""
    compared = [part for node in ast.walk(place.node) if isinstance(node, ast.Compare) for part in node.comparators]
    names = {node.id for node in ast.walk(place.node) if isinstance(node, ast.Name)}
    tables = [table for name in sorted(names) if isinstance(table := place.site.namespace.get(name), dict)]
    texts = [part.value for part in compared if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    looked_up = [key for table in tables for key in table if isinstance(key, str)]
    return list(dict.fromkeys([*texts, *looked_up]))


def _find_defaults(function: ast.FunctionDef) -> dict[str, Any]:
    arguments = function.args
    found = dict(zip([a.arg for a in arguments.args][::-1], arguments.defaults[::-1], strict=False))
    found |= {a.arg: d for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None}
    return found


def _begin_with(function: ast.FunctionDef, name: str, value: Any) -> tuple[Change, ...]:
    """Return the change that puts an assignment at the beginning of a function."""
    assignment = ast.Assign([ast.Name(name, ast.Store())], value)
    return (Change(function, "body", None, [assignment, *function.body]),)
