"""What arrays of integers and of truth values hold: equal entries of the batch, and indices with a meaning of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .....calls.call import Call
from .....specification.registry import core_of
from ..fact import Fact

ORDER = 5

INDEX_OPTIONS = "_index", "_idx", "_id"  # how options end that are an index with a meaning of its own, such as that of padding


@dataclass(frozen=True, eq=False, repr=False)
class EqualEntries(Fact):
    """Whether all entries of the batch of an array are equal."""

    argument: str

    is_of_batch = True

    def say_flag(self, holds: bool) -> str:
        entries = f"batch entries of {self.argument}"
        return f"where all {entries} are equal" if holds else f"where {entries} differ"


@dataclass(frozen=True, eq=False, repr=False)
class IndexAmong(Fact):
    """Whether an array of integers holds an index: 0, or that of an option."""

    index: str
    argument: str

    def say_flag(self, holds: bool) -> str:
        return f"where {'an' if holds else 'no'} entry of {self.argument} is {self.index}"


def equal_entries(argument: str) -> EqualEntries:
    """Return the fact whether all entries of the batch of an argument are equal."""
    return EqualEntries.of(f"equal batch entries of {argument}", argument)


def index_among(index: str, argument: str) -> IndexAmong:
    """Return the fact whether an argument holds an index."""
    return IndexAmong.of(f"{index} among the entries of {argument}", index, argument)


def read(call: Call, known: Mapping[Fact, Any]) -> Iterator[tuple[Fact, Any]]:
    """Yield the facts of each array of integers or truth values."""
    for name, core in core_of(call.operation.spec, call.named).items():
        x = call.named.get(name)
        if not (isinstance(x, np.ndarray) and x.dtype.kind in "iub" and name != "lengths" and x.size):
            continue
        entries = x.reshape(-1, *x.shape[max(x.ndim - core, 0) :])
        yield equal_entries(name), bool(np.all(entries == entries[:1]))
        if x.dtype.kind in "iu":
            marked = {option: value for option, value in call.named.items() if option.endswith(INDEX_OPTIONS)}
            for option, value in {"0": 0, **marked}.items():
                yield index_among(option, name), bool(np.any(x == value))
