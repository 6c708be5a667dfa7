"""Why each invariant holds: docs/proofs/<operation>.md, the equation in mathematics first and a section for each law."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from spec_tests.trials.invariant import Invariant

FOLDER = Path(__file__).parent.parent / "proofs"


@cache
def _sections(module: str) -> dict[str, str]:
    """By the law's name; the equation's is empty."""
    path = FOLDER / f"{module}.md"
    parts = re.split(r"^## (\w+)\n", path.read_text() if path.exists() else "", flags=re.MULTILINE)
    return dict(zip(("", *parts[1::2]), (part.strip() for part in (parts[0], *parts[2::2])), strict=True))


def equation(operation: str) -> str:
    return _sections(operation)[""]


def why(law: Invariant) -> str:
    name = law.id.partition(".")[2]
    if name not in _sections(law.module):
        raise LookupError(f"docs/proofs/{law.module}.md does not say why {law.id} holds: add a section «## {name}»")
    return _sections(law.module)[name]


def proven() -> set[tuple[str, str]]:
    """The file and the name of every law that has a proof."""
    return {(path.stem, name) for path in FOLDER.glob("*.md") for name in _sections(path.stem) if name}
