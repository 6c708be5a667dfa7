"""A fault of one of the six layouts of meta_tests/backends/sharded/six_layouts.py, and what it has to be called."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .paths import ROOT

SOURCE = ROOT / "meta_tests" / "backends" / "sharded" / "six_layouts.py"


@dataclass(frozen=True)
class LayoutFault:
    """One fault: the text that it changes, and a pattern of what an explanation of it says."""

    layout: str
    operation: str
    name: str
    old: str
    new: str
    says: str

    @property
    def file(self) -> str:
        return SOURCE.name

    @property
    def backend(self) -> str:
        return SOURCE.stem

    def write(self, folder: Path) -> Path:
        """Write the wrong backend into the folder, and return its path."""
        text = SOURCE.read_text(encoding="utf-8")
        start = text.index(f"def {self.operation}(") if text.count(self.old) > 1 else 0
        assert self.old in text[start:], f"{self.name}: {self.old}"
        path = folder / self.file
        path.write_text(text[:start] + text[start:].replace(self.old, self.new, 1), encoding="utf-8")
        return path


OWN = r"each rank .*its own"
