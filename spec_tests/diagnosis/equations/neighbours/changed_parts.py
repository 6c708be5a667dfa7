"""What an edit changes, as a reader sees it: the lines before and after, with the changed parts marked."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from .edit import Change, Edit, applied
from .notation import CLOSE, LEFT_OUT, MAX_LENGTH, OPEN, Writer, write_short
from .source import Site

MAX_LINES = 2  # of a change that are written; others are left out


def write_change(edits: tuple[Edit, ...]) -> tuple[str, str]:
    """Return what is changed and what stands in its place, each in at most `MAX_LENGTH` characters; "" where there is nothing."""
    sites = list(dict.fromkeys(edit.site for edit in edits))
    pairs = [pair for edit in edits for change in edit.changes for pair in _list_pairs(change)]
    old, new = ({id(pair[side]) for pair in pairs} for side in (0, 1))
    for in_full in (False, True):
        before = _list_statements(sites, old)
        with applied(edits):
            after = _list_statements(sites, new)
            now = _join(_without(after, before), new, in_full)
        was = _join(_without(before, after), old, in_full)
        if was != now:
            break
    return was, now


def write_line(statement: ast.stmt, part: ast.AST) -> str:
    """Return a line in which one part is marked."""
    return _join([statement], {id(part)})


def _list_pairs(change: Change) -> Iterator[tuple[Any, Any]]:
    """Yield the nodes that are changed, before and after, as small as they can be written."""
    old, new = change.old, change.new
    if isinstance(old, list) or isinstance(new, list):
        olds, news = (value if isinstance(value, list) else [value] for value in (old, new))
        removed = [node for node in olds if not any(node is other for other in news)]
        added = [node for node in news if not any(node is other for other in olds)]
        if len(removed) == len(added):
            for a, b in zip(removed, added, strict=True):
                yield _narrow(a, b)
        else:
            missing = None if all(isinstance(node, ast.stmt) for node in (*removed, *added)) else change.parent
            yield from ((node, missing) for node in removed)
            yield from ((missing, node) for node in added)
    elif isinstance(old, ast.expr | ast.stmt) and isinstance(new, ast.expr | ast.stmt):
        yield _narrow(old, new)
    else:  # an operator, a name, an option that is left out
        yield change.parent, change.parent


def _narrow(old: Any, new: Any) -> tuple[Any, Any]:
    """Return the smallest parts of two nodes that differ, as long as these are written by themselves."""
    while type(old) is type(new) and not isinstance(old, ast.UnaryOp):
        values = [(getattr(old, name, None), getattr(new, name, None)) for name in old._fields]
        differing = [(a, b) for both in values for a, b in _align(*both) if not _same(a, b)]
        is_part = len(differing) == 1 and all(isinstance(node, ast.expr | ast.keyword) for node in differing[0])
        if not is_part or (isinstance(old, ast.Call) and differing[0][0] is old.func):
            break
        old, new = differing[0]
    return tuple(node.value if isinstance(node, ast.keyword) else node for node in (old, new))  # type: ignore[return-value]


def _align(a: Any, b: Any) -> list[tuple[Any, Any]]:
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return list(zip(a, b, strict=True))
    return [(a, b)]


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    return ast.dump(a) == ast.dump(b) if isinstance(a, ast.AST) and isinstance(b, ast.AST) else a == b


def _list_statements(sites: list[Site], marked: set[int]) -> dict[str, ast.stmt]:
    """Return the statements with a marked part, by their whole texts without marks."""
    found: dict[str, ast.stmt] = {}
    for site in sites:
        for node in ast.walk(site.tree):
            if isinstance(node, ast.stmt) and node is not site.tree and any(id(each) in marked for each in _own_nodes(node)):
                text = write_short((), lambda writer, node=node: writer.statement(node), 10_000)  # type: ignore[misc]
                if not isinstance(node, ast.Pass):
                    found.setdefault(text, node)
    return found


def _own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield a statement and its parts, but not those of the statements that it holds."""
    yield statement
    pending = [statement]
    while pending:
        for child in ast.iter_child_nodes(pending.pop()):
            if not isinstance(child, ast.stmt):
                yield child
                pending.append(child)  # type: ignore[arg-type]


def _without(these: dict[str, ast.stmt], those: dict[str, ast.stmt]) -> list[ast.stmt]:
    """Return the statements that the other side lacks, all if both sides are written alike."""
    return [node for text, node in these.items() if text not in those or these.keys() == those.keys()]


def _join(statements: list[ast.stmt], marked: set[int], in_full: bool = False) -> str:
    """Return statements in one line; "" if there are none."""
    shown = statements[:MAX_LINES]
    rest = f"; {LEFT_OUT}" if len(statements) > MAX_LINES else ""
    lengths = [MAX_LENGTH - len(rest)] if len(shown) == 1 else [(MAX_LENGTH - len(rest) - 2) // 2] * 2
    whole = "; ".join(_write_marked(node, marked, 10_000, in_full) for node in shown) + rest
    if len(whole) <= MAX_LENGTH:
        return whole
    return "; ".join(_write_marked(node, marked, length, in_full) for node, length in zip(shown, lengths, strict=True)) + rest


def _write_marked(node: ast.stmt, marked: set[int], limit: int, in_full: bool) -> str:
    def write(writer: Writer) -> str:
        text = writer.statement(node)
        return text if OPEN in text else f"{OPEN}{text}{CLOSE}"  # what is changed is nothing that is written by itself

    return write_short(marked, write, limit, in_full=in_full)
