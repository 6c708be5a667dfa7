"""What the signature of a backend's function lacks, or asks for in vain, with what to write."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import FunctionType, MappingProxyType
from typing import Any

from ..specification.aliases import OTHER_MEANINGS
from ..specification.registry import Specification

EXAMPLE_VALUES = MappingProxyType(
    {
        "a_dtype": '"float8_e4m3fn"',
        "b_dtype": '"float8_e4m3fn"',
        "block": "(1, 128)",
        "block_b": "(128, 128)",
        "cosine_steps": "100",
        "d_ff": "256",
        "d_k": "64",
        "d_model": "64",
        "dtype": '"float8_e4m3fn"',
        "eps": "1e-5",
        "group_size": "8",
        "k": "2",
        "learning_rate": "0.02",
        "max_learning_rate": "1e-3",
        "max_norm": "1.0",
        "min_learning_rate": "1e-4",
        "n": "16",
        "num_heads": "8",
        "num_layers": "4",
        "rank": "512",
        "scale": "0.125",
        "q_dtype": '"float8_e4m3fn"',
        "step": "1",
        "theta": "10000.0",
        "warmup_steps": "10",
        "window": "128",
    }
)  # of each keyword that an operation requires, for the line of a domain to copy


def ask_for_keywords(operation: str, keywords: Sequence[str]) -> str:
    """Return the rest of a sentence on a function without some required keywords: what to add."""
    stated = ", ".join(f'"{keyword}": ({EXAMPLE_VALUES[keyword]},)' for keyword in keywords)
    line = f'domain = {{"{operation}": {{{stated}}}}}'
    if len(keywords) == 1:
        return f"has no argument {keywords[0]}: add it, or state the one value that it uses, as in {line}"
    names = f"{', '.join(keywords[:-1])} and {keywords[-1]}"
    return f"has no arguments {names}: add them, or state the one value that it uses of each, as in {line}"


def read_parameters(function: Callable[..., Any]) -> tuple[inspect.Parameter, ...] | None:
    """Return the parameters of a function, None if it has no signature."""
    return _read_parameters(function) if type(function) is FunctionType else _inspect_parameters(function)


def _inspect_parameters(function: Callable[..., Any]) -> tuple[inspect.Parameter, ...] | None:
    try:
        return tuple(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


_read_parameters = lru_cache(maxsize=1024)(_inspect_parameters)  # each trial asks again; an object of a class may change


def list_required(function: Any) -> frozenset[str]:
    """Return the arguments that a function has no default for, none if its signature is not known."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return frozenset()
    various = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return frozenset(p.name for p in parameters if p.default is p.empty and p.kind not in various)


def find_left_out_argument(spec: Specification, function: Any) -> str:
    """Return an optional array that the function requires, and that most calls leave out, or "" if there is none."""
    optional = [name for name in spec.positional if spec.parameters[name].default is not inspect.Parameter.empty]
    parameters = read_parameters(function) or ()
    required = [p.name for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return next((name for name in required if name in optional and name not in spec.declaration.always_given), "")


def find_unknown_argument(spec: Specification, function: Any) -> str:
    """Return an argument that the function requires and that no call has, or "" if there is none."""
    parameters = read_parameters(function)
    if parameters is None:
        return ""
    by_position = _list_positional(parameters)[: len(_list_required_arrays(spec))]
    required = [
        p.name
        for p in parameters
        if p not in by_position and p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    return next((name for name in required if name not in spec.parameters), "")


def describe_too_few_arguments(spec: Specification, function: Any) -> str:
    """Return the rest of a sentence on a function that cannot be given all required arrays, or "" if it can."""
    parameters = read_parameters(function)
    arrays = _list_required_arrays(spec)
    if parameters is None or any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return ""
    taken = [p.name for p in _list_positional(parameters)]
    if len(taken) >= len(arrays):
        return ""
    return f"takes ({', '.join(taken)}), but the operation is called with ({', '.join(arrays)})"


def describe_other_meaning(spec: Specification, function: Any) -> str:
    """Return the rest of a sentence on a function whose parameter has the name of something else than the array in its place."""
    taken = [p.name for p in _list_positional(read_parameters(function) or ())]
    for ours, theirs in zip(_list_required_arrays(spec), taken, strict=False):
        if theirs in OTHER_MEANINGS.get(ours, ()):
            return f"takes {theirs}, but the operation is called with {ours}; rename the parameter if it is {ours}"
    return ""


def _list_required_arrays(spec: Specification) -> list[str]:
    return [name for name in spec.positional if spec.parameters[name].default is inspect.Parameter.empty]


def _list_positional(parameters: tuple[inspect.Parameter, ...]) -> list[inspect.Parameter]:
    return [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
