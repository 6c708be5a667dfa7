"""A change of one line of an equation: which nodes of the syntax tree are replaced, and how the line then reads."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import FunctionType
from typing import Any

from .source import Site

UNKNOWN = "UNKNOWN"  # the name of a constant that is solved for
MARKS_OF_PRECISION = ("rounded", "eager", "wide", "exact", "beside_one", "float64", "through_quotient")  # not shown to readers


@dataclass(frozen=True)
class Change:
    """A node of the tree, by its place in its parent, and what stands there instead."""

    parent: ast.AST
    field: str
    index: int | None
    new: Any

    @property
    def old(self) -> Any:
        value = getattr(self.parent, self.field)
        return value if self.index is None else value[self.index]

    def put(self, value: Any) -> None:
        if self.index is None:
            setattr(self.parent, self.field, value)
        else:
            getattr(self.parent, self.field)[self.index] = value


@dataclass(frozen=True, eq=False)
class Edit:
    """One small change of a function."""

    site: Site
    changes: tuple[Change, ...]
    rule: str
    cost: float
    has_unknown: bool = False  # whether the change has a constant that is still to be solved for

    def with_constant(self, text: str) -> Edit:
        """Return the edit with this number, or expression of numbers, in the place of the unknown constant."""
        constant = ast.parse(text, mode="eval").body
        changes = tuple(Change(c.parent, c.field, c.index, _fill_unknown(c.new, constant)) for c in self.changes)
        return Edit(self.site, changes, self.rule, self.cost)


def _fill_unknown(new: Any, constant: ast.expr) -> Any:
    """Return a tree with the constant in the place of the unknown one. What holds no unknown constant is shared, not copied."""
    if isinstance(new, list):
        return [_fill_unknown(item, constant) for item in new]
    if isinstance(new, ast.Name) and new.id == UNKNOWN:
        return constant
    if not isinstance(new, ast.AST) or not any(isinstance(node, ast.Name) and node.id == UNKNOWN for node in ast.walk(new)):
        return new
    return ast.copy_location(type(new)(*(_fill_unknown(getattr(new, name), constant) for name in new._fields)), new)


@contextmanager
def applied(edits: tuple[Edit, ...]) -> Iterator[None]:
    """Within the context, the syntax trees have all these changes."""
    changes = [change for edit in edits for change in edit.changes]
    before = []
    try:
        for change in changes:
            before.append(change.old)
            change.put(change.new)
        yield
    finally:
        for change, old in zip(reversed(changes), reversed(before), strict=False):
            change.put(old)


def compile_edits(edits: tuple[Edit, ...]) -> dict[Site, FunctionType] | None:
    """Return the changed functions, None if the changes make no valid function."""
    try:
        with applied(edits):
            return {edit.site: edit.site.compile() for edit in edits}
    except (SyntaxError, ValueError, TypeError):
        return None


def changed_lines(edits: tuple[Edit, ...]) -> tuple[list[str], list[str]]:
    """Return the lines that the edits take away, and those that they put in their place, but for a `pass`."""
    sites = list(dict.fromkeys(edit.site for edit in edits))
    before = [line for site in sites for line in _list_original_lines(site)]
    with applied(edits):
        after = [line for site in sites for line in _list_lines(site.tree)]
    return [line for line in before if line not in after], [line for line in after if line not in before and line != "pass"]


@cache
def _list_original_lines(site: Site) -> list[str]:
    return _list_lines(site.tree)


def _list_lines(function: ast.FunctionDef) -> list[str]:
    """Return the source lines of a function as a reader needs them: without the marks that change no value."""
    return [line.strip() for line in without_marks(ast.unparse(function)).splitlines()[1:]]


def without_marks(text: str) -> str:
    """Return the text of lines without the marks that change no value."""
    return ast.unparse(_MarkRemover().visit(ast.parse(text)))


class _MarkRemover(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in MARKS_OF_PRECISION and len(node.args) == 1:
            return node.args[0]
        return node
