"""Read docs/proofs/<operation>.md: the equation in mathematical notation, then a section for each law that says why it holds."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from spec_tests.trials.invariant import Invariant

FOLDER = Path(__file__).parent.parent / "proofs"


@cache
def _read_sections(module: str) -> dict[str, str]:
    """Return the sections by the names of the laws; the equation has the empty name."""
    path = FOLDER / f"{module}.md"
    parts = re.split(r"^## (\w+)\n", path.read_text() if path.exists() else "", flags=re.MULTILINE)
    return dict(zip(("", *parts[1::2]), (part.strip() for part in (parts[0], *parts[2::2])), strict=True))


def read_equation(operation: str) -> str:
    return _read_sections(operation)[""]


def read_proof(law: Invariant) -> str:
    name = law.id.partition(".")[2]
    if name not in _read_sections(law.module):
        raise LookupError(f"docs/proofs/{law.module}.md does not say why {law.id} holds: add a section «## {name}»")
    return _read_sections(law.module)[name]


def list_proven_laws() -> set[tuple[str, str]]:
    """Return the file and the name of every law that has a proof."""
    return {(path.stem, name) for path in FOLDER.glob("*.md") for name in _read_sections(path.stem) if name}
