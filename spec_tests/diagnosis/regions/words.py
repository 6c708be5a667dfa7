"""The words for a region of wrong answers: a sentence that could be the name of a unit test."""

from __future__ import annotations

from collections.abc import Sequence

from .condition import Condition
from .facts.of_elements.blocks import ColumnsBeyondBlocks
from .facts.of_elements.indices import COLUMN


def describe_conditions(of_call: Sequence[Condition], of_element: Sequence[Condition]) -> str:
    """Return the words for a region, such as "where n is no multiple of 16, in the last column"."""
    call = [condition.words for condition in of_call]
    element = [condition.words for condition in _merge_blocks(of_element)]
    joined = _join_clauses(call)
    return " ".join(", ".join(part for part in (joined, " and ".join(element)) if part).split()) or "in nearly every call"


def _merge_blocks(conditions: Sequence[Condition]) -> list[Condition]:
    """Return the conditions without one that says no more than that there is a whole block before."""
    blocks = {c.fact.block for c in conditions if isinstance(c.fact, ColumnsBeyondBlocks) and c.values[0]}
    return [c for c in conditions if not (c.fact is COLUMN and c.kind == "above" and c.values[0] + 1 in blocks)]


def _join_clauses(clauses: Sequence[str]) -> str:
    """Join clauses, and say "where" once for those that begin with it."""
    where = [clause.removeprefix("where ") for clause in clauses if clause.startswith("where ")]
    others = [clause for clause in clauses if not clause.startswith("where ")]
    return ", ".join([*others, *([f"where {' and '.join(where)}"] if where else [])])
