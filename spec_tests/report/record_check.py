"""Check the types and the members of a record of report.jsonl against schema.json, before a reader relies on them.

It knows the part of JSON Schema that schema.json uses. Members that the schema does not name are ignored, because a later version
may add some.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

KINDS = ("header", "backend", "verdict", "error", "footer")  # of records
LARGEST_INTEGER = 1 << 63  # larger ones cannot be formatted, or added, in reasonable time
TYPES: Mapping[str, tuple[type, ...]] = MappingProxyType(
    {
        "object": (dict,),
        "array": (list,),
        "string": (str,),
        "boolean": (bool,),
        "null": (type(None),),
        "integer": (int,),
        "number": (int, float),
    }
)


@cache
def _load_definitions() -> dict[str, Any]:
    """Return the definitions of schema.json by their names."""
    definitions: dict[str, Any] = json.loads((Path(__file__).parent / "schema.json").read_text(encoding="utf-8"))["$defs"]
    return definitions


def find_complaint(record: dict[str, Any]) -> str:
    """Return what is wrong with a record, as the end of a sentence, or "". Records of an unknown kind are not looked at."""
    kind = record.get("record")
    if not isinstance(kind, str):
        return "is no record"
    complaint = _find_complaint(record, _load_definitions()[kind], f"{kind} record") if kind in KINDS else ""
    if kind == "verdict" and not complaint and (record["worst"] is None) != (record["median"] is None):
        return "has only one of worst and median"
    return complaint


def _find_complaint(value: Any, schema: dict[str, Any], name: str) -> str:
    if "$ref" in schema:
        return _find_complaint(value, _load_definitions()[schema["$ref"].rpartition("/")[2]], name)
    if "anyOf" in schema:
        complaints = [_find_complaint(value, option, name) for option in schema["anyOf"]]
        return "" if "" in complaints else complaints[0]
    if "const" in schema or "enum" in schema:
        allowed = schema.get("enum", [schema.get("const")])
        known = any(type(value) is type(option) and value == option for option in allowed)
        return "" if known else f"has a {name} that is none of {', '.join(map(str, allowed))}"
    if not schema:
        return ""
    types = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    if not any(_is_of_type(value, each) for each in types):
        return f"has a {name} that is no {' or '.join(types)}"
    if isinstance(value, dict):
        return _find_complaint_of_members(value, schema, name)
    if isinstance(value, list):
        return _find_complaint_of_items(value, schema, name)
    return _find_complaint_of_range(value, schema, name)


def _is_of_type(value: Any, name: str) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and isinstance(value, TYPES[name]) if name in ("integer", "number") else isinstance(value, TYPES[name])


def _find_complaint_of_members(value: dict[str, Any], schema: dict[str, Any], name: str) -> str:
    for required in schema.get("required", ()):
        if required not in value:
            return f"has a {name} without {required!r}"
    properties, others = schema.get("properties", {}), schema.get("additionalProperties")
    for key, item in value.items():
        member = properties.get(key) or (others if isinstance(others, dict) else None)
        if member and (complaint := _find_complaint(item, member, key)):
            return complaint
    return ""


def _find_complaint_of_items(value: list[Any], schema: dict[str, Any], name: str) -> str:
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        return f"has a {name} of {len(value)} members"
    schemas = schema.get("prefixItems") or [schema.get("items", {})] * len(value)
    complaints = (_find_complaint(item, each, f"member of {name}") for item, each in zip(value, schemas, strict=False))
    return next(filter(None, complaints), "")


def _find_complaint_of_range(value: Any, schema: dict[str, Any], name: str) -> str:
    if isinstance(value, int) and abs(value) >= LARGEST_INTEGER:
        return f"has a {name} with too many digits"
    if ("minimum" in schema and value < schema["minimum"]) or ("maximum" in schema and value > schema["maximum"]):
        return f"has a {name} that is out of range"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        return f"has a {name} of another form"
    return ""
