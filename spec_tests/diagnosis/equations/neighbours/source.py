"""A copy of the equations that one operation evaluates, whose functions can be replaced by changed ones.

The copies live in namespaces of their own, so that the oracle never sees a change.
"""

from __future__ import annotations

import ast
import inspect
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any

import numpy as np

from reference_numpy import _marks

from ....specification.registry import gradients, import_specifications, operations, specification
from . import steps, whole_steps
from .limited_numpy import axes_of_at_most, limited_numpy

PACKAGE = "reference_numpy"
NO_EQUATIONS = (f"{PACKAGE}._marks", f"{PACKAGE}._reverse_mode")  # what equations need of the number types, and the chain rule
STEPS = MappingProxyType(
    {
        name: step
        for module in (steps, whole_steps)
        for name, step in vars(module).items()
        if inspect.isfunction(step) and name[0] != "_"
    }
)  # for changed lines
KNOWN = MappingProxyType(
    {name: getattr(_marks, name) for name in ("logistic", "normal_cdf", "positive", "finite_or_zero")}
    | {
        "math": math,
        "np": np,
    }
)

MIN_LONGEST = 64  # the least length that counts as the longest of a call


@dataclass(eq=False)
class Site:
    """One function of the equations: its syntax tree, and the namespaces in which it is called by name."""

    module: str
    tree: ast.FunctionDef
    depth: int  # 0 for the operation's own file, 1 for the files that it imports, …
    namespace: dict[str, Any] = field(repr=False)
    callers: list[dict[str, Any]] = field(default_factory=list, repr=False)

    @property
    def name(self) -> str:
        return self.tree.name

    @property
    def operation(self) -> str:
        """The operation whose file holds the function."""
        return self.module.rpartition(".")[2]

    @property
    def is_equation(self) -> bool:
        """Whether it is the equation of an operation, rather than a helper of some."""
        return self.name == self.operation and self.name in (*operations(), *gradients())

    def find_call(self, name: str) -> tuple[ast.stmt, ast.Call] | None:
        """Return the first statement that calls a function of this name, with the call; None if none does."""
        statements = [node for node in ast.walk(self.tree) if isinstance(node, ast.stmt) and not hasattr(node, "body")]
        found = ((node, call) for node in sorted(statements, key=lambda node: node.lineno) for call in _list_calls(node, name))
        return next(found, None)

    def compile(self, tree: ast.FunctionDef | None = None) -> FunctionType:
        """Return the function as its syntax tree now is, or another tree, with the names of this copy."""
        code = compile(ast.Module([tree or self.tree], []), f"<{self.module}>", "exec")
        made: dict[str, Any] = {}
        exec(code, self.namespace, made)  # of the project's own equations, changed by rules of this package
        function: FunctionType = made[self.name]
        return function


