"""The facts of a call: small plain values, such as the size of each dimension, and the optional arguments that it uses."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..implementation.domain import broadcasts
from ..specification.formats import FORMATS
from ..specification.numbers import describe_numbers
from ..specification.registry import Specification, core_of
from .call import Call
from .in_domain import batch_ranks, dimension_sizes

UNEQUAL_BATCHES = "batches that broadcast"
BEYOND = "a position of n or more"
NOT_AS_HEADS = "positions of several sequences, other in number than the heads"


def describe_call(call: Call) -> tuple[dict[str, Any], frozenset[str]]:
    """Return the facts of a call, and the optional arguments and values that it uses."""
    spec, named = call.operation.spec, call.named
    core = core_of(spec, named)
    facts: dict[str, Any] = dict(dimension_sizes(call))
    options, batches = set(), set()
    for name, value in named.items():
        if name in ("wrt", "cotangent"):
            continue
        shape, is_optional = getattr(value, "shape", None), optional_defaults(spec).get(name, spec) is not spec
        if shape is not None:
            if name in core and not broadcasts(spec, name):
                batches.add(shape[: len(shape) - core[name]])
            if name == "positions":
                facts["positions"] = _classify_positions(value)
            if 0 in shape:
                facts["empty"] = True
            if is_optional:
                options.add(name)
        elif isinstance(value, tuple):  # of numbers, which are no fact that a region could be told by
            options |= {name} if is_optional else set()
        elif not isinstance(value, dict | list):
            facts[name] = value.item() if isinstance(value, np.generic) else value
            if is_optional and value is not None and value != spec.defaults.get(name):
                options |= _name_options(name, value)
    facts.setdefault("empty", False)
    for name in optional_arrays(spec):
        facts[f"with {name}"] = name in options
    if ranks := batch_ranks(call):
        facts["batch_dims"] = max(ranks)
    if len(batches) > 1:
        options.add(UNEQUAL_BATCHES)
    facts[UNEQUAL_BATCHES] = len(batches) > 1
    return facts, frozenset(options)


def list_numbers(call: Call) -> str:
    """Return the sentence that an elementwise call has every number of its dtype, "" if it has not."""
    spec = call.operation.spec
    if not spec.declaration.elementwise or call.operation.dtype not in FORMATS:
        return ""
    x = call.arguments[-1]
    return describe_numbers(x, FORMATS[call.operation.dtype], is_gradient=spec.is_gradient) if isinstance(x, np.ndarray) else ""


def describe_positions(call: Call) -> dict[str, bool]:
    """Return facts of the positions of a call, {} if it has none: what code that indexes or broadcasts them may not take."""
    named = call.named
    if (positions := named.get("positions")) is None or not positions.size:
        return {}
    first = named[call.operation.spec.positional[0]]
    facts = {BEYOND: bool(positions.max() >= first.shape[-2])}
    if "num_heads" in named:  # positions (batch, n) of arrays (batch, n, d), whose heads come between these axes
        sequences = positions.shape[-2] if positions.ndim > 1 else 1
        facts[NOT_AS_HEADS] = sequences not in (1, named["num_heads"])
    return facts


def _classify_positions(positions: np.ndarray) -> str:
    """Return the kind of the positions, in the words of a domain."""
    if not np.all(np.diff(positions, axis=-1) == 1):
        return "arbitrary"
    return "offset" if np.any(positions[..., :1]) else "consecutive"


def _name_options(name: str, value: Any) -> set[str]:
    """Return the names of an optional value: that of its argument, and the class of the value."""
    if isinstance(value, bool | str):
        return {f"{name} = {value}"}
    return {name, *(class_name for class_name in [f"{name} {classify_number(value)}"] if value <= 0)}


def classify_number(value: float) -> str:
    """Return the sign of a number as text."""
    return "= 0" if value == 0 else "> 0" if value > 0 else "< 0"


@cache
def optional_defaults(spec: Specification) -> dict[str, Any]:
    """Return the defaults of the arguments that have one, keywords and arrays alike."""
    return {name: p.default for name, p in spec.parameters.items() if p.default is not p.empty}


@cache
def optional_arrays(spec: Specification) -> tuple[str, ...]:
    """Return the arguments that are arrays and have a default."""
    return tuple(name for name in optional_defaults(spec) if name in spec.positional)
