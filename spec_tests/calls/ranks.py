"""The answers of the ranks to one call. The call itself has the answer of rank 0, or the joined one where the result is cut."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Literal, Protocol

import numpy as np

from ..specification.pytree import join, leaves
from .call import Call
from .violation import Violation


def list_ranks(call: Call) -> list[Call]:
    """Return the call once for each rank that has an answer of its own: itself alone where all have the same array."""
    if call.of_rank_zero is not None:
        return list_ranks(call.of_rank_zero)
    if call.by_rank is None:
        call.by_rank = [call, *_list_others(call)]
    return call.by_rank


def _list_others(call: Call) -> list[Call]:
    answer, operation = call.of_all_ranks, call.operation
    framework = operation.backend.framework
    if answer is None or not has_whole_results(answer):
        return []
    found = []
    for rank in range(1, framework.world_size):
        other = call.at_rank(rank)
        other.of_rank_zero = call
        with suppress(Violation):  # an array of another shape is a failure of its own
            operation.values(other, framework.of_rank(answer, rank))
            found.append(other)
            _share_expectations(call, other)
    return found


def _share_expectations(call: Call, other: Call) -> None:
    """Let two ranks' answers to one call be judged by the same bounds, unless these depend on answers that differ."""
    declaration = call.operation.spec.declaration
    depends = call.chooses or declaration.judged_at or declaration.keeps
    if other.formats == call.formats and (not depends or has_same_answer(call, other)):
        other._expectations = call._expectations


def has_same_answer(call: Call, other: Call) -> bool:
    """Whether two ranks gave the same numbers. NaN is one of them."""
    if call.observed is None or other.observed is None:
        return False
    return np.array_equal(call.observed, other.observed, equal_nan=call.observed.dtype.kind == "f")


def list_distinct(call: Call) -> list[Call]:
    """Return the call once for each answer: of ranks with the same one, the first."""
    found: list[Call] = []
    for each in list_ranks(call):
        if not any(has_same_answer(each, other) for other in found):
            found.append(each)
    return found


def has_whole_results(answer: Any) -> bool:
    """Whether each rank has some array of the answer whole, rather than a part of it."""
    arrays = [x.by_rank for _, x in leaves(answer) if hasattr(x, "by_rank")]
    return any(pieces[0] is not piece for pieces in arrays for piece in pieces[1:])


def represent(call: Call, is_wrong: Callable[[Call], bool]) -> Call:
    """Return the call with the answer of the first rank for which `is_wrong` holds; the call itself if there is none."""
    return next(filter(is_wrong, list_ranks(call)), call)


# --- which rank has which elements ----------------------------------------------------------------------------------------


class Cut(Protocol):
    """How one array is cut: along which axis, and which of the entries there each rank has."""

    @property
    def axis(self) -> int: ...

    def places(self, length: int, world_size: int) -> list[np.ndarray]: ...


class Statement(Protocol):
    """What a sharded backend states of its arrays."""

    def of_argument(self, operation: str, name: str) -> Cut | None: ...

    def of_result(self, operation: str, name: str = "") -> Cut | None: ...


class StatedCut(Cut, Protocol):
    """A cut as a backend states it, perhaps by heads whose number is an argument."""

    def at(self, named: Mapping[str, Any]) -> StatedCut: ...

    def count_own(self, named: Mapping[str, Any], rank: int, world_size: int) -> dict[str, int]: ...

    def list_others(self, like: Sequence[Any] = ()) -> Mapping[str, StatedCut]: ...


SUMMANDS: Literal["partial"] = "partial"
Placed = StatedCut | Literal["partial"] | None  # along one axis of a mesh of ranks: a part, a summand, or the whole


class StatedShards(Statement, Protocol):
    """What a backend states, which may be more than plain cuts."""

    def is_plain(self, operation: str) -> bool: ...

    def find_axes(self, operation: str) -> dict[str, int] | None: ...

    def list_placed(self, operation: str, kind: str, name: str) -> tuple[Placed, ...]: ...

    def split_numbers(self, x: np.ndarray, dtype: str, count: int) -> list[np.ndarray]: ...


def find_statement(call: Call) -> Statement | None:
    """Return what the backend states of its shards, None if it is on one rank, or if it states more than plain cuts."""
    stated, spec = find_stated(call), call.operation.spec
    return stated if stated is not None and stated.is_plain(spec.forward if spec.is_gradient else spec.name) else None


