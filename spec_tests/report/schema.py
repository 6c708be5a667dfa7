"""The JSON Schema of a line of report.jsonl, made of the dataclasses of its lines: python -m spec_tests.report.schema

It writes schema.json beside this file.
"""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import Any

from .chain import ABOUT as ABOUT_LINK
from .chain import MEMBER, PATTERN
from .form import WORDS, Form, list_members
from .records import LINES, NAMES
from .run_lines import SCHEMA

FILE = Path(__file__).with_name("schema.json")
_LINK = {"type": "string", "pattern": f"^{PATTERN}$", "description": ABOUT_LINK}
ABOUT = (
    "A report is one header, then a line for each backend, verdict and error as it becomes known, and one footer."
    " Without a footer the run was killed. Members may be added within a schema number;"
    " a reader ignores what it does not know, and validates what it writes."
)


def build_schema() -> dict[str, Any]:
    """Return the schema."""
    words = {"description": "JSON has no infinity and no NaN: words stand for them", "enum": [*WORDS]}
    definitions: dict[str, Any] = {"real": {"anyOf": [{"type": "number"}, words]}}
    for kind, cls in LINES.items():
        _define(cls, definitions, kind)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"One line of report.jsonl, schema {SCHEMA}",
        "description": ABOUT,
        "oneOf": [{"$ref": f"#/$defs/{kind}"} for kind in LINES],
        "$defs": definitions,
    }


def _define(cls: Any, definitions: dict[str, Any], name: str) -> None:
    """Add the schema of a dataclass to the definitions, and those of the dataclasses in it."""
    definitions[name] = {}  # in its place, before those in it
    members = list_members(cls)
    is_line = name in LINES
    definitions[name] |= {
        "type": "object",
        "description": " ".join((inspect.getdoc(cls) or "").split()),
        "properties": ({"record": {"const": name}, MEMBER: _LINK} if is_line else {})
        | {member.name: _describe(member.form, definitions) for member in members},
        "required": ["record"] * is_line + [member.name for member in members if member.make_default is None],
        "additionalProperties": False,
    }


def _describe(form: Form, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a value."""
    return _describe_kind(form, definitions) | ({"description": form.about} if form.about else {})


def _describe_kind(form: Form, definitions: dict[str, Any]) -> dict[str, Any]:
    if form.kind is Any:
        return {}
    if form.is_union:
        return {"anyOf": [_describe(Form.of(kind), definitions) for kind in form.inner]}
    if form.is_dataclass:
        name = form.kind.__name__
        if name not in definitions:
            _define(form.kind, definitions, name)
        return {"$ref": f"#/$defs/{name}"}
    if form.has_words:
        return {"$ref": "#/$defs/real"}
    if form.values:
        return {"enum": list(form.values)}
    return {"type": NAMES[form.kind], **_describe_limits(form), **_describe_inner(form, definitions)}


def _describe_limits(form: Form) -> dict[str, Any]:
    limits = {"minimum": form.range.least, "maximum": form.range.largest, "pattern": form.pattern or None}
    return {name: limit for name, limit in limits.items() if limit is not None}


def _describe_inner(form: Form, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return what the schema of a list or of an object says of the values in it."""
    kinds = [_describe(Form.of(kind), definitions) for kind in form.inner if kind is not Ellipsis]
    if form.kind is dict:
        return {"additionalProperties": kinds[1]}
    if form.kind is not tuple:
        return {}
    if form.inner[-1] is Ellipsis:
        return {"items": kinds[0]}
    return {"prefixItems": kinds, "items": False, "minItems": len(kinds), "maxItems": len(kinds)}


def format_schema() -> str:
    """Return the text of schema.json."""
    return json.dumps(build_schema(), indent=2) + "\n"


def main() -> int:
    FILE.write_text(format_schema(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
