"""What a server says of itself: its answer to `describe`, checked. docs/protocol/describe.schema.json says the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..implementation.printable import printable_line
from ..specification.formats import DTYPES, PRECISIONS
from ..specification.registry import specification
from .message import EXTENSIONS, PROTOCOL_VERSION, MalformedMessage
from .trees import read_tree

REQUIRED = ("protocol", "name", "dtypes", "operations")
TEXTS = ("name", "version", "device")
FIELDS = (*REQUIRED, "version", "device", "integer", "domain", "conventions", "precision", "extensions", "python")
NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class Signature:
    """The arrays and keywords that a server's operation takes, as it says."""

    arrays: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()


@dataclass(frozen=True)
class PythonSide:
    """What a server of a Python backend says besides: the word of a process that may be anybody's."""

    parameters: dict[str, list[list[Any]] | None]  # of each function: name, kind, whether it has a default; None: unknown
    stated: dict[str, Any]  # what the backend states, as it states it
    framework: dict[str, Any]
    module: str
    kind: str
    translates_calls: bool


@dataclass(frozen=True)
class Description:
    """A server's answer to `describe`."""

    name: str
    version: str
    device: str
    dtypes: tuple[str, ...]
    integer: str
    operations: dict[str, Signature]
    stated: dict[str, Any]  # domain, conventions and precision, as a Python backend states them
    extensions: tuple[str, ...] = ()
    python: PythonSide | None = field(default=None, compare=False)


