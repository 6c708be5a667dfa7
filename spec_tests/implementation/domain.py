"""The domain that a backend states: restrictions of an operation's arguments, outside of which no law calls it."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..specification.formats import DTYPES
from ..specification.registry import dimensions, has_named_batch

if TYPE_CHECKING:
    from ..specification.registry import Specification


FLAGS = MappingProxyType(
    {
        "contiguous": "contiguous",
        "empty": "empty",
        "broadcast": "batches that broadcast",
        "one_array": "one array for q, k and v",
        "equal_clips": "one number for both clips",
        "equal_lengths": "sequences of one number of tokens that count",
        "removed_entries": "logits of −∞",
        "padding": "ids of −1, which are no token",
        "slot_scales": "scales for each slot",
    }
)  # true or false, in words

THINGS = ("broadcast", "removed_entries", "padding", "slot_scales")  # of the flags, those that are denied by "no"

# What a domain may name besides dimensions and keywords.
NOT_DIMENSIONS = frozenset(
    {"dtype", "batch_dims", "advantage_dims", "positions", "max_position", "differentiable", "index_dtype", "weights", *FLAGS}
)

_BROADCASTING = frozenset({"positions", "mask", "bias"})

ATTENDED = ("q", "k", "v")  # the arrays of attention

SCALES = ("k_scale", "v_scale")  # of a cache of numbers in few bits

INDEX_ARRAYS = frozenset({"lengths", "cu_seqlens", "cu_seqlens_q", "cu_seqlens_k", "block_table", "indices"})

REQUIRED = "required"  # of an optional array: every call must have it
ABSENT = (None,)  # of an optional array, or of a keyword whose default is None: no call has it
INDEX_DTYPES = ("int32", "int64")

POSITIONS = ("arbitrary", "offset", "consecutive")

HEAD_DIMENSIONS = MappingProxyType({"num_heads": "h", "num_kv_heads": "h_kv"})  # a keyword, and the dimension with the same size


def broadcasts(spec: Specification, name: str) -> bool:
    """Whether the batch dimensions of an argument may differ from those of the others. A bias beside scales has theirs."""
    return name in _BROADCASTING and not (name == "bias" and "scale" in spec.core)


def canonical(spec: Specification, stated: dict[str, Any], left_out: frozenset[str] | None = None) -> dict[str, Any]:
    """Return the domain with one name for each dimension: that of the dimension, if a keyword has the same size.

    What no call has is left out of it: see `list_left_out`, which says so if `left_out` is not given.
    """
    known, left_out = dimensions(spec), list_left_out(spec, stated) if left_out is None else left_out
    stated = {name: allowed for name, allowed in stated.items() if name not in left_out}
    if "max_position" in stated and "n" in known:  # the positions 0, 1, 2, … are those of a call without others
        stated = {"n": range(stated["max_position"] + 2), **stated}
    return {HEAD_DIMENSIONS[name] if HEAD_DIMENSIONS.get(name) in known else name: allowed for name, allowed in stated.items()}


def list_left_out(spec: Specification, stated: dict[str, Any]) -> frozenset[str]:
    """Return the optional arrays, and the keywords whose default is None, that no call inside the domain has."""
    optional = [name for name, parameter in spec.parameters.items() if parameter.default is None]
    return frozenset(name for name in optional if is_absent(stated.get(name)))


def find_complaints(spec: Specification, stated: Any) -> Iterator[str]:
    """Yield what is wrong with the domain that a backend states for an operation, each in one sentence."""
    if not isinstance(stated, dict):
        yield f"its domain of {spec.name} is {stated!r}; give a dict of restrictions"
        return
    keywords = {name for name in spec.parameters if name not in spec.positional}
    broadcasts = spec.declaration.broadcasts
    applies = {
        "advantage_dims": "advantages" in spec.positional,
        **dict.fromkeys(("equal_clips", "equal_lengths"), "advantages" in spec.positional),
        "removed_entries": "removed entries might be absent" in spec.declaration.branches,
        "padding": "output_ids" in spec.positional,
        "slot_scales": {*SCALES} <= {*spec.parameters},
        "positions": "positions" in spec.positional,
        "max_position": "positions" in spec.positional,
        "differentiable": spec.has_several_results,
        "broadcast": broadcasts,
        "one_array": {*ATTENDED} <= {*spec.positional},
        "index_dtype": bool(INDEX_ARRAYS.intersection(spec.positional)),
        "weights": bool(spec.declaration.optional_weights),
    }
    known = dimensions(spec) | keywords | _optional_arrays(spec) | {name for name in NOT_DIMENSIONS if applies.get(name, True)}
    for name, allowed in stated.items():
        if name not in known:
            matches = difflib.get_close_matches(str(name), known, n=2)
            hint = f"did you mean {' or '.join(matches)}? There" if matches else "there"
            yield f"its domain of {spec.name} names {name!r}; {hint} are {', '.join(sorted(known))}"
        elif problem := _find_problem(spec, name, allowed, stated):
            yield f"its domain of {spec.name} gives {name} = {allowed!r}; {problem}"


def _optional_arrays(spec: Specification) -> set[str]:
    """Return the names of the arrays that a call may leave out."""
    return {name for name in spec.positional if spec.parameters[name].default is None}


def _find_problem(spec: Specification, name: str, allowed: Any, stated: dict[str, Any]) -> str:
    """Return what is wrong with one restriction, or ""."""
    if name in _optional_arrays(spec) and is_absent(allowed):
        return ""
    if name in FLAGS:
        return "" if isinstance(allowed, bool) else "it is True or False"
    if name == "positions":
        return "" if allowed in POSITIONS else f"it is one of {', '.join(POSITIONS)}"
    if name == "max_position":
        return "" if type(allowed) is int and allowed >= 0 else "it is the largest position, a number from 0 on"
    if name == "index_dtype":
        return "" if allowed in INDEX_DTYPES else f"it is one of {', '.join(INDEX_DTYPES)}"
    if name in _optional_arrays(spec) and name not in NOT_DIMENSIONS:
        advice = f"an array that every call must have is {REQUIRED!r}, and one that no call has is (None,)"
        return "" if allowed == REQUIRED else advice
    if isinstance(allowed, str) and name in dimensions(spec):
        others = sorted(dimensions(spec) - {name})
        return "" if set(allowed.split()) <= set(others) else f"a string names another dimension: {', '.join(others) or 'none'}"
    if isinstance(allowed, str) or not isinstance(allowed, Collection):
        return f"give all the values that it may have, as in ({allowed!r},), or a range"
    if not allowed:
        return "it allows no value"
    if name == "differentiable" and (unknown := [result for result in allowed if result not in spec.results]):
        return f"{unknown[0]!r} is none of its results, {', '.join(spec.results)}"
    if name == "weights" and (unknown := [weight for weight in allowed if weight not in spec.declaration.optional_weights]):
        return f"{unknown[0]!r} is none of its optional weights, {', '.join(spec.declaration.optional_weights)}"
    if name == "batch_dims" and has_named_batch(spec) and 1 not in allowed:
        return "its batch has 1 dimension in every call"
    if name == "dtype" and name not in spec.parameters and (unknown := [dtype for dtype in allowed if dtype not in DTYPES]):
        return f"{unknown[0]!r} is none of {', '.join(DTYPES)}"
    return _find_unknown_value(spec, name, allowed)


def is_absent(allowed: Any) -> bool:
    """Whether a restriction of an optional array, or of a keyword, says that no call has it."""
    return isinstance(allowed, list | tuple) and tuple(allowed) == ABSENT


def _find_unknown_value(spec: Specification, name: str, allowed: Collection[Any]) -> str:
    """Return which of these values a keyword with a fixed set of values does not have, and what it has; "" if it has all."""
    if not (choices := spec.declaration.choices.get(name)):
        return ""
    known = list(dict.fromkeys([*([spec.defaults[name]] if name in spec.defaults else []), *choices]))
    strangers = [value for value in allowed if value not in known]
    return f"{strangers[0]!r} is none of {', '.join(map(str, known))}" if strangers else ""


def describe_domain(stated: dict[str, Any]) -> str:
    """Return the restrictions in words, as the report prints them. What is taken besides is none."""
    restrictions = {name: allowed for name, allowed in stated.items() if not (name in THINGS and allowed)}
    return ", ".join(_describe_restriction(name, allowed) for name, allowed in restrictions.items())


def _describe_restriction(name: str, allowed: Any) -> str:
    if name in FLAGS:
        return f"{'no ' if name in THINGS else '' if allowed else 'not '}{FLAGS[name]}"
    if allowed == REQUIRED:
        return f"with {name}"
    if is_absent(allowed):
        return f"without {name}"
    if isinstance(allowed, str):
        return f"{allowed} {name}" if name == "positions" else f"{name} = {allowed}"
    if name == "max_position":
        return f"positions up to {allowed}"
    if isinstance(allowed, range) and len(allowed) > 4:
        step = "" if allowed.step == 1 else f" in steps of {allowed.step}"
        return f"{name} {allowed[0]} to {allowed[-1]}{step}"
    values = [str(value) for value in allowed]
    if name == "weights":
        return f"weights with {', '.join(values)}"
    return f"{name} {' or '.join(values)}"
