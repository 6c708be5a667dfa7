"""A kernel's restrictions hold for every call: what lies outside is not tried, whichever statement asks for it."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .formats import DTYPES

if TYPE_CHECKING:
    from .call import Call
    from .specification import Specification

OTHER = {"dtype", "batch_dims", "contiguous", "empty", "positions"}  # what a domain names beside dimensions and keywords
BROADCAST = {"positions", "mask", "bias"}  # whatever the rank of the batch
POSITIONS = ("arbitrary", "offset", "consecutive")
HEADS = {"num_heads": "h", "num_kv_heads": "h_kv"}  # the same number by the keyword's name and by the dimension's


@cache
def _shapes(spec: Specification) -> dict[str, tuple[str, ...]]:
    """The names of each array's trailing dimensions, as the equation's docstring gives them under Shapes."""
    found = re.findall(r"(\w+) \((?:\.\.\., ?)?([\w ,]*)\)", _text(spec))
    return {name: tuple(filter(None, re.split(r", *", sizes))) for name, sizes in found if not sizes.startswith("any shape")}


def _text(spec: Specification) -> str:
    return (spec.reference.__doc__ or "").partition("Shapes\n")[2].partition("->")[0]


@cache
def dimensions(spec: Specification) -> frozenset[str]:
    """Every name of a dimension: of the arrays, of the parts of a layer, of the axis, or of an elementwise operation's last."""
    from .specification import operations, specification

    own = {factor for sizes in _shapes(spec).values() for size in sizes for factor in size.split()}
    parts = [dimensions(specification(op)) for op in operations() if op != spec.name and re.search(rf"\b{op}\b", _text(spec))]
    return frozenset(own.union(*parts) or ({"n"} if "axis" in spec.parameters else {"d"} if spec.positional else set()))


def sizes(call: Call) -> dict[str, int]:
    """What the dimensions of a call measure."""
    spec, named = call.operation.spec, call.named
    found = {}
    if {"h", "num_heads"} <= dimensions(spec) | named.keys():
        found = {"h": named["num_heads"], "h_kv": named.get("num_kv_heads") or named["num_heads"]}
    for name, labels in _shapes(spec).items():
        if (shape := _shape(name, named)) is None:
            continue
        for label, size in zip(labels, shape[len(shape) - len(labels) :], strict=False):
            *factors, last = label.split()  # "h d_k": the heads side by side
            found[last] = size // max(math.prod(found.get(factor, 1) for factor in factors), 1)
    rows = next((name for name in spec.positional if name != "cotangent"), "")  # a reduction's cotangent has no such axis
    if not _shapes(spec) and (shape := _shape(rows, named)):
        (label,) = dimensions(spec)
        found[label] = shape[named.get("axis", -1)]
    return found


def _shape(name: str, named: dict[str, Any]) -> tuple[int, ...] | None:
    """Of the argument, or of the array of that name among the weights."""
    return getattr(named.get(name, named.get("weights", {}).get(name)), "shape", None)


def not_taken(call: Call) -> str:
    """Which of the call's keywords the function does not take, though its value is not what the function has without it."""
    operation = call.operation
    for name, value in call.keywords.items():
        if value is None or operation.accepts(name):
            continue
        default = -1 if name == "axis" else operation.spec.parameters[name].default
        if isinstance(value, np.ndarray) or (value != default and value not in operation.domain.get(name, ())):
            return f"{operation.backend.name}'s {operation.name} takes no {name}"
    return ""


def outside(call: Call) -> str:
    """Why the call lies outside the domain that the backend states for the operation; nothing if it does not."""
    domain, spec = call.operation.domain, call.operation.spec
    if not domain:
        return ""
    measured = sizes(call)
    shapes = {name: _shape(name, call.named) for name in spec.core if name not in BROADCAST}
    trailing = {name: core or int(not _shapes(spec)) for name, core in spec.core.items()}  # an elementwise row is no batch
    ranks = [max(len(shape) - trailing[name], 0) for name, shape in shapes.items() if shape is not None]
    for rank in ranks:
        if rank not in domain.get("batch_dims", ranks):
            return f"its domain has no batch of {rank} dimensions"
    if domain.get("empty") is False and 0 in call.value.shape:
        return "its domain excludes empty arrays"
    for name, allowed in domain.items():
        if name in OTHER:
            continue
        value: Any = measured.get(name, call.keywords.get(name, spec.defaults.get(name)))
        if isinstance(allowed, str):  # another dimension, or a product of some
            allowed = (math.prod(measured.get(factor, value) for factor in allowed.split()),) if value is not None else ()
        if value is not None and value not in allowed:
            return f"its domain has no {name} = {value}"
    return ""


# --- what a backend states ----------------------------------------------------------------------------------------------


def canonical(spec: Specification, stated: dict[str, Any]) -> dict[str, Any]:
    """The domain with one name for each dimension."""
    return {HEADS.get(name, name) if HEADS.get(name) in dimensions(spec) else name: allowed for name, allowed in stated.items()}


def complaints(spec: Specification, stated: Any) -> Iterator[str]:
    """What is wrong with the domain that a backend states for an operation, each in one sentence."""
    if not isinstance(stated, dict):
        yield f"its domain of {spec.name} is {stated!r}; give a dict of restrictions"
        return
    keywords = {name for name in spec.parameters if name not in spec.positional}
    known = dimensions(spec) | keywords | (OTHER if "positions" in spec.positional else OTHER - {"positions"})
    for name, allowed in stated.items():
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=2)
            hint = f"did you mean {' or '.join(near)}? There" if near else "there"
            yield f"its domain of {spec.name} names {name!r}; {hint} are {', '.join(sorted(known))}"
        elif wrong := _wrong(spec, name, allowed, stated):
            yield f"its domain of {spec.name} gives {name} = {allowed!r}; {wrong}"


def _wrong(spec: Specification, name: str, allowed: Any, stated: dict[str, Any]) -> str:
    if name in ("contiguous", "empty"):
        return "" if isinstance(allowed, bool) else "it is True or False"
    if name == "positions":
        return "" if allowed in POSITIONS else f"it is one of {', '.join(POSITIONS)}"
    if isinstance(allowed, str) and name in dimensions(spec):
        others = sorted(dimensions(spec) - {name})
        return "" if set(allowed.split()) <= set(others) else f"a string names another dimension: {', '.join(others) or 'none'}"
    if isinstance(allowed, str) or not isinstance(allowed, Collection):
        return f"give all the values that it may have, as in ({allowed!r},), or a range"
    if not allowed:
        return "it allows no value"
    if name == "dtype" and (unknown := [dtype for dtype in allowed if dtype not in DTYPES]):
        return f"{unknown[0]!r} is none of {', '.join(DTYPES)}"
    return ""


def described(stated: dict[str, Any]) -> str:
    """The restrictions in words, as the report prints them."""
    return ", ".join(_described(name, allowed) for name, allowed in stated.items())


def _described(name: str, allowed: Any) -> str:
    if name in ("contiguous", "empty"):
        return f"{'' if allowed else 'not '}{name}"
    if isinstance(allowed, str):
        return f"{allowed} {name}" if name == "positions" else f"{name} = {allowed}"
    if isinstance(allowed, range) and len(allowed) > 4:
        step = "" if allowed.step == 1 else f" in steps of {allowed.step}"
        return f"{name} {allowed[0]} to {allowed[-1]}{step}"
    values = [str(value) for value in allowed]
    return f"{name} {' or '.join(values)}"
