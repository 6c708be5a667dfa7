"""Interfaces as text for people, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ..processes.message import format_keyword
from ..specification.version import SPEC_VERSION
from .interface import BROADCASTABLE, FORMAT, Array, Interface, Keyword


def describe_as_json(interfaces: Sequence[Interface]) -> dict[str, Any]:
    """Return what docs/protocol/operations.schema.json describes."""
    return {"spec": SPEC_VERSION, "operations": {each.operation: _as_record(each) for each in interfaces}}


def _as_record(interface: Interface) -> dict[str, Any]:
    record = asdict(interface)
    del record["operation"]
    for array in record["results"]:
        del array["has_gradient"]  # which is said of arguments
    return record | {"answers_value": not interface.results}


def describe_as_text(interfaces: Sequence[Interface]) -> str:
    """Return a paragraph for each operation, with a line for each array, keyword and result."""
    return "\n\n".join(map(_describe, interfaces))


def _describe(interface: Interface) -> str:
    return "\n".join([f"{interface.operation}: {interface.summary}", *(f"    {line}" for line in list_lines(interface))])


def list_lines(interface: Interface) -> list[str]:
    """Return a line for each array, keyword and result, and for each convention of how arrays are passed."""
    rows = [
        *((array.name, describe_array(array)) for array in interface.arrays),
        *((keyword.name, describe_keyword(keyword)) for keyword in interface.keywords),
        *((f"-> {array.name}", describe_array(array)) for array in interface.results),
    ]
    if not interface.results:
        rows.append(("-> value", "an integer, in the metadata"))
    rows += [(name, f"convention, {' or '.join(values)}; here {values[0]}") for name, values in interface.conventions.items()]
    width = max(len(name) for name, _ in rows)
    return [f"{name:<{width}}  {what}" for name, what in rows]


def describe_array(array: Array) -> str:
    """Return the dtype and the shape of an array, in words."""
    dtype = f"of the format that {array.format} names" if array.dtype == FORMAT else array.dtype.replace("_", " ")
    shapes = " or ".join(map(describe_shape, array.shape)) or "see the shapes of the operation's page"
    return f"{dtype}, {shapes}{', optional' if array.optional else ''}"


def describe_shape(shape: Sequence[str]) -> str:
    """Return the axes of an array in parentheses."""
    if shape[:1] == (BROADCASTABLE,):
        return f"{BROADCASTABLE} ({', '.join(shape[1:])})"
    return f"({', '.join(shape)})"


def describe_keyword(keyword: Keyword) -> str:
    """Return the type of a keyword in Python, and its default and values as messages have them."""
    values = f", one of {', '.join(map(format_keyword, keyword.values))}" if keyword.values else ""
    is_given, shown = ("required, as", keyword.example) if keyword.required else ("default", keyword.default)
    default = f"{is_given} {format_keyword(shown)}"
    return f"{keyword.type}, {default}{values}"
