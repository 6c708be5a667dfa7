"""Wrong implementations with which test suites are compared: the catalogue's deviations, and mutants of correct code."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from meta_tests.measure.kill_matrix import select_deviations
from meta_tests.support.paths import ROOT
from spec_tests.deviations import Deviation, OracleBackend, catalogue
from spec_tests.implementation.backend import Backend, build_backend
from spec_tests.specification.formats import DTYPES
from spec_tests.specification.registry import gradients, operations

from .mutation import Mutation, list_mutations

EQUATIONS = ROOT / "reference_numpy"
KERNELS = tuple(ROOT / "backends" / f"{name}.py" for name in ("_numpy_functions", "numpy_cpu"))


@dataclass(frozen=True)
class WrongImplementation:
    """A backend in which some operations are wrong."""

    id: str
    origin: str  # "catalogue", or what was mutated: "equation" or "backend"
    operations: tuple[str, ...]  # the wrong ones
    dtypes: tuple[str, ...]  # in which the bug can show
    source: Callable[[], Any] = field(repr=False)  # makes a new object each time, because some keep state

    @property
    def group(self) -> str:
        return "catalogue" if self.origin == "catalogue" else "machine"

    def backend(self) -> Backend:
        return build_backend(self.source(), set(operations()))


def list_catalogued() -> list[WrongImplementation]:
    """Return the catalogue's deviations; of a fault that every operation has, those of a few operations."""
    ids = set(select_deviations())
    return [_wrap_deviation(deviation) for deviation in catalogue().values() if deviation.id in ids]


def _wrap_deviation(deviation: Deviation) -> WrongImplementation:
    operations = (deviation.operation,)
    return WrongImplementation(deviation.id, "catalogue", operations, deviation.dtypes, lambda: OracleBackend(deviation))


def list_mutants() -> list[WrongImplementation]:
    """Return every mutant of every equation and of the NumPy backend.

    Equations compute in float64 and round once; the backend computes in the dtype itself.
    """
    names = {*operations(), *gradients()}
    equations = [path for path in sorted(EQUATIONS.glob("[!_]*.py")) if path.stem in names]
    mutants = [
        _wrap_equation_mutation(m, path.stem) for path in equations for m in list_mutations(path, f"reference_numpy/{path.name}")
    ]
    kernels = [m for path in KERNELS for m in list_mutations(path, f"backends/{path.name}")]
    return mutants + [_wrap_kernel_mutation(m) for m in kernels if find_users()[m.function]]


def _wrap_equation_mutation(mutation: Mutation, name: str) -> WrongImplementation:
    def source() -> OracleBackend:
        files = [EQUATIONS / f"{name}.py"]
        equation = getattr(_execute(mutation, f"reference_numpy.{name}", files), name)
        return OracleBackend(Deviation(name, equation, "equation", (), DTYPES, ()))

    return WrongImplementation(mutation.id, "equation", (name,), DTYPES, source)


def _wrap_kernel_mutation(mutation: Mutation) -> WrongImplementation:
    right = importlib.import_module("backends.numpy_cpu")
    wrong = lambda: _execute(mutation, right.__name__, KERNELS)  # noqa: E731
    return WrongImplementation(mutation.id, "backend", find_users()[mutation.function], right.dtypes, wrong)


def _execute(mutation: Mutation, name: str, files: Sequence[Path]) -> ModuleType:
    """Execute the files as one module, in which the changed function replaces the original.

    Imports between these files are removed, so that all of them use the changed function.
    """
    module = ModuleType(name)
    module.__package__, module.__file__ = name.rpartition(".")[0], mutation.file
    for path in files:
        tree = ast.parse(path.read_text())
        tree.body = [node for node in tree.body if getattr(node, "module", None) not in [file.stem for file in files]]
        exec(compile(tree, str(path), "exec"), module.__dict__)
    exec(compile(mutation.changed, mutation.file, "exec"), module.__dict__)
    return module


@cache
def find_users() -> dict[str, tuple[str, ...]]:
    """Map each function of the backend's files to the operations that call it, directly or not."""
    nodes = [node for path in KERNELS for node in ast.parse(path.read_text()).body]
    functions = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}
    calls = {
        name: {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and part.id in functions} | {name}
        for name, node in functions.items()
    }
    for _ in functions:  # enough rounds for the longest chain of calls
        calls = {name: set[str]().union(*(calls[callee] for callee in callees)) for name, callees in calls.items()}
    return {name: tuple(operation for operation in operations() if name in calls.get(operation, ())) for name in functions}


def build_correct_backend(origin: str) -> Backend:
    """Return the correct backend from which wrong implementations of this origin are made."""
    source = importlib.import_module("backends.numpy_cpu") if origin == "backend" else OracleBackend()
    return build_backend(source, set(operations()))
