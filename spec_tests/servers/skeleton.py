"""Write a server in another language, with one function to fill in for each operation."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from string import Template

from ..processes.message import PROTOCOL_VERSION
from .description import list_lines
from .interface import Interface
from .languages import Language

TEMPLATES = Path(__file__).parent / "templates"
FILLED_IN = ".in"  # the end of the name of a file that has places to fill in
MAX_COLUMNS = 120
COTANGENT = "cotangent"  # of which each part may be absent, but not the argument


def write_files(language: Language, interfaces: Sequence[Interface]) -> dict[str, str]:
    """Return the text of each file of the server, by its name."""
    folder = TEMPLATES / language.name
    files = {path.name.removesuffix(FILLED_IN): path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}
    parts = {
        "build": language.build,
        "test": write_test_line(language),
        "description": language.write_description(_write_description(interfaces)),
        "functions": "\n\n".join(_write_function(language, each) for each in interfaces),
        "table": language.joint.join(Template(language.entry).substitute(name=each.operation) for each in interfaces),
    }
    for name, text in parts.items():
        files[language.file] = files[language.file].replace(f"@{name}@", text)
    return files


def write_test_line(language: Language) -> str:
    """Return the line of a shell that tests the server."""
    return f'pytest --pyargs spec_tests --backend="process:{language.start}" --effort=smoke'


def _write_function(language: Language, interface: Interface) -> str:
    lines = [
        f"{interface.operation}: {interface.summary}",
        *(f"  {line}" for line in list_lines(interface)),
        *_list_notes(interface),
    ]
    comment = "\n".join(f"{language.comment}{line}".rstrip() for line in lines)
    return Template(language.function).substitute(name=interface.operation, comment=comment)


def _list_notes(interface: Interface) -> Iterator[str]:
    """Yield what is said below the lines of an operation: which of them a call has."""
    if interface.shapes and any(not array.shape for array in (*interface.arrays, *interface.results)):
        yield from textwrap.wrap(f"Shapes: {interface.shapes}", MAX_COLUMNS)
    _, optional, keywords = list_names(interface)
    more = [*optional, *(keyword.name for keyword in interface.keywords if keyword.name not in keywords)]
    if more:
        yield from textwrap.wrap(f"A call has {', '.join(more)} only if the description names them.", MAX_COLUMNS)


def _write_description(interfaces: Sequence[Interface]) -> str:
    """Return the description of a server that takes the required arrays and keywords of these operations."""
    head = json.dumps({"protocol": PROTOCOL_VERSION, "name": "my-server", "version": "1", "dtypes": ["float32"]})
    entries = []
    for interface in interfaces:
        arrays, _, keywords = list_names(interface)
        entry = {"arrays": arrays} | ({"keywords": keywords} if keywords else {})
        entries.append(f"  {json.dumps(interface.operation)}: {json.dumps(entry)}")
    return head.removesuffix("}") + ', "operations": {\n' + ",\n".join(entries) + "\n}}"


def list_names(interface: Interface) -> tuple[list[str], list[str], list[str]]:
    """Return the required arguments that hold arrays, the optional ones, and the required keywords."""
    roots = dict.fromkeys(array.name.partition(".")[0] for array in interface.arrays)
    required = {array.name.partition(".")[0] for array in interface.arrays if not array.optional} | {COTANGENT}
    keywords = [keyword.name for keyword in interface.keywords if keyword.required]
    return [x for x in roots if x in required], [x for x in roots if x not in required], keywords
