"""The shapes of an equation's arguments and results, as the section Shapes of its docstring states them.

The grammar, which `docs/guides/extending.md` explains:

    section   = arguments "->" results
    arguments = groups, separated by semicolons
    group     = items, separated by commas | name ":" items, which are the entries of this argument
    item      = name shape | name shape "or" shape, of which an array has the one with its axes |
                names "broadcastable to" shape | words without a shape
    results   = shape | name shape, ... | "(" the gradient of each argument, ... ")" | words without a shape
    shape     = "(" "..." "," label "," label ... ")" | "(any shape ...)"
    label     = one dimension, as d; a product, as h d_k; a quotient, as d_k/2; or a number

"..." stands for the axes of the batch. Text in parentheses with a colon, as (None: n), is a remark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

GROUP = re.compile(r"\(([^()]*)\)")
LABEL = re.compile(r"\w+( \w+)*|\w+ ?/ ?\d+")
BEFORE = re.compile(r"(?P<names>\w+(?: and \w+)*) (?P<to>broadcastable to )?$")
AFTER_OR = re.compile(r"\bor (?:broadcastable to )?$")
ENTRIES = re.compile(r"(\w+): ")  # at the beginning of a group
OTHERS = re.compile(r"(?P<name>\w+) \([^():]*\)(?P<others>(?: or \([^():]*\))+)")
LIKE = re.compile(r"as (\w+)")  # at the beginning of the results
EACH = "each"  # entry of a list
ANY = "any shape"
BATCH = "..."


class ShapesError(ValueError):
    """A section Shapes that is not written in the grammar, or that does not fit the equation."""


@dataclass(frozen=True)
class Shape:
    """The axes of one array."""

    labels: tuple[str, ...]  # of the axes that are not batch: a dimension, a product or a quotient each
    batch: bool = False  # whether the axes of a batch come before them
    any: bool = False  # whether the array may have any shape; there are no labels then

    @property
    def is_plain(self) -> bool:
        """Whether every length is a dimension or a product of dimensions."""
        return not self.any and not any("/" in label for label in self.labels)


@dataclass(frozen=True)
class Shapes:
    """The shapes that a docstring states, by the names of arguments, of entries of arguments, and of results."""

    arguments: Mapping[str, Shape] = field(default_factory=dict)
    broadcast: Mapping[str, Shape] = field(default_factory=dict)  # of arguments that only have to broadcast to it
    others: Mapping[str, tuple[Shape, ...]] = field(default_factory=dict)  # of arguments, after "or": with other axes
    entry_of: Mapping[str, str] = field(default_factory=dict)  # the argument that a name is an entry of
    results: Mapping[str, Shape] = field(default_factory=dict)
    single: Shape | None = None  # of the one result, if it has no name
    like: str = ""  # the argument whose shape the one result has
    words: frozenset[str] = frozenset()  # all words before the arrow

    def of_rank(self, name: str, rank: int, core: int | None = None) -> Shape:
        """Return the shape of an argument that has so many axes: the first one, unless another has exactly these.

        core: how many of them are not batch, where that is known.
        """
        known = (self.arguments[name], *self.others.get(name, ()))
        fitting = (shape for shape in known if not shape.any and len(shape.labels) == (core if shape.batch else rank))
        return next(fitting, known[0])


def parse_shapes(docstring: str) -> Shapes:
    """Return the shapes that the docstring of an equation states, none if it has no section Shapes.

    Raise a ShapesError that says which part is not in the grammar.
    """
    left, _, right = find_section(docstring).partition("->")
    arguments, broadcast, entry_of = dict[str, Shape](), dict[str, Shape](), dict[str, str]()
    others = dict[str, tuple[Shape, ...]]()
    for group in left.split(";"):
        container = ENTRIES.match(group.strip())
        for name, shape in _parse_others(group):
            others[name] = (*others.get(name, ()), shape)
        for name, shape, is_exact in _parse_items(group):
            (arguments if is_exact else broadcast)[name] = shape
            if container:
                entry_of[name] = container[1]
    results = {name: shape for name, shape, _ in _parse_items(right)}
    like = LIKE.match(right.strip())
    words = frozenset(re.findall(r"\w+", left))
    others = {name: shapes for name, shapes in others.items() if name in arguments}
    return Shapes(arguments, broadcast, others, entry_of, results, _parse_single(right.strip()), like[1] if like else "", words)


def _parse_single(right: str) -> Shape | None:
    """Return the shape of a result without a name, None if the results have names or are said in words."""
    group = GROUP.match(right)
    if group is None or " the " in f" {group[1]} " or re.match(r"\(\w+ \(", right):
        return None
    return _parse_shape(group[1].strip())


def find_section(docstring: str) -> str:
    """Return the section Shapes of a docstring: the lines below Shapes, which are indented further, as one line."""
    lines = docstring.expandtabs().splitlines()
    start = next((i for i, line in enumerate(lines) if line.strip() == "Shapes"), None)
    if start is None:
        return ""
    indent = _indent(lines[start])
    end = next((i for i in range(start + 1, len(lines)) if lines[i].strip() and _indent(lines[i]) <= indent), None)
    return " ".join(" ".join(lines[start + 1 : end]).split())


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _parse_items(text: str) -> Iterator[tuple[str, Shape, bool]]:
    """Yield each name, its shape, and whether it has this shape exactly rather than broadcasts to it."""
    for group in GROUP.finditer(text):
        if ":" in group[1]:
            continue
        shape, before = _parse_shape(group[1].strip()), text[: group.start()]
        if (found := BEFORE.search(before)) and not AFTER_OR.search(before) and found["names"] != EACH:
            for name in found["names"].split(" and "):
                yield name, shape, not found["to"]


def _parse_others(text: str) -> Iterator[tuple[str, Shape]]:
    """Yield the name and the shape of each item "name shape or shape", for the shapes after the first."""
    for item in OTHERS.finditer(text):
        yield from ((item["name"], _parse_shape(content.strip())) for content in GROUP.findall(item["others"]))


def _parse_shape(content: str) -> Shape:
    if content.startswith(ANY):
        return Shape((), any=True)
    labels = [label.strip() for label in content.removesuffix(",").split(",")] if content else []
    is_batch = bool(labels) and labels[0] == BATCH
    labels = labels[is_batch:]
    for label in labels:
        if not LABEL.fullmatch(label):
            raise ShapesError(
                f"({content}) has {label!r} where a dimension stands: write one name, as d; a product, as h d_k; "
                "a quotient, as d_k/2; or a number; and ... first for the axes of a batch"
            )
    return Shape(tuple(labels), is_batch)
