"""Wrong implementations to judge tests by: those of the catalogue, and those that a machine makes of correct code."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from meta_tests.measure.kill_matrix import spread
from meta_tests.support.paths import ROOT
from spec_tests.deviations import Deviation, OracleBackend, catalogue
from spec_tests.implementation.backend import Backend, build_backend
from spec_tests.specification.formats import DTYPES
from spec_tests.specification.registry import gradients, operations

from .mutation import Mutation, mutations

EQUATIONS = ROOT / "reference_numpy"
KERNELS = tuple(ROOT / "backends" / f"{name}.py" for name in ("_numpy_functions", "numpy_cpu"))


@dataclass(frozen=True)
class Subject:
    id: str
    origin: str  # whose bug it is: the catalogue's, or the mutation's of an equation or of a backend
    operations: tuple[str, ...]  # those that are wrong
    dtypes: tuple[str, ...]  # in which that can show
    source: Callable[[], Any] = field(repr=False)  # anew each time: some have a memory

    @property
    def group(self) -> str:
        return "catalogue" if self.origin == "catalogue" else "machine"

    def backend(self) -> Backend:
        return build_backend(self.source(), set(operations()))


def by_name() -> list[Subject]:
    """The catalogue's; of a fault that is one of every operation, those of a few."""
    ids = set(spread())
    return [_named(one) for one in catalogue().values() if one.id in ids]


def _named(one: Deviation) -> Subject:
    return Subject(one.id, "catalogue", (one.operation,), one.dtypes, lambda: OracleBackend(one))


def by_machine() -> list[Subject]:
    """Every mutation of every equation, in float64 and rounded once, and of a backend that computes in the dtype itself."""
    known = {*operations(), *gradients()}
    equations = [path for path in sorted(EQUATIONS.glob("[!_]*.py")) if path.stem in known]
    mutants = [_of_equation(one, path.stem) for path in equations for one in mutations(path, f"{path.parent.name}/{path.name}")]
    kernels = [one for path in KERNELS for one in mutations(path, f"backends/{path.name}")]
    return mutants + [_of_kernels(one) for one in kernels if users()[one.function]]


def _of_equation(mutation: Mutation, name: str) -> Subject:
    def source() -> OracleBackend:
        files = [EQUATIONS / f"{name}.py"]
        equation = getattr(_executed(mutation, f"reference_numpy.{name}", files), name)
        return OracleBackend(Deviation(name, equation, "equation", (), DTYPES, ()))

    return Subject(mutation.id, "equation", (name,), DTYPES, source)


def _of_kernels(mutation: Mutation) -> Subject:
    right = importlib.import_module("backends.numpy_cpu")
    wrong = lambda: _executed(mutation, right.__name__, KERNELS)  # noqa: E731
    return Subject(mutation.id, "backend", users()[mutation.function], right.dtypes, wrong)


def _executed(mutation: Mutation, name: str, files: Sequence[Path]) -> ModuleType:
    """The files as one module, which imports none of them, with the changed function in it."""
    module = ModuleType(name)
    module.__package__, module.__file__ = name.rpartition(".")[0], mutation.file
    for path in files:
        tree = ast.parse(path.read_text())
        tree.body = [node for node in tree.body if getattr(node, "module", None) not in [file.stem for file in files]]
        exec(compile(tree, str(path), "exec"), module.__dict__)
    exec(compile(mutation.changed, mutation.file, "exec"), module.__dict__)
    return module


@cache
def users() -> dict[str, tuple[str, ...]]:
    """For each function of the backend's files the operations that come to call it."""
    nodes = [node for path in KERNELS for node in ast.parse(path.read_text()).body]
    functions = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}
    calls = {
        name: {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and each.id in functions} | {name}
        for name, node in functions.items()
    }
    for _ in functions:
        calls = {name: set[str]().union(*(calls[other] for other in used)) for name, used in calls.items()}
    return {name: tuple(op for op in operations() if op in calls and name in calls[op]) for name in functions}


def clean(origin: str) -> Backend:
    """The correct implementation that such a subject was made of."""
    source = importlib.import_module("backends.numpy_cpu") if origin == "backend" else OracleBackend()
    return build_backend(source, set(operations()))
