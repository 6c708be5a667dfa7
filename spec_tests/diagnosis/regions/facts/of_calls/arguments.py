"""The sizes of dimensions, the options, and which optional arguments a call has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from .....calls.call import Call
from .....calls.call_facts import UNEQUAL_BATCHES, describe_call
from .....calls.in_domain import dimension_sizes
from ....wish import Wish
from ...values import is_number
from ..fact import Amount, Fact, Flag, Largest

ORDER = 1


class Size(Fact):
    """The size of a dimension."""

    def change(self, wish: Wish, value: Any, like: Call, largest: Largest) -> Wish | None:
        return wish.but(sizes={self.name: int(value)}) if largest(self.name) and is_number(value) else None


class Option(Size):
    """The value of a keyword. It may be the size of a dimension too."""

    def change(self, wish: Wish, value: Any, like: Call, largest: Largest) -> Wish | None:
        if largest(self.name):
            return super().change(wish, value, like, largest)
        parameter = like.operation.spec.parameters.get(self.name)
        if parameter is None:
            return None
        given = {self.name: value != parameter.default} if self.name in list_optional(like) else {}
        return wish.but(keywords={self.name: value}, given=given)


class Given(Fact):
    """Whether an optional argument is given, or an optional weight."""

    @property
    def argument(self) -> str:
        return self.name.removeprefix("with ")

    def say_flag(self, holds: bool) -> str:
        return f"whenever {self.argument} is given" if holds else f"whenever no {self.argument} is given"

    def change(self, wish: Wish, value: Any, like: Call, largest: Largest) -> Wish | None:
        return wish.but(given={self.argument: bool(value)})


class WithOptions(Flag):
    """Whether an optional argument is given, whichever."""

    def change(self, wish: Wish, value: Any, like: Call, largest: Largest) -> Wish | None:
        names = list_optional(like)
        return wish.but(given=dict.fromkeys(names, False) if not value else {names[0]: True} if names else {})


class Empty(Flag):
    """Whether an array has no element."""

    def change(self, wish: Wish, value: Any, like: Call, largest: Largest) -> Wish | None:
        return wish.but(batch=(0, *(wish.batch or ())[1:])) if value else wish


class BatchDimensions(Amount):
    """How many axes the batch has."""

    is_of_batch = True

    def say_values(self, kind: str, values: tuple[Any, ...]) -> str:
        if (kind == "below" and values[0] == 1) or (kind == "is" and values == (0,)):
            return "without a batch"
        return "with a batch" if kind == "above" and values[0] == 0 else super().say_values(kind, values)

    def change(self, wish: Wish, value: Any, like: Call, largest: Largest) -> Wish | None:
        return wish.but(batch=(2, 3, 2, 1)[:value]) if value <= 4 else None

    def list_pool(self, values: Any) -> list[Any]:
        return [0, 1, 2, 3]


class UnequalBatches(Flag):
    """Whether the batches of two arguments differ."""

    is_of_batch = True


EMPTY = Empty.of("empty", "where an array is empty", "where no array is empty")
BATCH_DIMENSIONS = BatchDimensions.of("batch_dims", "the batch", "dimension", "dimensions")
UNEQUAL = UnequalBatches.of(UNEQUAL_BATCHES, "where batches broadcast", "where the batches are equal")
WITH_OPTIONS = WithOptions.of("with options", "with any optional argument", "without optional arguments")
SINGLE: Mapping[str, Fact] = MappingProxyType({fact.name: fact for fact in (EMPTY, BATCH_DIMENSIONS, UNEQUAL)})


def given(argument: str) -> Given:
    """Return the fact whether an optional argument is given."""
    return Given.of(f"with {argument}")


def list_optional(call: Call) -> list[str]:
    """Return the optional arguments that the backend takes."""
    parameters = call.operation.spec.parameters
    return [name for name, p in parameters.items() if p.default is not p.empty and call.operation.accepts(name)]


def list_given_weights(call: Call) -> dict[str, bool]:
    """Return whether the call has each of the optional weights that the backend's domain lists."""
    listed = call.operation.domain.get("weights", ()) if call.operation.spec.declaration.optional_weights else ()
    weights = call.named["weights"] if listed else {}
    return {f"weights[{name!r}]": any(name in one for one in (weights, *weights.get("layers", ()))) for name in listed}


def read(call: Call, known: Mapping[Fact, Any]) -> Iterator[tuple[Fact, Any]]:
    """Yield the facts that the coverage of a run counts, and which weights are given."""
    facts, options = describe_call(call)
    sizes, parameters = dimension_sizes(call), call.operation.spec.parameters
    for name, value in facts.items():
        if name in SINGLE:
            yield SINGLE[name], value
        elif name.startswith("with "):
            yield Given.of(name), value
        else:
            yield (Size if name in sizes and name not in parameters else Option).of(name), value
    yield WITH_OPTIONS, bool(options)
    for name, is_given in list_given_weights(call).items():
        yield given(name), is_given
