"""What the expressions of an equation were on some calls: arrays of which shape, numbers, or whether they were reached at all."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .source import Site, Source

TRACED = (
    ast.BinOp,
    ast.UnaryOp,
    ast.Call,
    ast.Name,
    ast.Subscript,
    ast.IfExp,
    ast.Compare,
    ast.BoolOp,
    ast.Attribute,
    ast.Constant,
)
HOOK = "_seen"
MAX_AXES = 4  # that are looked for; an expression that had as many is described well enough


@dataclass(frozen=True)
class Seen:
    """What an expression was: its kind, and the shape if it is an array."""

    kind: str  # "array" of real numbers, "integers", "mask", "number", "integer", "truth", "text", "none" or "other"
    shape: tuple[int, ...] = ()
    largest: int = 0  # the length of the longest axis in any call, or the largest integer

    @property
    def clarity(self) -> int:
        """How many axes can be told apart: sizes of 1 hide what an axis is. None is less clear than anything."""
        return -1 if self.kind == "none" else len(self.shape) - self.shape.count(1)


Trace = dict[ast.AST, Seen]


def trace(source: Source, evaluations: Iterable[Callable[[Callable[..., Any]], Any]]) -> Trace:
    """Evaluate the equations and return what each expression of their functions was when it was first reached.

    Each evaluation is a function that evaluates the equation that it is given on the arguments of one call.
    """
    nodes: list[ast.AST] = []
    functions = {}
    for site in source.sites:
        instrumented = _Instrumenter(nodes).instrument(site)
        functions[site] = site.compile(instrumented)
    seen: dict[int, Seen] = {}
    largest: dict[int, int] = {}

    def hook(number: int, value: Any) -> Any:
        largest[number] = max(largest.get(number, 0), _measure(value))
        if number not in seen or seen[number].clarity < MAX_AXES:
            new = _describe(value)
            if number not in seen or new.clarity > seen[number].clarity:
                seen[number] = new
        return value

    for site in source.sites:
        site.namespace[HOOK] = hook
    for evaluate in evaluations:
        try:
            evaluate(source.with_functions(functions))
        except Exception:
            continue  # the equation does not take such arguments; what was reached before counts
    return {nodes[number]: replace(found, largest=largest[number]) for number, found in seen.items()}


def _measure(value: Any) -> int:
    """Return the length of the longest axis of an array, or an integer itself."""
    if isinstance(value, np.ndarray):
        return max(value.shape, default=0)
    return int(value) if isinstance(value, int | np.integer) else 0


def _describe(value: Any) -> Seen:
    if value is None:
        return Seen("none")
    if isinstance(value, bool | np.bool_):
        return Seen("truth")
    if isinstance(value, int | np.integer):
        return Seen("integer")
    if isinstance(value, float | np.floating):
        return Seen("number")
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            return Seen("number" if value.dtype.kind == "f" else "integer")
        return Seen({"f": "array", "b": "mask"}.get(value.dtype.kind, "integers"), value.shape)
    return Seen("text" if isinstance(value, str) else "other")


class _Instrumenter(ast.NodeTransformer):
    """Wrap each expression of a copy of a function in a call of the hook, with the number of its original node."""

    def __init__(self, nodes: list[ast.AST]):
        self.nodes = nodes

    def instrument(self, site: Site) -> ast.FunctionDef:
        tree = copy.deepcopy(site.tree)
        self.original = dict(zip(map(id, ast.walk(tree)), ast.walk(site.tree), strict=True))
        tree.body = [self.visit(statement) for statement in tree.body]
        return ast.fix_missing_locations(tree)

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.arguments | ast.JoinedStr | ast.Raise):
            return node
        original = self.original[id(node)]
        if isinstance(node, ast.Call):  # its function is no value
            node.args = [self.visit(a) for a in node.args]
            node.keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
            if isinstance(node.func, ast.Attribute) and not _is_module(node.func.value):
                node.func.value = self.visit(node.func.value)
        elif not (isinstance(node, ast.Attribute) and _is_module(node.value)):
            self.generic_visit(node)
        if not isinstance(node, TRACED) or isinstance(getattr(node, "ctx", None), ast.Store):
            return node
        self.nodes.append(original)
        number = ast.Constant(len(self.nodes) - 1)
        return ast.copy_location(ast.Call(ast.Name(HOOK, ast.Load()), [number, node], []), node)


def _is_module(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "np"
