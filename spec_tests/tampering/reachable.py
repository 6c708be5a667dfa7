"""Find what verdicts depend on: the functions and classes of libraries, and all that can be reached from our own modules."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from types import CellType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

import numpy as np

from .snapshot import NOT_COMPARED, Container, make_container

OUR_PACKAGES = ("reference_numpy", "spec_tests")
LIBRARIES = (  # modules that decide what an array holds, what is drawn, and what becomes of a verdict
    "builtins", "contextlib", "functools", "itertools", "json", "json.decoder", "json.encoder", "math", "operator", "random",
    "struct", "time", "zlib",
    "numpy", "numpy.linalg", "numpy._core._methods", "numpy._core._ufunc_config", "numpy._core.fromnumeric",
    "numpy._core.multiarray", "numpy._core.numeric", "numpy._core.shape_base", "numpy._core.umath",
    "numpy.lib._function_base_impl", "numpy.lib._stride_tricks_impl", "numpy.linalg._linalg",
    "hypothesis", "hypothesis._settings", "hypothesis.core", "hypothesis.errors",
    "pluggy", "pluggy._callers", "pluggy._hooks", "pluggy._manager", "pluggy._result",
    "pytest", "_pytest._code.code", "_pytest.config", "_pytest.main", "_pytest.nodes", "_pytest.outcomes", "_pytest.python",
    "_pytest.reports", "_pytest.runner", "_pytest.skipping", "_pytest.terminal",
)  # fmt: skip

DEFINING = ("reference_numpy", "spec_tests.specification", "spec_tests.bounds")  # the packages whose constants others import
STATE = (  # what a run itself changes
    "spec_tests.plugin.VERDICTS", "spec_tests.plugin.VERDICT_POSITIONS", "spec_tests.running.xdist_workers.HANDLED",
    "spec_tests.specification.first_use._importer",  # what it is is watched, and what it has imported changes
    "spec_tests.implementation.guard.step_under_way",  # a step of the backend may import what is then looked at
)  # fmt: skip
DESCRIPTORS = (staticmethod, classmethod, property, cached_property)


def is_ours(name: Any) -> bool:
    """Whether this is the dotted name of a module of ours."""
    return isinstance(name, str) and name.partition(".")[0] in OUR_PACKAGES


def own_modules() -> dict[str, ModuleType]:
    """Return our modules that are loaded, by their names."""
    own = [name for name in sys.modules if is_ours(name)]
    own.sort(key=lambda name: (not name.startswith(DEFINING), name))  # what several modules import is named by the first
    return {name: module for name in own if isinstance(module := sys.modules[name], ModuleType)}


def library_modules() -> dict[str, ModuleType]:
    """Return the modules of libraries that are watched, by their names. A version of a library may lack one."""
    return {name: module for name in LIBRARIES if isinstance(module := sys.modules.get(name), ModuleType)}


def _root(name: Any) -> str:
    """Return the package that a dotted name lies in. The modules in which libraries define their classes differ by version."""
    return str(name).partition(".")[0]


def library_containers() -> Iterator[Container]:
    """Yield the libraries' modules and classes with the callables that they hold, and each function with its code."""
    seen: set[int] = set()
    for name, module in library_modules().items():
        yield from _library_containers(name, module, seen)
        for key, value in list(vars(module).items()):
            if isinstance(value, type) and _root(value.__module__) == _root(name):
                yield from _library_containers(f"{name}.{key}", value, seen)


def _library_containers(name: str, owner: Any, seen: set[int]) -> Iterator[Container]:
    if id(owner) in seen:
        return
    seen.add(id(owner))
    values = {k: v for k, v in list(vars(owner).items()) if k not in NOT_COMPARED and (callable(v) or isinstance(v, DESCRIPTORS))}
    if container := make_container(name, owner, values):
        yield container
    for key, value in values.items():
        for function in _functions_of(value):
            if id(function) not in seen and _root(function.__module__) == _root(name):
                seen.add(id(function))
                yield make_container(f"{name}.{key}", function) or container  # type: ignore[misc]


def _functions_of(value: Any) -> list[FunctionType]:
    """Return the functions that a value of a class or a module consists of."""
    parts = [value, getattr(value, "__wrapped__", None)]  # NumPy's functions are objects that wrap those
    parts += [getattr(value, part, None) for part in ("__func__", "fget", "fset", "func") if isinstance(value, DESCRIPTORS)]
    return [part for part in parts if isinstance(part, FunctionType)]


