"""Turn what is known of a run into the records of report.jsonl, and records into what is known: the one place that does.

Each member of a record is checked when it is read, as its dataclass says (`form.py`). Members that no field has are ignored,
because a later version may add some.
"""

from __future__ import annotations

import re
import types
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any, TypeVar

from .form import WORDS, Form, list_members
from .run_lines import Footer, Header, RunError, StatedBackend
from .verdict import RecordedVerdict

LINES: Mapping[str, type] = types.MappingProxyType(  # the classes of the lines of report.jsonl, by their member "record"
    {"header": Header, "backend": StatedBackend, "verdict": RecordedVerdict, "error": RunError, "footer": Footer}
)
LARGEST_INTEGER = 1 << 63  # larger ones cannot be formatted, or added, in reasonable time
NAMES: Mapping[Any, str] = types.MappingProxyType(  # of types, as JSON Schema has them
    {str: "string", bool: "boolean", int: "integer", float: "number", tuple: "array", dict: "object", type(None): "null"}
)
PYTHON: Mapping[Any, tuple[type, ...]] = types.MappingProxyType({tuple: (list, tuple), float: (int, float), dict: (Mapping,)})
T = TypeVar("T")


class Malformed(ValueError):
    """A record has not the form of its class. The message is the end of a sentence about it."""


def write_line(known: Any) -> dict[str, Any]:
    """Return the record of a line of report.jsonl."""
    kind = next(kind for kind, cls in LINES.items() if type(known) is cls)
    return {"record": kind, **to_record(known)}


def read_line(record: Mapping[str, Any]) -> Any:
    """Return what a line of report.jsonl says, None if it is of a kind that this version does not know. Raise Malformed."""
    kind = record.get("record")
    if not isinstance(kind, str):
        raise Malformed("is no record")
    line: Any = from_record(LINES[kind], record, f"{kind} record") if kind in LINES else None
    if isinstance(line, RecordedVerdict) and (line.worst is None) != (line.median is None):
        raise Malformed("has only one of worst and median")
    return line


def to_record(known: Any) -> Any:
    """Return a dataclass, or a value in one, as plain data. Numbers stay as they are: `format_record` writes their words."""
    if known is None or isinstance(known, str | int | float):
        return known
    if is_dataclass(known):
        values = ((member, getattr(known, member.field)) for member in list_members(type(known)))
        return {member.name: to_record(value) for member, value in values if not member.leaves_out(value)}
    if isinstance(known, Mapping):
        return {name: to_record(value) for name, value in known.items()}
    return [to_record(value) for value in known] if isinstance(known, list | tuple) else known


def from_record(cls: type[T], record: Any, name: str = "record") -> T:
    """Return the dataclass of a record. Raise Malformed with the first thing that is wrong, in which `name` is the record."""
    if not isinstance(record, Mapping):
        raise Malformed(f"has a {name} that is no object")
    found = {}
    for member in list_members(cls):
        if member.name in record:
            found[member.field] = _read(record[member.name], member.form, member.name)
        elif member.make_default is None:
            raise Malformed(f"has a {name} without {member.name!r}")
    return cls(**found)


def _read(value: Any, form: Form, name: str) -> Any:
    """Return a value as its form has it."""
    if form.kind is Any:
        return value
    if form.is_union:
        return _read_one_of(value, form.inner_forms, name)
    if form.is_dataclass:
        return from_record(form.kind, value, name)
    if form.has_words and isinstance(value, str) and value in WORDS:
        return WORDS[value]
    if form.values:
        return _read_allowed(value, form.values, name)
    _check_type(value, form.kind, name)
    if form.kind is tuple:
        return _read_items(value, form, name)
    if form.kind is dict:
        return {key: _read(item, form.inner_forms[1], key) for key, item in value.items()}
    _check_value(value, form, name)
    return float(value) if form.kind is float else value


def _read_allowed(value: Any, allowed: tuple[Any, ...], name: str) -> Any:
    if not any(type(value) is type(each) and value == each for each in allowed):
        raise Malformed(f"has a {name} that is none of {', '.join(map(str, allowed))}")
    return value


def _read_one_of(value: Any, forms: tuple[Form, ...], name: str) -> Any:
    """Return a value as the first of several types has it. Raise what is wrong by the first one if it has none of them."""
    first: Malformed | None = None
    for form in forms:
        try:
            return _read(value, form, name)
        except Malformed as error:
            first = first or error
    assert first is not None
    raise first


def _check_type(value: Any, kind: Any, name: str) -> None:
    python = PYTHON.get(kind, (kind,))
    is_number_by_chance = isinstance(value, bool) and kind in (int, float)
    if is_number_by_chance or not isinstance(value, python):
        raise Malformed(f"has a {name} that is no {NAMES[kind]}")


def _read_items(value: Any, form: Form, name: str) -> tuple[Any, ...]:
    forms = form.inner_forms[:1] * len(value) if form.inner[-1] is Ellipsis else form.inner_forms
    if len(value) != len(forms) or not form.range.holds(len(value)):
        raise Malformed(f"has a {name} of {len(value)} members")
    return tuple(_read(item, each, f"member of {name}") for item, each in zip(value, forms, strict=True))


def _check_value(value: Any, form: Form, name: str) -> None:
    if isinstance(value, int) and abs(value) >= LARGEST_INTEGER:
        raise Malformed(f"has a {name} with too many digits")
    if isinstance(value, int | float) and not form.range.holds(value):
        raise Malformed(f"has a {name} that is out of range")
    if form.pattern and not re.search(form.pattern, value):
        raise Malformed(f"has a {name} of another form")
