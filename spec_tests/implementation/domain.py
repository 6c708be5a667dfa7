"""A kernel's restrictions hold for every call: what lies outside is not tried, whichever statement asks for it."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from ..specification.formats import DTYPES
from ..specification.registry import dimensions

if TYPE_CHECKING:
    from ..specification.registry import Specification


NOT_DIMENSIONS = {"dtype", "batch_dims", "contiguous", "empty", "positions"}  # what a domain names beside dimensions and keywords

BROADCAST = {"positions", "mask", "bias"}  # whatever the rank of the batch

POSITIONS = ("arbitrary", "offset", "consecutive")

HEADS = {"num_heads": "h", "num_kv_heads": "h_kv"}  # the same number by the keyword's name and by the dimension's


def canonical(spec: Specification, stated: dict[str, Any]) -> dict[str, Any]:
    """The domain with one name for each dimension."""
    return {HEADS.get(name, name) if HEADS.get(name) in dimensions(spec) else name: allowed for name, allowed in stated.items()}


def find_complaints(spec: Specification, stated: Any) -> Iterator[str]:
    """What is wrong with the domain that a backend states for an operation, each in one sentence."""
    if not isinstance(stated, dict):
        yield f"its domain of {spec.name} is {stated!r}; give a dict of restrictions"
        return
    keywords = {name for name in spec.parameters if name not in spec.positional}
    known = dimensions(spec) | keywords | (NOT_DIMENSIONS if "positions" in spec.positional else NOT_DIMENSIONS - {"positions"})
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


def describe_domain(stated: dict[str, Any]) -> str:
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
