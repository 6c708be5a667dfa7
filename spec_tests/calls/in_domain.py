"""Whether a call lies inside the domain that the backend states, and which keywords its function does not take."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..implementation.domain import ATTENDED, HEAD_DIMENSIONS, NOT_DIMENSIONS, REQUIRED, SCALES, broadcasts
from ..specification.registry import argument_dimensions, core_of, dimensions, given_dimensions
from .signature import read_parameters

if TYPE_CHECKING:
    from ..specification.registry import Specification
    from .call import Call

KEYWORDS = MappingProxyType({dimension: keyword for keyword, dimension in HEAD_DIMENSIONS.items()})  # that say its size


def dimension_sizes(call: Call) -> dict[str, int]:
    """Return the size of each named dimension in a call."""
    return sizes_of(call.operation.spec, call.named)


def sizes_of(spec: Specification, named: dict[str, Any]) -> dict[str, int]:
    """Return the size of each named dimension of an operation's arguments, which are given by name."""
    sizes = {}
    if {"h", "num_heads"} <= dimensions(spec) | named.keys():
        sizes = {"h": named["num_heads"], "h_kv": named.get("num_kv_heads") or named["num_heads"]}
    shapes = {name: _shape(name, named) for name in argument_dimensions(spec)}
    ranks = {name: len(shape) for name, shape in shapes.items() if shape is not None}
    for name, labels in given_dimensions(spec, ranks, named).items():
        if (shape := shapes[name]) is None:
            continue
        for label, size in zip(labels, shape[len(shape) - len(labels) :], strict=False):
            *factors, last = label.split()  # "h d_k" is one dimension of size h * d_k, and "2 h" one of size 2 h
            sizes[last] = size // max(math.prod(int(f) if f.isdigit() else sizes.get(f, 1) for f in factors), 1)
    if not argument_dimensions(spec) and (shape := _shape(_first_argument(spec), named)):
        (label,) = dimensions(spec)
        sizes[label] = shape[named.get("axis", -1)]
    return sizes


def _first_argument(spec: Specification) -> str:
    """Return the name of the first array, apart from the cotangent: that of a reduction lacks the reduced axis."""
    return next((name for name in spec.positional if name != "cotangent"), "")


def is_empty(call: Call) -> bool:
    """Return whether the result or the first argument has no elements: the sum of no rows is a number."""
    return 0 in call.value.shape or 0 in (_shape(_first_argument(call.operation.spec), call.named) or ())


def _find_largest(positions: Any) -> int:
    """Return the largest of the positions, -1 if there are none."""
    values = np.asarray(getattr(positions, "value", positions)) if positions is not None else np.zeros(0)
    return int(values.max()) if values.size else -1


def _are_equal(arrays: list[Any]) -> bool:
    """Whether arrays have the same values, as those of a function that takes one array for several."""
    first, *others = (getattr(x, "value", x) for x in arrays)
    return all(np.array_equal(first, other, equal_nan=True) for other in others)


def _shape(name: str, named: dict[str, Any]) -> tuple[int, ...] | None:
    """Return the shape of the argument, or of the array of that name among the weights. None if there is no such array."""
    weights = named.get("weights")
    return getattr(named.get(name, weights.get(name) if isinstance(weights, dict) else None), "shape", None)


def list_keywords(function: Callable[..., Any]) -> frozenset[str] | None:
    """Return the keywords that a function takes, None if it takes any or has no signature."""
    parameters = read_parameters(function)
    if parameters is None:
        return None
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return frozenset(p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD))


def keyword_not_taken(call: Call, rejected: Collection[str] = ()) -> str:
    """Return a sentence if the backend's function lacks a keyword of the call, "" otherwise.

    A keyword in `rejected` counts as lacking. A keyword may be left out if the call gives its default, or the one value that the
    backend's domain states.
    """
    operation = call.operation
    for name, value in call.keywords.items():
        if value is None or (operation.accepts(name) and name not in rejected):
            continue
        default = -1 if name == "axis" else operation.spec.parameters[name].default
        if isinstance(value, np.ndarray) or (value != default and value not in operation.domain.get(name, ())):
            return f"{operation.backend.name}'s {operation.name} takes no {name}"
    return ""


def keyword_rejected(call: Call, fault: BaseException | None) -> str:
    """Return the keyword that the function rejected with TypeError, "" if there is none.

    Only a function that takes **keywords can reject one in this way. Its signature does not say which keywords it lacks.
    """
    raised = getattr(fault, "raised", None)
    if call.operation.accepted_keywords is not None or not raised or raised[0] != "TypeError":
        return ""
    found = re.search(r"unexpected keyword argument '(\w+)'", str(fault))
    return found[1] if found else ""


