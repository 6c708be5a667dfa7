"""The helpers of an equation that wrong calls reach, and most right calls do not: a bug is likelier there than elsewhere."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from .neighbours.source import Site, Source
from .neighbours.trace import trace

Evaluation = Callable[[Callable[..., Any]], Any]  # evaluates an equation on the arguments of one call
TRACED_CALLS = 6  # of each sort


def find_suspects(source: Source, wrong: Sequence[Evaluation], right: Sequence[Evaluation]) -> frozenset[Site]:
    """Return the helpers that every wrong call reaches, and less than half of the right calls."""
    of_wrong, of_right = ([_list_reached(source, call) for call in calls[:TRACED_CALLS]] for calls in (wrong, right))
    if not of_wrong or not of_right:
        return frozenset()
    in_all = frozenset.intersection(*of_wrong)
    return frozenset(site for site in in_all if 2 * sum(site in reached for reached in of_right) < len(of_right))


def _list_reached(source: Source, evaluation: Evaluation) -> frozenset[Site]:
    """Return the helpers of the operation's own file that the evaluation of a call reaches."""
    seen = trace(source, [evaluation])
    helpers = (site for site in source.sites if site.depth == 1)
    return frozenset(site for site in helpers if any(node in seen for node in ast.walk(site.tree)))
