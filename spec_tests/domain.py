"""A kernel's restrictions hold for every call: what lies outside is not tried, whichever statement asks for it."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .operation import Call
    from .specification import Specification

OTHER = {"dtype", "batch_dims", "contiguous", "empty", "positions"}  # what a domain names beside dimensions and keywords
BROADCAST = {"positions", "mask", "bias"}  # whatever the rank of the batch


@cache
def dimensions(spec: Specification) -> dict[str, tuple[str, ...]]:
    """The names of each array argument's trailing dimensions, as the equation's docstring gives them under Shapes."""
    shapes = (spec.reference.__doc__ or "").partition("Shapes\n")[2].partition("->")[0]
    found = re.findall(r"(\w+) \((?:\.\.\., ?)?([\w ,]*)\)", shapes)
    return {name: tuple(filter(None, re.split(r", *", sizes))) for name, sizes in found if name in spec.positional}


def outside(call: Call) -> str:
    """Why the call lies outside the domain that the backend states for the operation; nothing if it does not."""
    domain = call.operation.domain
    if not domain:
        return ""
    sizes: dict[str, int] = {}
    ranks = []
    for name, names in dimensions(call.operation.spec).items():
        if not isinstance(call.named.get(name), np.ndarray):
            continue
        shape = call.named[name].shape
        sizes |= dict(zip(names, shape[len(shape) - len(names) :], strict=False))
        if name in call.operation.spec.core and name not in BROADCAST:
            ranks.append(len(shape) - call.operation.spec.core[name])
    for rank in ranks:
        if rank not in domain.get("batch_dims", ranks):
            return f"its domain has no batch of {rank} dimensions"
    if domain.get("empty") is False and 0 in call.value.shape:
        return "its domain excludes empty arrays"
    for name, allowed in domain.items():
        if name in OTHER:
            continue
        value: Any = sizes.get(name, call.keywords.get(name, call.operation.spec.defaults.get(name)))
        allowed = (sizes.get(allowed, value),) if isinstance(allowed, str) else allowed
        if value is not None and value not in allowed:
            return f"its domain has no {name} = {value}"
    return ""
