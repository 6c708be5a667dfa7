"""The region of inputs that a backend refuses, in words, with the line of `domain` that excludes it.

The search looks at one fact of the examples at a time, such as the size of one dimension. It names a region only if the region
separates all refused examples from all others, and if it is improbable that it does so by chance.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .values import is_integer, is_number

MAX_CHANCE = 0.01  # a region that separates the examples by chance more often is not named
MAX_NAMED_VALUES = 4

POSITION_KINDS = ("consecutive", "offset", "arbitrary")  # as in a domain, each includes those before it


class Limit(NamedTuple):
    """What separates the refused values of a fact from the others. `kind` is one of those of conditions."""

    name: str
    kind: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Region:
    """What is refused, and what the backend's author can write about it."""

    words: str  # such as "refuses d > 8"
    advice: str  # the line of domain to add, or another sentence


def find_region(operation: str, examples: Sequence[tuple[bool, Mapping[str, Any]]]) -> Region | None:
    """Return the simplest region of one fact that holds every refused example and no other. None if there is no such region.

    Each example is (whether it was refused, its facts). A fact that not every example has is not looked at.
    """
    refused = [facts for was_refused, facts in examples if was_refused]
    others = [facts for was_refused, facts in examples if not was_refused]
    if not refused or not others:
        return None
    names = [name for name in refused[0] if all(name in facts for _, facts in examples)]
    ways = math.comb(len(examples), len(refused))  # to choose as many examples
    candidates = []
    for name in names:
        inside, outside = Counter(facts[name] for facts in refused), Counter(facts[name] for facts in others)
        if inside.keys() & outside.keys():
            continue
        for rank, choices, region in _list_regions(operation, name, inside, outside):
            if choices * len(names) <= MAX_CHANCE * ways:
                candidates.append((rank, choices, region))
    return min(candidates, key=lambda candidate: candidate[:2])[2] if candidates else None


def describe_options(operation: str, refused: Sequence[frozenset[str]], answered: Collection[str]) -> Region | None:
    """Return the region of the calls with some optional arguments, as "mask" or "activation = silu". None if there are none.

    An option of which another value than the default was answered must stay in the signature.
    """
    if not refused:
        return None
    kept = {name.partition(" = ")[0] for name in answered}
    alone = {next(iter(names)).partition(" = ")[0] for names in refused if len(names) == 1}
    unused = sorted(alone - kept)
    words = _join(sorted(" with ".join(sorted(names)) for names in refused))
    return Region(f"refuses {words}", f"leave {_join(unused)} out of the signature of {operation}" if unused else "")


