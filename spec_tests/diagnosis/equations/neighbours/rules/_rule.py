"""What a rule is: a function that is given a place in an equation's source, and yields what could stand there instead.

No rule names an operation. A rule knows the expression at the place, what it was on the failing calls (see `trace.py`), and
which names the function has.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from ..edit import Change, Edit
from ..source import Site
from ..trace import Seen, Trace

REAL = ("array", "number")
POSITION = MappingProxyType(
    {"lineno": 1, "col_offset": 0, "end_lineno": 1, "end_col_offset": 0}
)  # of new nodes; nothing reads it


@dataclass(frozen=True)
class Place:
    """An expression or a statement, and where it stands in its function."""

    site: Site
    node: Any
    parent: ast.AST
    field: str
    index: int | None
    trace: Trace
    repeats: bool = False  # whether the value is that of another place, where rules that wrap values are tried

    @property
    def seen(self) -> Seen:
        return self.trace.get(self.node, Seen("other"))

    def replace(self, new: Any) -> Change:
        return Change(self.parent, self.field, self.index, new)


@dataclass(frozen=True)
class Rule:
    """A rule: its name, the types of nodes that it is tried on, its cost, and the function that yields replacements."""

    name: str
    nodes: tuple[type[Any], ...]
    cost: float
    list_replacements: Callable[[Place], Iterator[Any]]
    has_unknown: bool = False  # whether the replacements hold a constant that is solved for

    @property
    def wraps(self) -> bool:
        """Whether the rule does something to any value, wherever it comes from."""
        return ast.BinOp in self.nodes and ast.Name in self.nodes

    def edits(self, place: Place) -> Iterator[Edit]:
        """Yield the edits at a place. A replacement is a node, or a tuple of changes where several places change together."""
        if isinstance(place.node, self.nodes) and not (place.repeats and self.wraps):
            for new in self.list_replacements(place):
                changes = new if isinstance(new, tuple) else (place.replace(new),)
                if all(change.new is not change.old for change in changes):
                    yield Edit(place.site, tuple(map(_located, changes)), self.name, self.cost, self.has_unknown)


_REGISTERED: dict[str, Rule] = {}
RULES = MappingProxyType(_REGISTERED)


def rule(
    *nodes: type[Any], cost: float = 1.0, has_unknown: bool = False
) -> Callable[[Callable[[Place], Iterator[Any]]], Callable[[Place], Iterator[Any]]]:
    """Register a function as a rule for nodes of these types."""

    def register(f: Callable[[Place], Iterator[Any]]) -> Callable[[Place], Iterator[Any]]:
        _REGISTERED[f.__name__] = Rule(f.__name__, nodes, cost, f, has_unknown)
        return f

    return register


@cache
def _parse(template: str) -> ast.expr:
    return ast.parse(template, mode="eval").body


def fill(template: str, **parts: Any) -> Any:
    """Return the expression of a template, with nodes in the place of some of its names."""
    return _copy(_parse(template), parts)


def _copy(node: Any, parts: dict[str, Any]) -> Any:
    """Copy a tree, but put other nodes in the place of some names. Much faster than `copy.deepcopy`."""
    if isinstance(node, ast.Name):
        return parts.get(node.id) or ast.Name(node.id, node.ctx, **POSITION)
    if isinstance(node, list):
        return [_copy(item, parts) for item in node]
    if not isinstance(node, ast.AST) or isinstance(node, ast.expr_context | ast.operator):
        return node
    copied = type(node)(*(_copy(getattr(node, name), parts) for name in node._fields))
    return _locate(copied) if node._attributes else copied


def _locate(node: Any) -> Any:
    """Give a new node, and the new ones below it, a position in the source, which compiling asks for."""
    if isinstance(node, list):
        for item in node:
            _locate(item)
    elif isinstance(node, ast.AST) and not hasattr(node, "lineno"):
        if node._attributes:
            for name, value in POSITION.items():
                setattr(node, name, value)
        for name in node._fields:
            _locate(getattr(node, name, None))
    return node


def _located(change: Change) -> Change:
    _locate(change.new)
    return change


def name_of(call: Any) -> str:
    """Return the name of the function that is called: `mean` for np.mean(x), and for mean(x)."""
    f = getattr(call, "func", None)
    return f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", "")


def is_numpy(node: Any) -> bool:
    return isinstance(node, ast.Name) and node.id == "np"


def names_in(place: Place, *kinds: str) -> dict[str, Seen]:
    """Return the variables of the function at a place that were of one of these kinds, with what they were."""
    found: dict[str, Seen] = {}
    for node in ast.walk(place.site.tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            seen = place.trace.get(node)
            if seen is not None and seen.kind in kinds:
                found.setdefault(node.id, seen)
    return found


def children(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, Any]]:
    """Yield every node below a tree, after its parent, the field that it stands in, and its index there."""
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            for index, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(node, ast.AST):
                    yield parent, field, index, node


def definition(place: Place, node: Any) -> Any:
    """Return the expression that a variable stands for, if only one line of the function sets it; else the node itself.

    A name inside of that line is another variable, as in t = f(lambda t: t + 1), or an earlier value of this one.
    """
    node = without_marks(node)
    if isinstance(node, ast.Name):
        lines = [n for n in ast.walk(place.site.tree) if isinstance(n, ast.Assign) and _sets(n, node.id)]
        parameters = {a.arg for a in (*place.site.tree.args.args, *place.site.tree.args.kwonlyargs)}
        if len(lines) == 1 and node.id not in parameters and all(part is not node for part in ast.walk(lines[0])):
            target, value = lines[0].targets[0], lines[0].value
            if isinstance(target, ast.Name):
                return without_marks(value)
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
                pairs = zip(target.elts, value.elts, strict=True)
                return next((without_marks(v) for t, v in pairs if isinstance(t, ast.Name) and t.id == node.id), node)
    return node


def _sets(line: ast.Assign, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for target in line.targets for node in ast.walk(target))


def replaced(tree: Any, old: Any, new: Any) -> Any:
    """Return a copy of an expression with another node in the place of one of its nodes."""
    if tree is old:
        return new
    if isinstance(tree, list):
        return [replaced(item, old, new) for item in tree]
    if not isinstance(tree, ast.AST) or not any(node is old for node in ast.walk(tree)):
        return tree
    return ast.copy_location(type(tree)(*(replaced(getattr(tree, name), old, new) for name in tree._fields)), tree)


def names_that_may_be_none(function: ast.FunctionDef) -> set[str]:
    """Return the parameters whose default is None."""
    arguments = function.args
    pairs = [
        *zip(arguments.args[::-1], arguments.defaults[::-1], strict=False),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    return {argument.arg for argument, default in pairs if isinstance(default, ast.Constant) and default.value is None}


def load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def without_marks(node: Any) -> Any:
    """Return the expression inside marks of precision, such as x for rounded(x)."""
    while (
        isinstance(node, ast.Call)
        and name_of(node) in ("rounded", "eager", "wide", "exact", "beside_one", "through_quotient")
        and len(node.args) == 1
    ):
        node = node.args[0]
    return node
