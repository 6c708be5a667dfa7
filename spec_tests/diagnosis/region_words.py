"""The words for a region of wrong answers: a sentence that could be the name of a unit test."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from .condition import Condition, is_integer, join
from .element_facts import BEYOND
from .element_words import ORDINALS, describe_element_condition
from .region_axis import AFTER, BEFORE, FIRST, LAST, MIDDLE, NEGATIVE, RANK
from .region_facts import (
    AMONG,
    ARRAYS,
    BATCH_ENTRIES,
    ELEMENTS,
    EQUAL_ENTRIES,
    EQUAL_LENGTHS,
    FULL_CACHE,
    TIMES,
    UNUSED_COLUMNS,
    WITH_OPTIONS,
)
from .seen_keys import NO_KEY, ONE_KEY

COUNTED = MappingProxyType(
    {  # facts that count something: what has them, and the word for one and for several
        "batch_dims": ("the batch", "dimension", "dimensions"),
        "batch entries": ("the batch", "entry", "entries"),
        "first batch axis": ("the first batch axis", "entry", "entries"),
        ELEMENTS: ("the result", "element", "elements"),
        "axes of the result": ("the result", "axis", "axes"),
        "columns of the result": ("the result", "column", "columns"),
        "rows of the result": ("the result", "row", "rows"),
        "first axis of the result": ("the first axis of the result", "index", "indices"),
        RANK: ("the argument", "axis", "axes"),
        BEFORE: ("the batch before the axis", "entry", "entries"),
        AFTER: ("the batch after the axis", "entry", "entries"),
    }
)

FLAGS = MappingProxyType(
    {  # the words for a fact that is true, and for one that is false
        WITH_OPTIONS: ("with any optional argument", "without optional arguments"),
        NO_KEY: ("where a query sees no key", "where each query sees a key"),
        ONE_KEY: ("where a query sees one key alone", "where no query sees one key alone"),
        "empty": ("where an array is empty", "where no array is empty"),
        "batches that broadcast": ("where batches broadcast", "where the batches are equal"),
        NEGATIVE: ("where axis is negative", "where axis is not negative"),
        LAST: ("where axis is the last one", "where axis is not the last one"),
        FIRST: ("where axis is the first one", "where axis is not the first one"),
        MIDDLE: ("where axis is neither the first nor the last", "where axis is the first or the last"),
        "an axis of size 1 in the result": ("where the result has an axis of size 1", "where the result has no axis of size 1"),
        "several rows and columns": ("where no axis of an argument has size 1", "where an axis of an argument has size 1"),
        "a square result": ("where the result is square", "where the result is not square"),
        "the call before had these shapes": (
            "where the call before had the same shapes",
            "where the call before had other shapes",
        ),
        "the call before had a result of this shape": (
            "where the call before had a result of the same shape",
            "where the call before had a result of another shape",
        ),
        EQUAL_LENGTHS: ("where all lengths are equal", "where lengths differ"),
        f"{EQUAL_LENGTHS} of q": ("where all lengths of q are equal", "where lengths of q differ"),
        f"{EQUAL_LENGTHS} of k": ("where all lengths of k are equal", "where lengths of k differ"),
        FULL_CACHE: ("where a sequence fills the cache", "where no sequence fills the cache"),
        UNUSED_COLUMNS: ("where the table has unused columns", "where the table has no unused columns"),
        "a wider call came before": ("after a call with longer rows", "where no call with longer rows came before"),
    }
)


def describe_conditions(of_call: Sequence[Condition], of_element: Sequence[Condition]) -> str:
    """Return the words for a region, such as "where n is no multiple of 16, in the last column"."""
    call = [describe_condition(condition) for condition in of_call]
    element = [describe_element_condition(condition) for condition in _merge_blocks(of_element)]
    joined = _join_clauses(call)
    return " ".join(", ".join(part for part in (joined, " and ".join(element)) if part).split()) or "in nearly every call"


def _merge_blocks(conditions: Sequence[Condition]) -> list[Condition]:
    """Return the conditions without one that says no more than that there is a whole block before."""
    blocks = {int(c.fact.rpartition(" ")[2]) for c in conditions if c.fact.startswith(BEYOND) and c.values[0]}
    return [c for c in conditions if not (c.fact == "column" and c.kind == "above" and c.values[0] + 1 in blocks)]


def _join_clauses(clauses: Sequence[str]) -> str:
    """Join clauses, and say "where" once for those that begin with it."""
    where = [clause.removeprefix("where ") for clause in clauses if clause.startswith("where ")]
    others = [clause for clause in clauses if not clause.startswith("where ")]
    return ", ".join([*others, *([f"where {' and '.join(where)}"] if where else [])])


def describe_condition(condition: Condition) -> str:
    """Return the words for a condition on a fact of the call."""
    fact, kind, values = condition.fact, condition.kind, condition.values
    if words := _describe_flag(condition):
        return words
    if fact.startswith("calls before"):
        return _describe_count(fact, kind, values)
    if fact == "storage":
        return f"where arrays are stored {join(values)}" if kind == "is" else f"where arrays are not stored {join(values)}"
    if fact == "dtype":
        return f"in {join(values)}"
    if fact in COUNTED or fact.startswith(("rows of ", "axes of ", ARRAYS)):
        return _describe_amount(fact, kind, values)
    if TIMES in fact:
        fact = fact.replace(BATCH_ENTRIES, "the number of batch entries")
    if kind == "above":
        return f"from {fact} = {values[0] + 1} on" if is_integer(values[0]) else f"where {fact} exceeds {values[0]:.6g}"
    if kind == "below" and values[0] == 2 and is_integer(values[0]):
        return f"where {fact} = 1"
    if kind == "below":
        return f"up to {fact} = {values[0] - 1}" if is_integer(values[0]) else f"where {fact} is below {values[0]:.6g}"
    if kind == "no multiple":
        return f"where {fact} is odd" if values[0] == 2 else f"where {fact} is no multiple of {values[0]}"
    if kind == "multiple":
        return f"where {fact} is even" if values[0] == 2 else f"where {fact} is a multiple of {values[0]}"
    if kind == "remainder":
        return f"where {fact} is {values[1]} more than a multiple of {values[0]}"
    if kind == "power of two":
        return f"where {fact} is a power of two"
    if kind == "no power of two":
        return f"where {fact} is no power of two"
    return f"where {fact} {'=' if kind == 'is' else 'is not'} {join(values)}"


def _describe_flag(condition: Condition) -> str:
    """Return the words for a fact that is true or false, "" for others."""
    fact, value = condition.fact, condition.values[0] if condition.values else None
    if condition.kind not in ("is", "is not") or not isinstance(value, bool) or len(condition.values) > 1:
        return ""
    holds = value if condition.kind == "is" else not value
    if fact in FLAGS:
        return FLAGS[fact][not holds]
    if fact.startswith("with "):
        argument = fact.removeprefix("with ")
        return f"whenever {argument} is given" if holds else f"whenever no {argument} is given"
    if fact.startswith(EQUAL_ENTRIES):
        entries = f"batch entries of {fact.removeprefix(EQUAL_ENTRIES)}"
        return f"where all {entries} are equal" if holds else f"where {entries} differ"
    if AMONG in fact:
        index, _, array = fact.partition(AMONG)
        return f"where {'an' if holds else 'no'} entry of {array} is {index}"
    compared = fact.replace("batch entries", "the number of batch entries")
    if " > " in fact:
        return f"where {compared}" if holds else f"where {compared.replace(' > ', ' ≤ ')}"
    if " = " in fact:
        return f"where {compared}" if holds else f"where {compared.replace(' = ', ' ≠ ')}"
    if fact.startswith(("−∞ in ", "NaN in ")):
        value, _, name = fact.partition(" in ")
        return f"where {name} holds {'' if holds else 'no '}{value}"
    if fact.endswith(" is finite"):
        return f"where {fact}" if holds else f"where {fact.removesuffix(' is finite')} holds NaN or an infinity"
    return f"where {fact} = {holds}"


def _describe_amount(fact: str, kind: str, values: tuple[Any, ...]) -> str:
    """Return the words for how many axes, rows or entries there are."""
    if fact.startswith(("rows of ", "axes of ")) and fact not in COUNTED:
        several, _, argument = fact.partition(" of ")
        owner, one = f"the {argument}", {"rows": "row", "axes": "axis"}[several]
        if several == "rows" and (kind, values) in (("is", (1,)), ("below", (2,))):
            return f"with a {argument} of one row"
    elif fact.startswith(ARRAYS):
        owner, one, several = fact.removeprefix(ARRAYS), "array", "arrays"
    else:
        owner, one, several = COUNTED[fact]
    value = values[0] if values else 0
    if (kind == "below" and value == 1) or (kind == "is" and values == (0,)):
        return "without a batch" if fact == "batch_dims" else f"where {owner} has no {one}"
    amounts = {
        "above": f"{value + 1} {several} or more" if values else "",
        "below": f"one {one} at most" if value == 2 else f"fewer than {value} {several}",
        "is": f"{join(['one' if v == 1 else v for v in values])} {one if values == (1,) else several}",
        "is not": f"not {join(values)} {several}",
        "no multiple": f"an odd number of {several}" if value == 2 else f"a number of {several} that is no multiple of {value}",
        "multiple": f"an even number of {several}" if value == 2 else f"a number of {several} that is a multiple of {value}",
        "remainder": f"a number of {several} that is {values[-1] if values else 0} more than a multiple of {value}",
        "power of two": f"a number of {several} that is a power of two",
        "no power of two": f"a number of {several} that is no power of two",
    }
    if kind == "above" and value == 0:
        return (
            "with a batch"
            if fact == "batch_dims"
            else f"where {owner} has an {one}"
            if one[0] in "aei"
            else f"where {owner} has a {one}"
        )
    return f"where {owner} has {amounts[kind]}"


def _describe_count(fact: str, kind: str, values: tuple[Any, ...]) -> str:
    """Return the words for a position in the sequence of calls."""
    of = fact.removeprefix("calls before").replace(" with these shapes", " with the same shapes")
    of = of.replace(" with a result of this shape", " with a result of the same shape")
    of = (
        of.replace(" with ", " with the same shape of ", 1).removesuffix(" of this shape")
        if of.endswith(" of this shape")
        else of
    )
    if kind == "above":
        number = values[0] + 2
        return f"from the {ORDINALS.get(number, f'{number}th')} call{of} on"
    if (kind, values) == ("below", (1,)) or (kind, values) == ("is", (0,)):
        return f"in the first call{of}"
    if kind == "below":
        return f"in the first {values[0]} calls{of}"
    if kind == "remainder":
        return f"in every {ORDINALS[values[0]]} call{of}"
    if kind == "no multiple":
        return (
            f"in every {ORDINALS.get(values[0], f'{values[0]}th')} call{of}"
            if values[0] == 2
            else f"in calls{of} but each {values[0]}th"
        )
    return f"in call {join([value + 1 for value in values if is_integer(value)])}{of}"
