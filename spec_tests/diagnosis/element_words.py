"""The words for a condition on the elements of a result, such as "in the last column"."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from .condition import Condition, join
from .counted_facts import OCCURRENCES, SEEN
from .element_facts import BEYOND, BEYOND_FLAT, COVERED, FLAT_INDEX

ORDINALS = MappingProxyType({2: "second", 3: "third", 4: "fourth"})

INDICES = MappingProxyType(
    {  # facts that are indices: the word for one, and for several
        "column": ("column", "columns"),
        "row": ("row", "rows"),
        "head": ("head", "heads"),
        "batch entry": ("batch entry", "batch entries"),
        "second batch axis": ("index of the second batch axis", "indices of the second batch axis"),
        "row of all": ("row", "rows"),
        FLAT_INDEX: (FLAT_INDEX, "flat indices"),
    }
)


def describe_element_condition(condition: Condition) -> str:
    """Return the words for a condition on a fact of elements."""
    fact, kind, values = condition.fact, condition.kind, condition.values
    base = fact.removesuffix(" from the end")
    if base in INDICES:
        return _describe_index(*INDICES[base], fact.endswith(" from the end"), kind, values)
    if fact == "head of its group":
        return (
            "in each head but the first of its group"
            if kind == "above"
            else f"in the heads with index {values[0]} in their group"
        )
    if fact.startswith((BEYOND, BEYOND_FLAT)):
        inside = "after the last whole block" if values[0] else "of the whole blocks"
        indices = "flat indices" if fact.startswith(BEYOND_FLAT) else "columns"
        return f"in the {indices} {inside} of {fact.rpartition(' ')[2]}"
    if COVERED in fact:
        index, _, limit = fact.partition(COVERED)
        limit = limit.removesuffix(" on")
        return f"in the {INDICES[index][1]} from ⌈{limit} on" if values[0] else f"in the {INDICES[index][1]} before ⌈{limit}"
    if fact in (SEEN, OCCURRENCES):
        return _describe_counted(fact, kind, values)
    if fact == "column − row":
        return _describe_diagonal(kind, values)
    if fact == "argument":
        return f"in the gradient of {join(values)}"
    if fact == "result":
        return f"in the result {join(values)}"
    if " of a row of " in fact or "in a row of" in fact:
        named = fact.replace("a row", "the row")
        return f"where {named} {_compare(kind, values)}"
    return f"where {fact} {_compare(kind, values)}"


def _describe_counted(fact: str, kind: str, values: tuple[Any, ...]) -> str:
    """Return the words for how many keys a query sees, or how often an id occurs."""
    head, one, several = ("queries that see", "key", "keys") if fact == SEEN else ("rows whose id occurs", "time", "times")
    if kind == "multiple":
        return f"in {head} {values[0]}, {2 * values[0]}, … {several}"
    if kind == "remainder":
        step, rest = values
        of_two = f"an {'odd' if rest else 'even'} number of {several}"
        return f"in {head} {of_two if step == 2 else f'{rest} {several} more than a multiple of {step}'}"
    if kind == "above":
        return f"in {head} {values[0] + 1} {several} or more"
    return f"in {head} {'fewer than ' if kind == 'below' else ''}{values[0]} {one if values == (1,) else several}"


def _describe_index(one: str, several: str, from_end: bool, kind: str, values: tuple[Any, ...]) -> str:
    value = values[-1] if values else 0
    if from_end:
        if (kind, value) in (("is", 0), ("below", 1)):
            return f"in the last {one}"
        if kind == "below":
            return f"in the last {value} {several}"
        if kind == "above":
            return f"in every {one} but the last" if value == 0 else f"in every {one} but the last {value + 1}"
        return f"in every {ORDINALS.get(values[0], values[0])} {one}, counted from the last"
    if kind == "above":
        return f"in every {one} but the first" if value == 0 else f"in {several} {value + 1} and up"
    if kind == "below":
        return f"in the first {one}" if value == 1 else f"in the first {value} {several}"
    if kind == "remainder":
        return f"in every {ORDINALS[values[0]]} {one}, from {value} on"
    return f"in {one} {value}"


def _describe_diagonal(kind: str, values: tuple[Any, ...]) -> str:
    value = values[-1]
    if kind == "above":
        return "above the diagonal" if value == 0 else f"where column − row is at least {value + 1}"
    if kind == "below":
        return "below the diagonal" if value == 0 else f"where column − row is at most {value - 1}"
    return "on the diagonal" if value == 0 and kind == "is" else f"where column − row is {value}"


def _compare(kind: str, values: tuple[Any, ...]) -> str:
    if kind == "above":
        return f"> {values[0]:.6g}"
    if kind == "below":
        return f"< {values[0]:.6g}"
    if kind == "remainder":
        step, rest = values
        if step == 2:
            return "is odd" if rest else "is even"
        return f"is {rest} more than a multiple of {step}" if rest else f"is a multiple of {step}"
    return f"is {join(values)}"