def batch_ranks(call: Call) -> list[int]:
    """Return how many batch dimensions each array of the call has that has some."""
    spec = call.operation.spec
    core_by_name = core_of(spec, call.named)
    shapes = {name: _shape(name, call.named) for name in core_by_name if not broadcasts(spec, name)}
    # The last dimension of an elementwise operation is a row, which is not a batch dimension.
    one_row = int(not argument_dimensions(spec))
    trailing = {name: core or one_row for name, core in core_by_name.items()}
    return [max(len(shape) - trailing[name], 0) for name, shape in shapes.items() if shape is not None]


def _find_other_form(call: Call, domain: dict[str, Any]) -> str:
    """Return a sentence if the batch, or what a loss or a penalty takes, is of another form than the domain states, else ""."""
    ranks, advantages = batch_ranks(call), _shape("advantages", call.named)
    for rank in ranks:
        if rank not in domain.get("batch_dims", ranks):
            return f"its domain has no batch of {rank} dimensions"
    if advantages is not None and len(advantages) not in domain.get("advantage_dims", (1, 2)):
        return f"its domain has no advantages of {len(advantages)} dimensions"
    if domain.get("equal_clips") and call.named.get("clip_low", 0.2) != call.named.get("clip_high", 0.2):
        return "its domain has one number for both clips"
    if domain.get("equal_lengths") and np.ptp(np.sum(call.named["mask"], axis=-1)):
        return "its domain has sequences of one number of tokens that count"
    ids = (call.named.get(name) for name in ("output_ids", "prompt_ids"))
    if not domain.get("slot_scales", True) and any(np.ndim(call.named.get(name, 0)) > 1 for name in SCALES):
        return "its domain has no scale for each slot"
    if not domain.get("padding") and any(x is not None and np.any(np.asarray(x) < 0) for x in ids):
        return "its domain has no ids of −1"
    return ""


def _list_left_out(call: Call) -> Iterator[str]:
    """Yield the optional weights, arrays and keywords of the call that no call inside the domain has."""
    operation = call.operation
    weights = call.named["weights"] if operation.spec.declaration.optional_weights else {}
    given = [weights, *weights.get("layers", ())]
    for name in operation.spec.declaration.optional_weights:
        if any(name in one for one in given) and name not in operation.domain.get("weights", ()):
            yield f"weights[{name!r}]"
    yield from (name for name in sorted(operation.left_out) if call.named.get(name) is not None)


def outside_domain(call: Call) -> str:
    """Return why the call lies outside the domain that the backend states for the operation. Return "" if it lies inside."""
    domain, spec = call.operation.domain, call.operation.spec
    if left_out := next(_list_left_out(call), ""):
        return f"its domain has no {left_out}"
    if not domain:
        return ""
    sizes = dimension_sizes(call)
    if complaint := _find_other_form(call, domain):
        return complaint
    if domain.get("empty") is False and is_empty(call):
        return "its domain excludes empty arrays"
    if lacking := [name for name, allowed in domain.items() if allowed == REQUIRED and call.named.get(name) is None]:
        return f"its domain has no call without {lacking[0]}"
    largest = domain.get("max_position")
    if largest is not None and (position := _find_largest(call.named.get("positions"))) > largest:
        return f"its domain has no position {position}, but those up to {largest}"
    if domain.get("one_array") and not _are_equal([call.named[name] for name in ATTENDED]):
        return "its domain has one array for q, k and v"
    for name, allowed in domain.items():
        if allowed == REQUIRED or (name in NOT_DIMENSIONS and not (name == "dtype" and name in spec.parameters)):
            continue
        if name not in sizes and name not in spec.parameters:
            continue  # the arrays of this call have no such dimension
        if name not in sizes and call.named.get(name) is None and call.operation.accepts(name):
            continue  # a function that takes the option can be called without it; one that lacks it has the value that is stated
        value: Any = sizes.get(name, call.keywords.get(name, spec.defaults.get(name)))
        if isinstance(allowed, str):  # the name of another dimension, or names whose sizes are multiplied
            allowed = (math.prod(sizes.get(factor, value) for factor in allowed.split()),) if value is not None else ()
        if name in KEYWORDS and None in allowed and call.named.get(KEYWORDS[name]) is None:
            continue
        if value not in allowed:
            return f"its domain has no {name} = {value}"
    return ""
