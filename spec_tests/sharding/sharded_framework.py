"""The arrays of a sharded backend: each rank is sent its shard, and the answers of all ranks become one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..implementation.guard import Fault
from ..implementation.printable import printable_line
from ..processes.message import ProcessArray
from ..processes.process_framework import CopyingFramework
from ..processes.remote_framework import RemoteArray, check_version, describe_ranks
from ..specification.pytree import tree_map
from .placements import Placement, divide, is_sum, unite
from .ranks import Ranks
from .shards import Cut

PlaceOf = Callable[[str], Placement]  # from the path of an array in an answer to where the ranks have it


@dataclass(frozen=True)
class RankArray(ProcessArray):
    """An array that the ranks have answered: the whole of rank 0, or all shards joined, and what each rank has answered."""

    by_rank: tuple[ProcessArray, ...] = ()  # the same array for each rank if it is joined


class ShardedFramework(CopyingFramework):
    """The ArrayFramework of a backend on several ranks. The protocol says what each method does."""

    place = "its ranks"

    def __init__(self, ranks: Ranks, properties: dict[str, Any]):
        self.connection = self.ranks = ranks
        self.world_size = len(ranks.connections)
        self.name, self.integer = printable_line(str(properties["name"])), str(properties["integer"])
        self.dtypes, self.differentiates = tuple(properties["dtypes"]), str(properties["differentiates"])
        self.version = describe_ranks(check_version(self.name, printable_line(str(properties["version"]))), self.world_size)

    def of_rank(self, answer: Any, rank: int) -> Any:
        return tree_map(lambda x: x.by_rank[rank] if isinstance(x, RankArray) else x, answer)

    def ask(self, name: str, prepare: Callable[[int], Sequence[Any]]) -> list[Any]:
        """Send a request to each rank, with arguments that `prepare` makes for it. Return each rank's answer."""
        if not self.ranks.are_running:
            self.ranks.start()
        return self.ranks.ask(name, [prepare(rank) for rank in range(self.world_size)])

    def shards_of(self, tree: Any, placement: Placement) -> list[Any]:
        """Return the argument of each rank: for each array its shard, and anything else as it is."""
        return [tree_map(partial(self._shard, placement, rank), tree) for rank in range(self.world_size)]

    def _shard(self, placement: Placement, rank: int, x: Any) -> Any:
        if not isinstance(x, ProcessArray) or placement is None:
            return x
        try:
            return divide(placement, x, self.world_size)[rank]
        except IndexError:
            axis = f"axis {placement.axis}" if isinstance(placement, Cut) else "an axis"
            raise Fault(f"its shards cut {axis} of an array of shape {x.shape}") from None
        except ValueError as error:
            raise Fault(f"its shards do not fit an array of shape {x.shape}: {error}") from None

    def merge(self, answers: Sequence[Any], place_of: PlaceOf, path: str = "") -> Any:
        """Return one answer of those of all ranks. Raise a Fault if they do not fit together."""
        arrays = [answer for answer in answers if isinstance(answer, RemoteArray)]
        if arrays and all(answer is None or isinstance(answer, RemoteArray) for answer in answers) and is_sum(place_of(path)):
            return self._merge_arrays(answers, place_of(path))  # None is a summand of zeros
        first = answers[0]
        kinds = [_describe_kind(answer) for answer in answers]
        for rank, kind in enumerate(kinds):
            if kind != kinds[0]:
                raise Fault(f"rank 0 answers {kinds[0]} and rank {rank} answers {kind}")
        if isinstance(first, dict):
            return {name: self.merge([answer[name] for answer in answers], place_of, name) for name in first}
        if isinstance(first, list | tuple):
            each = enumerate(zip(*answers, strict=True))
            return type(first)(self.merge(parts, place_of, str(number)) for number, parts in each)
        return self._merge_arrays(answers, place_of(path)) if isinstance(first, RemoteArray) else first

    def _merge_arrays(self, answers: Sequence[RemoteArray | None], placement: Placement) -> RankArray:
        pieces = [None if answer is None else _read(answer) for answer in answers]
        try:
            wholes = unite(placement, pieces)
        except (ValueError, IndexError):
            shapes = ", ".join("no shape" if piece is None else str(piece.shape) for piece in pieces)
            where = f"along axis {placement.axis}" if isinstance(placement, Cut) else "together"
            raise Fault(f"the shards of a result have the shapes {shapes}, which do not fit {where}") from None
        return RankArray(wholes[0].dtype, wholes[0].values, tuple(wholes))


def _read(x: RemoteArray) -> ProcessArray:
    return ProcessArray(x.contents.dtype, x.values)


def _describe_kind(answer: Any) -> str:
    if isinstance(answer, dict):
        return f"results named {', '.join(map(printable_line, answer))}"
    if isinstance(answer, list | tuple):
        return f"{len(answer)} results"
    if answer is None:
        return "None"
    return "an array" if isinstance(answer, RemoteArray) else printable_line(f"{type(answer).__name__} {answer!r}")
