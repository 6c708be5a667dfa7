"""The answers to further calls of an operation, on which an equation is tested before it is said."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

from ..calls.call import Call

MAX_CALLS = 128

Ask = Callable[[], Iterable[Call]]


class FurtherCalls:
    """The answers to further calls of an operation. Each call is made when it is first needed, and kept for the next equation."""

    def __init__(self, ask: Ask | None, operation: str):
        self.made: list[Call] = []
        asked = (call for call in ask() if call.operation.name == operation) if ask else iter(())
        self.new = itertools.islice(asked, MAX_CALLS)

    def __iter__(self) -> Iterator[Call]:
        yield from list(self.made)
        for call in self.new:
            self.made.append(call)
            yield call
