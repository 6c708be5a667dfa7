"""Which files of laws a run needs: those of operations that a backend has. The others are neither imported nor collected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..implementation.backend import Backend
from ..specification.first_use import import_modules
from ..specification.registry import gradients, operations, specification_modules
from ..trials.collection import SUITE, module_name

GENERAL_FILES = "every_"  # how the names of files begin whose laws hold of every operation, or of every gradient


class LawFiles:
    """The files of laws of one run. The backends are loaded when they are first asked for."""

    def __init__(self, load_backends: Callable[[], tuple[Backend, ...]], required: tuple[str, ...], chosen: tuple[str, ...]):
        self.load_backends, self.required = load_backends, required
        self.chosen = chosen  # the operations of --operation; empty means all
        self.collected: list[Path] = []

    def is_needed(self, path: Path) -> bool:
        """Whether a backend has the operation of the file, and --operation does not leave it out.

        The laws of the other files would only say again that it is absent, which a comparison with the oracle says. If --require
        names an operation that a backend lacks, each law that calls it says so, wherever it stands.
        """
        operation = path.stem.removeprefix("test_").partition("__")[0]
        backends, is_general = self.load_backends(), operation.startswith(GENERAL_FILES)
        if self.chosen and not is_general and operation not in self.chosen:
            return False
        if is_general or any(backend.has(operation) for backend in backends):
            return True
        return not all(backend.has(name) for backend in backends for name in self.required)

    def find_needed(self) -> list[Path]:
        """Return the files that a run of the whole suite needs."""
        return [path for path in sorted(SUITE.glob("test_*.py")) if self.is_needed(path)]

    def collect(self, path: Path) -> None:
        """Note a file that pytest collects."""
        self.collected.append(path)

    def import_collected(self) -> None:
        """Import the files that pytest has begun to collect, with the operations that they need, all at once.

        A look precedes each import, and takes longer than most imports do.
        """
        present = [name for name in (*operations(), *gradients()) if any(backend.has(name) for backend in self.load_backends())]
        equations = [module for name in present for module in specification_modules(name)]
        import_modules(*equations, *map(module_name, self.collected))