def _join(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _list_regions(operation: str, name: str, inside: Counter[Any], outside: Counter[Any]) -> Iterator[tuple[int, int, Region]]:
    """Yield (how complicated it is, how many choices of as many examples such a region can make, the region)."""
    if all(isinstance(value, bool) for value in (*inside, *outside)):
        yield 0, 2, _describe_flag(operation, name, True in inside)
        return
    choices = _count_choices([*inside.values(), *outside.values()], inside.total())
    if name == "positions":  # a domain states the most general kind, which includes those before it
        kinds = tuple(kind for kind in POSITION_KINDS if kind in outside)
        if kinds and all(kind in inside for kind in POSITION_KINDS[len(kinds) :]) and kinds == POSITION_KINDS[: len(kinds)]:
            words = f"refuses all positions but {' and '.join(kinds)} ones"
            yield 3, choices, Region(words, f'domain = {{"{operation}": {{"positions": "{kinds[-1]}"}}}}')
        return
    for rank, ways, limit, allowed in _list_limits(name, inside, outside):
        words = f"refuses {_describe_limit(limit)}{_describe_unknown(limit, inside, outside)}"
        yield rank, ways or choices, Region(words, _write_domain(operation, name, allowed))


def _list_limits(name: str, inside: Counter[Any], outside: Counter[Any]) -> Iterator[tuple[int, int, Limit, Any]]:
    """Yield (how complicated it is, choices or 0 for those of a list, a limit that separates the values, what is allowed)."""
    values = (*inside, *outside)
    if all(map(is_number, values)):
        low, high = min(outside), max(outside)
        has_steps = all(map(is_integer, values)) and name != "axis"
        rank, few = (1, False) if has_steps else (2, len(outside) <= MAX_NAMED_VALUES or all(map(is_integer, values)))
        if high < min(inside) and not few:
            yield rank, 2, Limit(name, "above", (high,)), range(min(low, 1), high + 1) if has_steps else sorted(outside)
        if max(inside) < low and not few:
            yield rank, 2, Limit(name, "below", (low,)), range(low, high + 1) if has_steps else sorted(outside)
        step = math.gcd(*outside) if has_steps else 0
        if step > 1 and all(value % step for value in inside) and len(outside) > 1:
            # as many choices as there are steps up to the largest answered size
            yield 2, high, Limit(name, "no multiple", (step,)), range(step, high + 1, step)
    allowed, refused = (sorted(counts, key=lambda value: (str(type(value)), value)) for counts in (outside, inside))
    if len(outside) <= MAX_NAMED_VALUES:
        yield 3, 0, Limit(name, "is not", tuple(allowed)), allowed
    elif len(inside) <= MAX_NAMED_VALUES:
        yield 3, 0, Limit(name, "is", tuple(refused)), allowed


def _describe_limit(limit: Limit) -> str:
    """Return the words for what is refused, such as "d > 8"."""
    name, values = limit.name, " or ".join(map(str, limit.values))
    words = {
        "above": f"{name} > {values}",
        "below": f"{name} < {values}",
        "no multiple": f"{name} that is no multiple of {values}",
        "is": f"{name} = {values}",
        "is not": f"every {name} but {values}",
    }
    return words[limit.kind]


def _describe_unknown(limit: Limit, inside: Counter[Any], outside: Counter[Any]) -> str:
    """Return which sizes at the boundary were not drawn, as text that follows the limit."""
    if not all(map(is_integer, (*inside, *outside))):
        return ""
    if limit.kind == "above":
        return _describe_gap(max(outside) + 1, min(inside) - 1)
    return _describe_gap(max(inside) + 1, min(outside) - 1) if limit.kind == "below" else ""


def _describe_gap(low: int, high: int) -> str:
    return "" if low > high else f" ({low} was not drawn)" if low == high else f" ({low} to {high} were not drawn)"


def _describe_flag(operation: str, name: str, refuses_true: bool) -> Region:
    """Describe what is refused by a fact that is true or false."""
    if name == "empty":
        words = "refuses empty arrays" if refuses_true else "refuses every array but empty ones"
        return Region(words, _write_domain(operation, name, not refuses_true))
    if name.startswith("with "):
        argument = name.removeprefix("with ")
        if refuses_true:
            return Region(f"refuses {argument}", f"leave {argument} out of the signature of {operation}")
        return Region(f"refuses calls without {argument}", "")
    if " " in name:  # another property of the call, which is no name of an argument
        return Region(f"refuses {name}" if refuses_true else f"refuses every call without {name}", "")
    return Region(f"refuses {name} = {refuses_true}", _write_domain(operation, name, (not refuses_true,)))


def _count_choices(counts: Sequence[int], total: int) -> int:
    """Return how many sets of groups have so many members in all. The groups are the values, with the counts of examples."""
    ways = [1] + [0] * total
    for count in counts:
        for so_far in range(total, count - 1, -1):
            ways[so_far] += ways[so_far - count]
    return ways[total]


def _write_domain(operation: str, name: str, allowed: Any) -> str:
    """Return the line that states the domain. Its values are those that were answered, or a range from the first to the last."""
    value = allowed if isinstance(allowed, bool | range) else tuple(allowed)
    return f"domain = {{{operation!r}: {{{name!r}: {value!r}}}}}".replace("'", '"')
