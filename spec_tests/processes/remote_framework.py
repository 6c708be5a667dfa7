"""The framework of an isolated backend, whose arrays stay in its process."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from typing import Any

import numpy as np

from ..implementation.framework import CannotMakeArray
from ..implementation.guard import Fault
from ..implementation.layouts import find_view
from ..implementation.printable import printable_line
from ..specification.pytree import tree_map
from .connection import Connection
from .message import MAX_DATA_BYTES, ProcessArray
from .process_framework import ProcessFramework
from .python_server import FRAMEWORK_PROPERTIES
from .trees import Handle, Kept, Making

MAX_ARRAY_BYTES = MAX_DATA_BYTES // 4  # of one array; a message may hold several


class RemoteArray:
    """An array in the process of the backend. Its contents are read when they are needed, and again after each call.

    It is made there by the first request that has it.
    """

    __slots__ = ("call", "connection", "generation", "kept", "number", "unmade", "whole")

    def __init__(
        self,
        connection: Connection,
        number: int,
        kept: Kept | None = None,
        *,
        unmade: Making | None = None,
        whole: RemoteArray | None = None,
    ):
        self.connection, self.number, self.generation = connection, number, connection.generation
        self.kept, self.call = kept, connection.calls
        self.unmade = unmade  # how it is made, if that has not been asked for
        self.whole = whole  # the array that these are rows of, which is kept

    def __del__(self) -> None:
        if self.whole is None and self.unmade is None and self.generation == self.connection.generation:
            self.connection.forgotten.append(self.number)

    def to_wire(self) -> Handle | Making:
        """Return what a request has of the array."""
        unmade, self.unmade = self.unmade, None
        if unmade is None:
            if self.generation != self.connection.generation:
                raise Fault("the array was in a process that has been replaced")
            return Handle(self.number)
        self.generation = self.connection.generation
        return unmade

    @property
    def contents(self) -> Kept:
        """The array's dtype, device and values."""
        if self.kept is None or (self.whole is None and self.call != self.connection.calls):
            kept = self.connection.run("read", *to_wire(self.connection, [self]))
            if not isinstance(kept, Kept):
                raise self.connection.discard_process(Fault("its process sent what is no answer: it has no array", lost=True))
            self.kept, self.call = kept, self.connection.calls
        return self.kept

    @property
    def values(self) -> np.ndarray:
        """The values as they were sent. Raise Fault if they could not be read."""
        values = self.contents.values
        if isinstance(values, str):
            raise Fault(values)
        return np.array(values.values)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def __getitem__(self, rows: slice) -> RemoteArray:
        """Return some rows as they are now."""
        return self._with_values(self.values[rows])

    def of_rank(self, rank: int) -> RemoteArray:
        """Return the array as this rank has it, where the ranks are devices of the process."""
        ranks = self.contents.ranks
        return self._with_values(ranks[rank].values) if rank < len(ranks) else self

    def _with_values(self, values: np.ndarray) -> RemoteArray:
        seen = self.contents
        kept = Kept(seen.number, seen.dtype, seen.device, ProcessArray(seen.dtype, values))
        return RemoteArray(self.connection, self.number, kept, whole=self)


def to_wire(connection: Connection, tree: Any) -> Any:
    """Return a tree as a request has it."""
    if connection.process is None:
        connection.start()
    return tree_map(lambda x: x.to_wire() if isinstance(x, RemoteArray) else x, tree)


def from_wire(connection: Connection, tree: Any) -> Any:
    """Return an answer of the backend, with a RemoteArray for each array and each function that stays there."""

    def read(x: Any) -> Any:
        if isinstance(x, Kept):
            return RemoteArray(connection, x.number, x)
        return RemoteArray(connection, x.number) if isinstance(x, Handle) else x

    return tree_map(read, tree)


class RemoteFramework(ProcessFramework):
    """An ArrayFramework whose arrays stay in the other process."""

    passes_copies = False  # the other process has the framework's own arrays

    def __init__(self, connection: Connection, properties: dict[str, Any]):
        self.connection = connection
        facts = tuple(printable_line(str(fact)) for fact in properties.get("device_facts", ()))  # not every server states them
        properties = {name: properties[name] for name in FRAMEWORK_PROPERTIES}
        texts = {name: printable_line(value) for name, value in properties.items() if isinstance(value, str)}
        dtypes = {name: tuple(properties[name]) for name in ("dtypes", "narrow_dtypes")}
        self.__dict__.update({**properties, **texts, **dtypes, "device_facts": facts})
        self.version = check_version(self.name, self.version)

    def run(self, name: str, *arguments: Any) -> Any:
        """Send a request that runs a function of the backend and return its answer. Raise Refused or Fault."""
        sent = to_wire(self.connection, arguments)
        self.connection.calls += 1
        return from_wire(self.connection, self.connection.run(name, *sent))

    def in_state(self, state: str, step: Callable[[], Any]) -> Any:
        self.connection.state = state
        try:
            return step()
        finally:
            self.connection.state = ""

    def lay_out(self, array: np.ndarray, dtype: str, layout: str) -> Any:
        if layout != "contiguous" and "layouts" not in self.connection.described.extensions:
            raise CannotMakeArray("its process makes contiguous arrays alone")
        self.connection.last_number += 1
        number, x = self.connection.last_number, self.as_array(array, dtype)
        return RemoteArray(self.connection, number, unmade=Making(number, x.dtype, find_view(x.values, layout, self.name)))

    def tile(self, x: Any, copies: int) -> Any:
        values = x.values
        if copies * values.nbytes > MAX_ARRAY_BYTES:
            raise CannotMakeArray(f"{copies * values.nbytes} bytes are more than is sent to an isolated backend in one array")
        return self.native(np.concatenate([values] * copies), self.dtype_of(x))

    def is_array(self, x: Any) -> bool:
        return type(x) is RemoteArray

    def dtype_of(self, x: Any) -> str:
        return str(x.contents.dtype)

    def device_of(self, x: Any) -> str:
        return str(x.contents.device)

    def on_device(self, x: Any) -> bool:
        return self.device_of(x) == self.place

    def of_rank(self, answer: Any, rank: int) -> Any:
        return tree_map(lambda x: x.of_rank(rank) if isinstance(x, RemoteArray) else x, answer)

    def overwrite(self, x: Any, value: Any) -> bool:
        overwritten = self.connection.run("overwrite", *to_wire(self.connection, [x, value]))
        self.connection.calls += 1
        return bool(overwritten)


def describe_ranks(version: str, world_size: int) -> str:
    """Return the version of a framework with the number of ranks on which it runs."""
    return f"{version} on {world_size} rank{'s' if world_size > 1 else ''}"


def check_version(library: str, stated: str) -> str:
    """Return the version of a library. What the process states stands in quotes, unless the suite finds the same here."""
    try:
        found = metadata.version(library)
    except metadata.PackageNotFoundError:
        return f'"{stated}"'
    return stated if stated.partition("+")[0] == found.partition("+")[0] else f'{found}, in its process "{stated}"'