def read_description(text: str) -> Description:
    """Return what a server says of itself. Raise MalformedMessage, whose text is a clause, if it says it in another form."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedMessage(f"its description is no JSON ({error})") from None
    for complaint in _find_complaints(said):
        raise MalformedMessage(f"its description {complaint}")
    texts = {name: printable_line(said.get(name, "")) for name in TEXTS}
    extensions = tuple(said.get("extensions", ()))
    python = _read_python(said) if "trees" in extensions else None
    operations = {} if python else {name: _read_signature(entry) for name, entry in said["operations"].items()}
    stated = {key: said[key] for key in ("conventions", "precision") if key in said}
    if "domain" in said:
        stated["domain"] = domain_as_python(said["domain"])
    return Description(
        **texts,
        dtypes=tuple(said["dtypes"]),
        integer=said.get("integer", "int64"),
        operations=operations,
        stated=stated,
        extensions=extensions,
        python=python,
    )


def _read_signature(entry: dict[str, list[str]]) -> Signature:
    return Signature(**{kind: tuple(names) for kind, names in entry.items()})


def _read_python(said: dict[str, Any]) -> PythonSide:
    """Return what the server of a Python backend says besides. Raise MalformedMessage if it says it in another form."""
    parameters = {name: entry.get("parameters") for name, entry in said["operations"].items()}
    try:
        side = PythonSide(parameters, **read_tree(said["python"], {}))
    except TypeError as error:
        raise MalformedMessage(f"its description of a Python backend is of no known form ({error})") from None
    if not (isinstance(side.stated, dict) and isinstance(side.framework, dict) and isinstance(side.module, str)):
        raise MalformedMessage("its description of a Python backend is of no known form")
    return side


def _find_complaints(said: Any) -> Iterator[str]:
    """Yield what is wrong with the form of a description, each in a clause."""
    if not isinstance(said, dict):
        yield "is no object"
        return
    if missing := [name for name in REQUIRED if name not in said]:
        yield f"lacks {', '.join(missing)}"
        return
    if type(said["protocol"]) is not int or said["protocol"] != PROTOCOL_VERSION:
        yield f"says protocol {said['protocol']!r}; this suite speaks {PROTOCOL_VERSION}"
    if unknown := sorted(said.keys() - set(FIELDS)):
        yield f"has the field {unknown[0]!r}; there are {', '.join(FIELDS)}"
    for name in TEXTS:
        if not isinstance(said.get(name, "x"), str) or (name == "name" and not said["name"]):
            yield f"has a {name} that is no text"
    dtypes = said["dtypes"]
    if not _is_list(dtypes, *DTYPES) or not dtypes:
        yield f"has the dtypes {dtypes!r}; give a list of some of {', '.join(DTYPES)}"
    if said.get("integer", "int64") not in ("int64", "int32"):
        yield f"has the integer {said['integer']!r}; it is int64 or int32"
    extensions = said.get("extensions", [])
    if not _is_list(extensions, *EXTENSIONS):
        yield f"has the extensions {extensions!r}; there are {', '.join(EXTENSIONS)}"
        return
    takes_trees = "trees" in extensions
    if takes_trees is not isinstance(said.get("python"), str):
        yield "has the extension trees and the text python, and both or none are needed"
    yield from _find_operation_complaints(said["operations"], takes_trees=takes_trees)
    yield from find_domain_complaints(said.get("domain", {}))
    conventions, precision = said.get("conventions", {}), said.get("precision", {})
    if not isinstance(conventions, dict) or not all(isinstance(value, str) for value in conventions.values()):
        yield "has conventions that are no texts"
    classes = precision.values() if isinstance(precision, dict) else [precision]
    if not all(isinstance(value, str) and value in PRECISIONS for value in classes):
        yield f"has the precision {precision!r}; give one of {', '.join(PRECISIONS)}, or one for each operation"


def _is_list(value: Any, *allowed: str) -> bool:
    """Whether the value is a list of different names, each of them allowed; any name is, if none is given."""
    is_names = isinstance(value, list) and all(isinstance(name, str) and NAME.fullmatch(name) for name in value)
    return is_names and len(set(value)) == len(value) and (not allowed or set(value) <= set(allowed))


def _find_operation_complaints(operations: Any, *, takes_trees: bool) -> Iterator[str]:
    if not isinstance(operations, dict) or not (operations or takes_trees) or not all(map(NAME.fullmatch, operations)):
        yield "has no object of operations"
        return
    for name, entry in operations.items():
        if takes_trees:
            if not isinstance(entry, dict) or entry.keys() != {"parameters"}:
                yield f"says of {name} other than its parameters"
        elif not isinstance(entry, dict) or not entry.keys() <= {"arrays", "optional", "keywords"}:
            yield f"says of {name} other than its arrays, its optional arrays and its keywords"
        elif not all(_is_list(names) for names in entry.values()):
            yield f"says of {name} what is no list of different names"


def find_domain_complaints(domain: Any) -> Iterator[str]:
    """Yield what is wrong with a domain that was read from JSON."""
    if not isinstance(domain, dict) or not all(isinstance(entry, dict) for entry in domain.values()):
        yield "has a domain that is no object of objects"
        return
    for name, entry in domain.items():
        for key, value in entry.items():
            if not (isinstance(value, str | bool) or _is_choice(value) or _is_range(value)):
                yield f'has the domain {value!r} for {key} of {name}; give a list, a name, or {{"range": [1, 4097]}}'


def _is_choice(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(x, str | int | float | bool | None) for x in value)


def _is_range(value: Any) -> bool:
    numbers = value.get("range") if isinstance(value, dict) and len(value) == 1 else None
    if not isinstance(numbers, list) or not all(type(x) is int for x in numbers):
        return False
    return len(numbers) in (2, 3) and numbers[2:] != [0]


def domain_as_python(domain: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return a domain that was read from JSON as a Python backend states it."""
    return {name: {key: _as_python(value) for key, value in entry.items()} for name, entry in domain.items()}


def _as_python(value: Any) -> Any:
    """Return a value of the domain as a Python backend states it."""
    if isinstance(value, dict):
        return range(*value["range"])
    return tuple(value) if isinstance(value, list) else value


def find_misfits(description: Description, known: tuple[str, ...]) -> Iterator[str]:
    """Yield what a description says of an operation that the suite knows, and that the operation does not have."""
    for name, signature in description.operations.items():
        if name not in known:
            continue
        spec = specification(name)
        keywords = [parameter for parameter in spec.parameters if parameter not in spec.positional]
        for found, allowed, what in (
            ((*signature.arrays, *signature.optional), spec.positional, "array"),
            (signature.keywords, keywords, "keyword"),
        ):
            for unknown in [x for x in found if x not in allowed]:
                yield f"its {name} takes the {what} {unknown!r}; {name} has {', '.join(allowed) or 'none'}"
        required = [x for x in spec.positional if spec.parameters[x].default is spec.parameters[x].empty]
        for missing in [x for x in required if x not in signature.arrays]:
            yield f"its {name} has no array {missing!r} among its arrays; {name} always has {', '.join(required)}"