def find_stated(call: Call) -> StatedShards | None:
    """Return all that the backend states of its shards, None if it is on one rank."""
    stated: StatedShards | None = getattr(call.operation.backend, "shards", None)
    return stated if call.operation.backend.framework.world_size > 1 else None


def _split(call: Call, values: np.ndarray) -> dict[str, np.ndarray]:
    """Return the arrays that the values of a call are made of, by the name of the result, or of the argument of a gradient."""
    if call.parts is not None:
        return call.parts.split(values)
    return {str(call.keywords.get("wrt", "")): values}


def _owners(call: Call, part: str, shape: tuple[int, ...]) -> tuple[np.ndarray, int] | None:
    """Return the rank of each entry along the axis of the cut, as an array that broadcasts, and the axis; None if it is whole."""
    stated, spec = find_statement(call), call.operation.spec
    if stated is None:
        return None
    cut = stated.of_argument(spec.forward, part) if spec.is_gradient else stated.of_result(spec.name, part)
    if cut is None:
        return None
    axis = cut.axis if cut.axis < 0 else cut.axis - len(shape)
    axis = call.operation.result_order.exchange_axis(part, axis)
    owners = np.zeros(shape[axis], dtype=int)
    for rank, places in enumerate(cut.places(shape[axis], call.operation.backend.framework.world_size)):
        owners[places] = rank
    return owners.reshape(-1, *(1,) * (-axis - 1)), axis


def keep_own(call: Call, values: np.ndarray, rank: int) -> np.ndarray:
    """Return the values with right ones in place of those that other ranks have answered."""
    right = call.storage.round(np.asarray(call.value, dtype=np.float64))
    own, expected = _split(call, np.array(values)), _split(call, right)
    for part, y in own.items():
        if (found := _owners(call, part, y.shape)) is not None:
            own[part] = np.where(found[0] == rank, y, expected[part])
    return join(own.values()) if call.parts is not None else next(iter(own.values()))


AXES = MappingProxyType({-1: "columns", -2: "rows", -3: "heads"})


def describe_wrong(call: Call, is_wrong: Callable[[Call], np.ndarray]) -> str:
    """Return which ranks have wrong elements, and how much of their parts is wrong; "" of a call on one rank."""
    if find_statement(call) is None or call.observed is None:
        return ""
    count = call.operation.backend.framework.world_size
    texts = []
    for part, wrong in _split(call, is_wrong(call)).items():
        if (found := _owners(call, part, wrong.shape)) is None:
            of_ranks = [_split(each, is_wrong(each))[part] for each in list_ranks(call)]
            which = [bool(x.any()) for x in of_ranks]
            said = describe_ranks(which) if len(which) == count and any(which) else ""
        else:
            owners, axis = found
            held = [np.broadcast_to(owners == rank, wrong.shape) for rank in range(count)]
            which = [bool((wrong & own).any()) for own in held]
            whole = all(bool(wrong[own].all()) for own, any_ in zip(held, which, strict=True) if any_)
            named = AXES.get(axis, "part") if wrong.ndim > 1 else "part"
            said = f"{describe_ranks(which)}: {'all' if whole else 'some'} of its {named}" if any(which) else ""
            said = said.replace("its", "their") if sum(which) > 1 else said
        if said:
            texts.append(f"{said}, in {part}" if part else said)
    return "; ".join(texts)


def describe_ranks(which: Sequence[bool]) -> str:
    """Return which ranks these are, for a sentence about the answers of some of them.

    >>> describe_ranks([False, True]), describe_ranks([True, False, True]), describe_ranks([False, True, True])
    ('rank 1 of 2', 'ranks 0 and 2 of 3', 'each rank but the first')
    """
    numbers = [str(rank) for rank in np.flatnonzero(which)]
    if len(which) > 2 and list(which) == [False] + [True] * (len(which) - 1):
        return "each rank but the first"
    if len(numbers) == len(which):
        return "each rank"
    text = " and ".join(filter(None, [", ".join(numbers[:-1]), numbers[-1]]))
    return f"rank{'s' * (len(numbers) > 1)} {text} of {len(which)}"
