"""Functions with a hole in the place of one expression, which many changed expressions fill one after the other.

To compile a whole function for each changed expression takes most of the time of a cheap equation's search.
"""

from __future__ import annotations

import ast
from types import CodeType, FunctionType
from typing import Any

from .edit import Change, Edit, compile_edits
from .source import Site

HOLE = "_hole"
SCOPES = ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp  # whose names are not those of the function
PARTS = ast.Slice, ast.Starred  # of an expression, which are none alone

Place = tuple[ast.AST, str, int | None]


class Holes:
    """The functions with a hole that were compiled, by the place of the hole."""

    def __init__(self) -> None:
        self._functions: dict[Place, dict[Site, FunctionType] | None] = {}
        self._scoped: dict[Site, set[int]] = {}

    def compile(self, edits: tuple[Edit, ...]) -> dict[Site, FunctionType] | None:
        """Return the changed functions as `compile_edits` does. It is one with a hole if the edits change one expression.

        Such a function holds the last expression that it was compiled for.
        """
        changes = [(edit, change) for edit in edits for change in edit.changes]
        if len(changes) != 1 or not self._is_expression(*changes[0]):
            return compile_edits(edits)
        edit, change = changes[0]
        place = change.parent, change.field, change.index
        if place not in self._functions:
            call = ast.parse(f"{HOLE}(locals())", mode="eval").body
            self._functions[place] = compile_edits((Edit(edit.site, (Change(*place, call),), "hole", 0.0),))
        functions = self._functions[place]
        if functions is None:
            return compile_edits(edits)
        try:
            code = compile(ast.Expression(change.new), f"<{edit.site.module}>", "eval")
        except (SyntaxError, ValueError, TypeError):
            return None
        edit.site.namespace[HOLE] = _filled(code, edit.site.namespace)
        return functions

    def _is_expression(self, edit: Edit, change: Change) -> bool:
        """Whether the change puts an expression that can be evaluated alone, among the function's own names, for another one."""
        site = edit.site
        if site not in self._scoped:
            scopes = [node for node in ast.walk(site.tree) if isinstance(node, SCOPES)]
            self._scoped[site] = {id(node) for scope in scopes for node in ast.walk(scope)}
        for x in (change.old, change.new):
            if not isinstance(x, ast.expr) or isinstance(x, PARTS) or not isinstance(getattr(x, "ctx", ast.Load()), ast.Load):
                return False
            if isinstance(x, ast.Tuple) and any(isinstance(item, PARTS) for item in x.elts):
                return False
        in_scope = id(change.parent) in self._scoped[site] or any(isinstance(node, SCOPES) for node in ast.walk(change.new))
        return not in_scope and not isinstance(change.parent, ast.arguments | ast.JoinedStr | ast.FormattedValue)


def _filled(code: CodeType, namespace: dict[str, Any]) -> Any:
    return lambda names: eval(code, namespace, names)  # an expression of the project's own equations, changed by its rules