class Source:
    """The equations that an operation's equation is made of."""

    def __init__(self, operation: str):
        self.operation = operation
        reference = specification(operation).reference
        depths = _find_modules(sys.modules[reference.__module__])
        names = (*operations(), *gradients())
        import_specifications(names)
        others = {name: specification(name).reference for name in names}  # which a changed line may call in place of its own
        namespaces = {name: {**KNOWN, **others, **STEPS, **vars(sys.modules[name]), "np": limited_numpy()} for name in depths}
        self.sites: list[Site] = []
        originals: dict[Any, Site] = {}
        for name, depth in depths.items():
            for node in _parse(name).body:
                if isinstance(node, ast.FunctionDef):
                    site = Site(name, node, depth, namespaces[name])
                    originals[getattr(sys.modules[name], node.name)] = site
                    self.sites.append(site)
        self._top = (namespaces[reference.__module__], reference.__name__)
        for namespace in namespaces.values():
            for name, value in list(namespace.items()):
                if isinstance(value, FunctionType) and value in originals and value.__name__ == name:
                    originals[value].callers.append(namespace)
        for site in self.sites:
            self._put(site, site.compile())

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Evaluate the operation's equation with the functions as they now are."""
        namespace, name = self._top
        return namespace[name](*arguments, **keywords)

    def find_callers(self, site: Site) -> list[tuple[Site, tuple[ast.stmt, ast.Call] | None]]:
        """Return the equations that call a function, each with the first statement that does. Other helpers may stand between.

        An equation is its own caller, without a statement.
        """
        if site.is_equation:
            return [(site, None)]
        found: dict[Site, tuple[ast.stmt, ast.Call] | None] = {}
        names, new = {site.name}, [site.name]
        while new:
            name = new.pop(0)
            for caller in self.sites:
                call = caller.find_call(name)
                if call and caller.is_equation:
                    found.setdefault(caller, call)
                elif call and caller.name not in names:
                    names.add(caller.name)
                    new.append(caller.name)
        return list(found.items())

    def _put(self, site: Site, function: FunctionType) -> None:
        for namespace in site.callers:
            namespace[site.name] = function

    @contextmanager
    def replaced(self, functions: dict[Site, FunctionType]) -> Iterator[None]:
        """Within the context, the equations call these functions in place of their own."""
        before = {site: site.namespace[site.name] for site in functions}
        try:
            for site, function in functions.items():
                self._put(site, function)
            yield
        finally:
            for site, function in before.items():
                self._put(site, function)

    def with_functions(self, functions: dict[Site, FunctionType]) -> Callable[..., Any]:
        """Return the operation's equation with these functions in place of its own.

        It makes no axis from a count that is more than twice as long as those of its arguments, their rows and their integers.
        """

        def equation(*arguments: Any, **keywords: Any) -> Any:
            with self.replaced(functions), axes_of_at_most(2 * _longest(*arguments, *keywords.values())):
                return self(*arguments, **keywords)

        return equation


def _list_calls(node: ast.AST, name: str) -> list[ast.Call]:
    return [inner for inner in ast.walk(node) if isinstance(inner, ast.Call) and getattr(inner.func, "id", "") == name]


@cache
def _parse(module: str) -> ast.Module:
    """Return the syntax tree of a module. All sources share it: an edit of a part is one in every operation with that part."""
    return _without_annotations(ast.parse(inspect.getsource(sys.modules[module])))


def _longest(*values: Any) -> int:
    """Return the largest number among the lengths of the axes of arrays, the numbers of their rows, and the integers.

    Each element of an array of integers may become a row, as a token does.
    """
    longest = MIN_LONGEST
    for value in values:
        if isinstance(value, int):
            longest = max(longest, abs(value))
        elif isinstance(value, dict | tuple | list):
            longest = max(longest, _longest(*(value.values() if isinstance(value, dict) else value)))
        elif shape := getattr(value, "shape", ()):
            rows = shape if isinstance(value, np.ndarray) and value.dtype.kind in "iu" else shape[:-1]
            longest = max(longest, *shape, math.prod(rows))
    return longest


@cache
def source_of(operation: str) -> Source:
    """Return the source of an operation's equation. It is kept, since each failure of the operation needs it."""
    return Source(operation)


def _find_modules(top: ModuleType) -> dict[str, int]:
    """Return the modules whose functions the equations of a module call, with the number of imports that lead to each."""
    depths, new = {top.__name__: 0}, [top]
    while new:
        module = new.pop(0)
        for value in vars(module).values():
            name = getattr(value, "__module__", "") if isinstance(value, FunctionType) else ""
            if name.startswith(f"{PACKAGE}.") and name not in (*NO_EQUATIONS, *depths):
                depths[name] = depths[module.__name__] + 1
                new.append(sys.modules[name])
    return depths


def _without_annotations(tree: ast.Module) -> ast.Module:
    """Drop annotations and docstrings, which no rule changes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            for argument in (*node.args.args, *node.args.kwonlyargs):
                argument.annotation = None
            if isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant):
                del node.body[0]
        for name, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                setattr(node, name, [_as_assignment(statement) for statement in value])
    return tree


def _as_assignment(statement: ast.stmt) -> ast.stmt:
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        return ast.copy_location(ast.Assign([statement.target], statement.value), statement)
    return statement
