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
from .ranks import Ranks
from .shards import Cut

CutOf = Callable[[str], Cut | None]  # from the path of an array in an argument or in an answer to how it is cut


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

    def shards_of(self, tree: Any, cut: Cut | None) -> list[Any]:
        """Return the argument of each rank: for each array its shard, and anything else as it is."""
        return [tree_map(partial(self._shard, cut, rank), tree) for rank in range(self.world_size)]

    def _shard(self, cut: Cut | None, rank: int, x: Any) -> Any:
        if not isinstance(x, ProcessArray) or cut is None:
            return x
        try:
            return ProcessArray(x.dtype, cut.split(x.values, self.world_size)[rank])
        except IndexError:
            raise Fault(f"its shards cut axis {cut.axis} of an array of shape {x.shape}") from None

    def merge(self, answers: Sequence[Any], cut_of: CutOf, path: str = "") -> Any:
        """Return one answer of those of all ranks. Raise a Fault if they do not fit together."""
        first = answers[0]
        kinds = [_describe_kind(answer) for answer in answers]
        for rank, kind in enumerate(kinds):
            if kind != kinds[0]:
                raise Fault(f"rank 0 answers {kinds[0]} and rank {rank} answers {kind}")
        if isinstance(first, dict):
            return {name: self.merge([answer[name] for answer in answers], cut_of, name) for name in first}
        if isinstance(first, list | tuple):
            return type(first)(self.merge(parts, cut_of, str(number)) for number, parts in enumerate(zip(*answers, strict=True)))
        return self._merge_arrays(answers, cut_of(path)) if isinstance(first, RemoteArray) else first

    def _merge_arrays(self, answers: Sequence[RemoteArray], cut: Cut | None) -> RankArray:
        pieces = [_read(answer) for answer in answers]
        if cut is None:
            return RankArray(pieces[0].dtype, pieces[0].values, tuple(pieces))
        try:
            joined = cut.join([piece.values for piece in pieces])
        except (ValueError, IndexError):
            shapes = ", ".join(str(piece.shape) for piece in pieces)
            raise Fault(f"the shards of a result have the shapes {shapes}, which do not fit along axis {cut.axis}") from None
        dtype = next((piece.dtype for piece in pieces if piece.dtype != pieces[0].dtype), pieces[0].dtype)
        whole = ProcessArray(dtype, joined)
        return RankArray(dtype, joined, (whole,) * len(pieces))


def _read(x: RemoteArray) -> ProcessArray:
    return ProcessArray(x.contents.dtype, x.values)


def _describe_kind(answer: Any) -> str:
    if isinstance(answer, dict):
        return f"results named {', '.join(map(printable_line, answer))}"
    if isinstance(answer, list | tuple):
        return f"{len(answer)} results"
    return "an array" if isinstance(answer, RemoteArray) else printable_line(f"{type(answer).__name__} {answer!r}")
