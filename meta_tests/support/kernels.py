"""The kernels of meta_tests/backends/kernels, and what each file states: the operation that is faulty, and the right sentence."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .explained_faults import ExplainedFault
from .paths import BACKENDS

FOLDER = BACKENDS / "kernels"


@dataclass(frozen=True)
class Kernel:
    """A file with one kernel."""

    path: Path
    operation: str | None  # that is faulty; None: the kernel is right
    says: tuple[str, ...]  # texts that the sentence about the fault must hold
    needs_gpu: bool  # the interpreter has no such kernels, or does not show the fault

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def fault(self) -> ExplainedFault | None:
        return None if self.operation is None else ExplainedFault(self.name, self.operation, self.says)


def read_kernel(path: Path) -> Kernel:
    """Return what a file states, without importing it."""
    stated: dict[str, Any] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="operation" | "says" | "needs" as name)], value=value):
                stated[name] = ast.literal_eval(value)
    return Kernel(path, stated.get("operation"), stated.get("says", ()), "needs" in stated)


def list_kernels(folder: str) -> list[Kernel]:
    """Return the kernels of `right` or of `faulty`, by name."""
    return [read_kernel(path) for path in sorted((FOLDER / folder).glob("*.py")) if not path.stem.startswith("_")]
