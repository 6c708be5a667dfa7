"""The form of a record of report.jsonl: what the fields of a dataclass say of its members.

A dataclass has one field for each member, and the type of the field says what the member may be. `Annotated` adds what a type
cannot say: a `Name`, a `Range`, a `Pattern`, REAL, and a sentence about the member. A field with a default may be absent from a
record that is read. A field with the metadata LEFT_OUT is written only if it has another value than its default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache, cached_property
from types import MappingProxyType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

LEFT_OUT: Mapping[str, bool] = MappingProxyType({"left out": True})
WORDS: Mapping[str, float] = MappingProxyType({"Infinity": float("inf"), "-Infinity": float("-inf"), "NaN": float("nan")})


@dataclass(frozen=True)
class Name:
    """The name of a member in the record, where it is none of Python."""

    text: str


@dataclass(frozen=True)
class Range:
    """The least and the largest value of a number, or the least and the largest length of a list. None: there is no limit."""

    least: int | None = None
    largest: int | None = None

    def holds(self, size: float) -> bool:
        return (self.least is None or size >= self.least) and (self.largest is None or size <= self.largest)


@dataclass(frozen=True)
class Pattern:
    """A regular expression that a text matches."""

    text: str


@dataclass(frozen=True, init=False)
class OneOf:
    """The values that a member may have."""

    values: tuple[Any, ...]

    def __init__(self, *values: Any):
        object.__setattr__(self, "values", values)


@dataclass(frozen=True)
class Words:
    """That a number may be infinite or no number. JSON has none of these: words stand for them."""


REAL = Words()
Count = Annotated[int, Range(0)]
Real = Annotated[float, REAL]
Sha256 = Annotated[str, Pattern("^[0-9a-f]{64}$")]


@dataclass(frozen=True)
class Form:
    """What a value may be: its type, and what `Annotated` adds."""

    kind: Any  # a type without `Annotated`, and without the types in its brackets
    inner: tuple[Any, ...] = ()  # the types in its brackets
    range: Range = Range()
    pattern: str = ""
    values: tuple[Any, ...] = ()  # the only ones, if any are given
    has_words: bool = False
    name: str = ""
    about: str = ""  # a sentence for the schema

    @cached_property
    def is_union(self) -> bool:
        """Whether several types are allowed."""
        return self.kind in (Union, UnionType)

    @cached_property
    def is_dataclass(self) -> bool:
        return is_dataclass(self.kind)

    @cached_property
    def inner_forms(self) -> tuple[Form, ...]:
        """The forms of the types in the brackets."""
        return tuple(map(Form.of, self.inner))

    @classmethod
    @cache
    def of(cls, kind: Any) -> Form:
        """Return the form that a type says."""
        marks: list[Any] = []
        if get_origin(kind) is Annotated:
            kind, *marks = get_args(kind)
        found: dict[type, Any] = {type(mark): mark for mark in marks}
        return cls(
            get_origin(kind) or kind,
            get_args(kind),
            range=found.get(Range, Range()),
            pattern=found[Pattern].text if Pattern in found else "",
            values=found[OneOf].values if OneOf in found else (),
            has_words=Words in found,
            name=found[Name].text if Name in found else "",
            about=found.get(str, ""),
        )


@dataclass(frozen=True)
class Member:
    """One member of a record, and the field that holds it."""

    field: str
    name: str  # in the record
    form: Form
    make_default: Callable[[], Any] | None  # None: the member must be there
    is_left_out: bool  # where it has its default

    def leaves_out(self, value: Any) -> bool:
        """Whether a record has no such member for this value."""
        return self.is_left_out and self.make_default is not None and value == self.make_default()


class Subscriptable:
    """A dataclass whose members can be read like a dict, by their names in a record, as code of earlier versions does."""

    def __getitem__(self, name: str) -> Any:
        for member in list_members(type(self)):
            if member.name == name:
                return getattr(self, member.field)
        raise KeyError(name)


def list_members(cls: Any) -> tuple[Member, ...]:
    """Return the members that the record of a dataclass has."""
    return _list_members(cls)


@cache
def _list_members(cls: Any) -> tuple[Member, ...]:
    types = get_type_hints(cls, include_extras=True)
    found = []
    for each in fields(cls):
        form = Form.of(types[each.name])
        is_left_out = bool(each.metadata.get("left out"))
        found.append(Member(each.name, form.name or each.name, form, _find_default(each), is_left_out))
    return tuple(found)


def _find_default(each: Field[Any]) -> Callable[[], Any] | None:
    if each.default_factory is not MISSING:
        return each.default_factory
    return None if each.default is MISSING else lambda: each.default
