"""The answers to further calls of an operation, on which an equation is tested before it is said."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

from ..calls.call import Call
from ..calls.ranks import list_distinct
from .wish import Wish

MAX_CALLS = 128

Ask = Callable[..., Iterable[Call]]  # without an argument: as laws draw calls; with a Wish: calls that have what it names
AskInFloat32 = Callable[[Call], Call | None]  # the same call in float32, answered; None if the backend takes no float32


class FurtherCalls:
    """The answers to further calls of an operation. Each call is made when it is first needed, and kept for the next equation."""

    def __init__(self, ask: Ask | None, operation: str):
        self.made: list[Call] = []
        self.ask, self.operation = ask, operation
        self.new = itertools.islice(self._of_operation(ask() if ask else ()), MAX_CALLS)

    def __iter__(self) -> Iterator[Call]:
        yield from list(self.made)
        yield from self._keep(self.new)

    def wished(self, wish: Wish, count: int) -> Iterator[Call]:
        """Make calls that have what the wish names, as far as an operation's arguments can be chosen."""
        return self._keep(itertools.islice(self._of_operation(self.ask(wish) if self.ask else ()), count))

    def _of_operation(self, calls: Iterable[Call]) -> Iterator[Call]:
        """Yield the calls of the operation, each with the answer of every rank that has another than those before it."""
        return (each for call in calls if call.operation.name == self.operation for each in list_distinct(call))

    def _keep(self, calls: Iterable[Call]) -> Iterator[Call]:
        for call in calls:
            self.made.append(call)
            yield call
