"""List the edits of an equation: every rule at every place that the failing calls reached."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator

from .edit import Edit
from .rules import rules
from .rules._rule import RULES, Place, without_marks
from .source import Site, Source
from .trace import Trace

EVERY_COST = (0.0, float("inf"))


def list_edits(
    source: Source,
    trace: Trace,
    depth: int,
    costs: tuple[float, float] = EVERY_COST,
    withheld: frozenset[str] = frozenset(),
    within: Callable[[Site], bool] = lambda site: True,
) -> Iterator[Edit]:
    """Yield the edits of the functions at a depth, the cheaper ones first: 0 is its own file, 1 those that it imports.

    costs: only those of rules that cost more than the first number, and no more than the second.
    withheld: names of rules that are left out, as measurements do. within: which functions are changed.
    """
    sites = [site for site in source.sites if site.depth == depth and within(site)]
    places = [place for site in sites for place in _list_places(site, trace)]
    least, most = costs
    for rule in (rule for rule in rules() if least < rule.cost <= most and rule.name not in withheld):
        for place in places:
            yield from rule.edits(place)


def list_edits_everywhere(source: Source, trace: Trace, name: str) -> Iterator[tuple[Edit, ...]]:
    """Yield a rule's edits at all of its places together: the first of each place, then the second of each, and so on."""
    rule = RULES[name]
    of_places = [list(rule.edits(place)) for site in source.sites for place in _list_places(site, trace)]
    of_places = [edits for edits in of_places if edits]
    if len(of_places) > 1:
        yield from zip(*of_places, strict=False)


def _list_places(site: Site, trace: Trace) -> Iterator[Place]:
    """Yield the expressions that were reached, and the statements that hold such expressions."""
    if not any(node in trace for node in ast.walk(site.tree)):
        return
    yield Place(site, site.tree, site.tree, "", None, trace)
    once = _list_used_once(site.tree)
    stack: list[ast.AST] = [site.tree]
    while stack:
        parent = stack.pop()
        for field, value in ast.iter_fields(parent):
            if isinstance(parent, ast.FunctionDef) and field == "args":
                continue
            for index, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if not isinstance(node, ast.AST) or isinstance(node, ast.Raise | ast.JoinedStr) or _asks_for_type(node):
                    continue
                stack.append(node)
                if without_marks(node) is not node:
                    continue  # a mark changes no value
                if node in trace or isinstance(node, ast.stmt | ast.Tuple | ast.Dict):
                    repeats = isinstance(node, ast.Name) and node.id in once
                    yield Place(site, node, parent, field, index, trace, repeats)


def _list_used_once(function: ast.FunctionDef) -> set[str]:
    """Return the variables that one line sets, outside of any branch or loop, and one expression uses."""
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    used, set_ = (Counter(n.id for n in names if isinstance(n.ctx, context)) for context in (ast.Load, ast.Store))
    lines = [statement for statement in function.body if isinstance(statement, ast.Assign)]
    plain = {target.id for line in lines for target in line.targets if isinstance(target, ast.Name)}
    parameters = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
    return {name for name in plain - parameters if used[name] == set_[name] == 1}


def _asks_for_type(node: ast.AST) -> bool:
    """Whether an expression asks what type of number an equation is evaluated on: a change there computes nothing else."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "hasattr"