class OwnContainers:
    """The containers that can be reached from our own modules, and the arrays: those that were not taken yet."""

    def __init__(self) -> None:
        self.containers: list[Container] = []
        self.arrays: dict[str, np.ndarray] = {}
        self.seen: dict[int, Any] = {}  # the objects that were visited, which are kept so that their ids stay theirs

    def take_new(self) -> tuple[list[Container], dict[str, np.ndarray]]:
        """Return the containers and the arrays that were found since this was last called."""
        found = self.containers, self.arrays
        self.containers, self.arrays = [], {}
        return found

    def visit_modules(self, modules: Mapping[str, ModuleType]) -> None:
        """Add modules of ours, and what can be reached from them."""
        for name, module in modules.items():
            self._add_namespace(name, module)

    def visit(self, name: str, value: Any) -> None:
        """Add the value, if it is a container, and what can be reached from it."""
        if isinstance(value, str | int | float | bytes | ModuleType | None) or id(value) in self.seen:
            return
        self.seen[id(value)] = value  # of state, too: other modules import it
        if name in STATE:
            return
        if isinstance(value, type):
            if is_ours(value.__module__):
                self._add_namespace(f"{value.__module__}.{value.__qualname__}", value, is_closed=True)
        elif isinstance(value, FunctionType):
            if is_ours(value.__globals__.get("__name__")):
                self._add_function(f"{value.__module__}.{value.__qualname__}", value)
        elif isinstance(value, dict | MappingProxyType):
            self._add(name, value, value, is_closed=True)
            for key, item in list(value.items()):
                self.visit(f"{name}[{key!r}]", item)
        elif isinstance(value, list | set | tuple | frozenset):
            if value and not isinstance(value, frozenset):
                self._add(name, value)
            for item in list(value):
                self.visit(name, item)
        elif isinstance(value, np.ndarray):
            self.arrays[name] = value
        else:
            self._visit_object(name, value)

    def _visit_object(self, name: str, value: Any) -> None:
        for part in ("__func__", "__self__", "__wrapped__", "fget", "fset", "func", "args", "keywords"):
            if isinstance(value, (*DESCRIPTORS, partial, MethodType)) or part == "__wrapped__":
                self.visit(name, getattr(value, part, None))
        if is_ours(type(value).__module__) and isinstance(getattr(value, "__dict__", None), dict):
            _compute_properties(value)
            self._add(name, value, vars(value), is_closed=True)
            for key, item in list(vars(value).items()):
                self.visit(f"{name}.{key}", item)

    def _add_namespace(self, name: str, owner: Any, *, is_closed: bool = False) -> None:
        """Add a module or a class, and what it holds."""
        values = {key: value for key, value in list(vars(owner).items()) if not _decides_nothing(key, value)}
        self._add(name, owner, values, is_closed=is_closed)
        for key, value in values.items():
            self.visit(f"{name}.{key}", value)

    def _add_function(self, name: str, function: FunctionType) -> None:
        self._add(name, function)
        self.visit(name, function.__defaults__)
        self.visit(name, function.__kwdefaults__)
        if vars(function):
            self._add(name, vars(function), vars(function))
            for key, value in list(vars(function).items()):
                self.visit(f"{name}.{key}", value)
        for cell in function.__closure__ or ():
            self._add_cell(name, cell)

    def _add_cell(self, name: str, cell: CellType) -> None:
        try:
            contents = cell.cell_contents
        except ValueError:  # it is empty
            return
        if id(cell) not in self.seen:
            self.seen[id(cell)] = cell
            self._add(name, cell)
            self.visit(name, contents)

    def _add(self, name: str, owner: Any, keys: Any = (), *, is_closed: bool = False) -> None:
        if container := make_container(name, owner, keys, is_closed=is_closed):
            self.containers.append(container)


def _decides_nothing(key: str, value: Any) -> bool:
    """Whether an entry of a module or a class is of no use once it is loaded, as what is imported for type hints."""
    return key in NOT_COMPARED or getattr(value, "__module__", "") in ("typing", "__future__", "collections.abc")


def _compute_properties(value: Any) -> None:
    """Compute the cached properties of an object of ours now, so that nothing can be put into their places later."""
    for owner in type(value).__mro__:
        for key, item in vars(owner).items():
            if isinstance(item, cached_property):
                getattr(value, key)
