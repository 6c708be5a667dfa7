"""Lines at the start of a run: what an importer has recognized in a backend, as which operation, and with which conventions."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from ..implementation.printable import printable

MAX_CHARACTERS = 1000  # of the words on one operation

if TYPE_CHECKING:
    from .session import Session


class ImportLines:
    """A pytest plugin that prints the lines. Under pytest-xdist only the workers know them, and the end of the run has them."""

    def __init__(self, session: Session):
        self.session = session

    def pytest_report_header(self) -> list[str]:
        backends = self.session.__dict__.get("backends", ())
        confinement = self.session.confinement
        return [f"spec_tests: the backend's process has: {confinement}"] * bool(confinement) + [
            line for backend in backends for line in describe_import(backend.text or backend.name, backend.source)
        ]


def describe_import(text: str, source: object) -> list[str]:
    """Return what the source is taken as, [] if no importer has made it."""
    kind = getattr(source, "import_kind", None)
    if not isinstance(kind, str):
        return []
    taken: dict[str, str] = getattr(source, "renamed_operations", {})
    left: dict[str, str] = getattr(source, "absence_hints", {})
    lines = [f"{text} is read as {kind}:"]
    lines += [f"  {operation} is {words}" for operation, words in taken.items()]
    lines += [f"  it {sentence.partition(chr(10))[0].removesuffix('; write')}" for sentence in left.values()]
    return [part for line in lines for part in textwrap.wrap(printable(line, MAX_CHARACTERS), 120, subsequent_indent="    ")]
