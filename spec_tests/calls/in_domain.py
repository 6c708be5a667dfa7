"""Whether a call lies inside the domain that the backend states, and which keywords its function does not take."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..implementation.domain import BROADCAST, NOT_DIMENSIONS
from ..specification.registry import argument_dimensions, dimensions

if TYPE_CHECKING:
    from .call import Call


def dimension_sizes(call: Call) -> dict[str, int]:
    """What the dimensions of a call measure."""
    spec, named = call.operation.spec, call.named
    found = {}
    if {"h", "num_heads"} <= dimensions(spec) | named.keys():
        found = {"h": named["num_heads"], "h_kv": named.get("num_kv_heads") or named["num_heads"]}
    for name, labels in argument_dimensions(spec).items():
        if (shape := _shape(name, named)) is None:
            continue
        for label, size in zip(labels, shape[len(shape) - len(labels) :], strict=False):
            *factors, last = label.split()  # "h d_k": the heads side by side
            found[last] = size // max(math.prod(found.get(factor, 1) for factor in factors), 1)
    rows = next((name for name in spec.positional if name != "cotangent"), "")  # a reduction's cotangent has no such axis
    if not argument_dimensions(spec) and (shape := _shape(rows, named)):
        (label,) = dimensions(spec)
        found[label] = shape[named.get("axis", -1)]
    return found


def _shape(name: str, named: dict[str, Any]) -> tuple[int, ...] | None:
    """Of the argument, or of the array of that name among the weights."""
    return getattr(named.get(name, named.get("weights", {}).get(name)), "shape", None)


def keyword_not_taken(call: Call) -> str:
    """Which of the call's keywords the function does not take, though its value is not what the function has without it."""
    operation = call.operation
    for name, value in call.keywords.items():
        if value is None or operation.accepts(name):
            continue
        default = -1 if name == "axis" else operation.spec.parameters[name].default
        if isinstance(value, np.ndarray) or (value != default and value not in operation.domain.get(name, ())):
            return f"{operation.backend.name}'s {operation.name} takes no {name}"
    return ""


def outside_domain(call: Call) -> str:
    """Why the call lies outside the domain that the backend states for the operation; nothing if it does not."""
    domain, spec = call.operation.domain, call.operation.spec
    if not domain:
        return ""
    measured = dimension_sizes(call)
    shapes = {name: _shape(name, call.named) for name in spec.core if name not in BROADCAST}
    trailing = {
        name: core or int(not argument_dimensions(spec)) for name, core in spec.core.items()
    }  # an elementwise row is no batch
    ranks = [max(len(shape) - trailing[name], 0) for name, shape in shapes.items() if shape is not None]
    for rank in ranks:
        if rank not in domain.get("batch_dims", ranks):
            return f"its domain has no batch of {rank} dimensions"
    if domain.get("empty") is False and 0 in call.value.shape:
        return "its domain excludes empty arrays"
    for name, allowed in domain.items():
        if name in NOT_DIMENSIONS:
            continue
        value: Any = measured.get(name, call.keywords.get(name, spec.defaults.get(name)))
        if isinstance(allowed, str):  # another dimension, or a product of some
            allowed = (math.prod(measured.get(factor, value) for factor in allowed.split()),) if value is not None else ()
        if value is not None and value not in allowed:
            return f"its domain has no {name} = {value}"
    return ""
