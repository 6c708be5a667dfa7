"""The helpers of an equation that wrong calls reach, and most right calls do not: a bug is likelier there than elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import FunctionType
from typing import Any, cast

from .neighbours.source import Site, Source

Evaluation = Callable[[Callable[..., Any]], Any]  # evaluates an equation on the arguments of one call
TRACED_CALLS = 6  # of each sort


def find_suspects(source: Source, wrong: Sequence[Evaluation], right: Sequence[Evaluation]) -> frozenset[Site]:
    """Return the helpers that every wrong call reaches, and less than half of the right calls."""
    helpers = {site: site.compile() for site in source.sites if site.depth == 1}
    of_wrong, of_right = ([_list_reached(source, helpers, call) for call in calls[:TRACED_CALLS]] for calls in (wrong, right))
    if not of_wrong or not of_right:
        return frozenset()
    in_all = frozenset.intersection(*of_wrong)
    return frozenset(site for site in in_all if 2 * sum(site in reached for reached in of_right) < len(of_right))


def _list_reached(source: Source, helpers: Mapping[Site, Callable[..., Any]], evaluation: Evaluation) -> frozenset[Site]:
    """Return the helpers that the evaluation of a call reaches. A call that the equation does not take ends early."""
    reached: set[Site] = set()

    def recorded(site: Site, function: Callable[..., Any]) -> FunctionType:
        def call(*arguments: Any, **keywords: Any) -> Any:
            reached.add(site)
            return function(*arguments, **keywords)

        return cast("FunctionType", call)

    with suppress(Exception):
        evaluation(source.with_functions({site: recorded(site, function) for site, function in helpers.items()}))
    return frozenset(reached)
