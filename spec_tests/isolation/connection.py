"""The connection to the process of an isolated backend, and the arrays that stay in that process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..implementation.environment import environment_of
from ..implementation.framework import CannotMakeArray
from ..implementation.guard import Fault, Refused
from ..specification.pytree import tree_map
from ..specification.run_settings import current_settings
from .process import Process
from .supervisor import START_TIMEOUT_SECONDS, ProcessEnded
from .wire import Handle, MalformedMessage


class Connection:
    """Sends requests to the process. A process that is lost is replaced when the next request needs one.

    A request that needs no answer is queued, and is sent with the next one that needs an answer.
    """

    def __init__(self, text: str, folder: Path, names: list[str]):
        self.text, self.folder, self.names = text, folder, names
        self.environment = environment_of(text, folder)
        self.process: Process | None = None
        self.imports_oracle = False  # whether the process has imported the suite's equations
        self.calls = 0  # that may have changed arrays: after each, their contents are read again
        self.last_number = 0  # of the last array that was asked for; the process gives its own objects negative numbers
        self.generation = 0  # how many processes have been started
        self.timeout_seconds = 0.0  # of the next request; 0: the limit of --time-limit
        self.steps: list[Any] = []  # queued requests
        self.forgotten: list[int] = []  # numbers of objects that this side no longer refers to

    @property
    def confinement(self) -> str:
        """What keeps the process from others, "" if the run does not ask for that, or if there is no process."""
        return str(self.process.confinement or "") if self.process is not None else ""

    def queue(self, name: str, *arguments: Any) -> None:
        """Send this request with the next one that needs an answer."""
        self.steps.append([name, arguments])

    def ask(self, name: str, *arguments: Any) -> Any:
        """Send the queued requests and this one, and return the answer to this one."""
        if self.process is None:
            self.load()
        assert self.process is not None
        steps, forgotten = [*self.steps, [name, arguments]], self.forgotten[:]
        self.steps, self.forgotten = [], self.forgotten[len(forgotten) :]
        return self._exchange(self.process, steps, forgotten, self.timeout_seconds or current_settings().limits.seconds)

    def _exchange(self, process: Process, steps: list[Any], forgotten: list[int], seconds: float) -> Any:
        try:
            reply = process.ask({"steps": steps, "forgotten": forgotten}, seconds)
            self.imports_oracle |= bool(reply["oracle"])
            return reply["reply"]
        except ProcessEnded:
            raise self.discard_process(process.describe_end()) from None
        except (MalformedMessage, LookupError, TypeError) as error:
            raise self.discard_process(Fault(f"its process sent what is no answer ({error})", lost=True)) from None
        except Fault as fault:
            raise self.discard_process(fault) from None
        except BaseException:  # the user interrupts the run: a part of the answer may still be on its way
            self.discard_process(Fault(""))
            raise

    def discard_process(self, fault: Fault) -> Fault:
        """End the process, if there is one, with all that was queued for it. Return the fault, for the caller to raise."""
        if self.process is not None:
            self.process.close()
        self.process, self.steps, self.forgotten = None, [], []
        return fault

    def load(self) -> dict[str, Any]:
        """Start a new process, load the backend in it, and return its description of the backend."""
        self.discard_process(Fault(""))
        self.process, self.generation = Process(self.folder, self.environment), self.generation + 1
        arguments = (self.text, str(self.folder), self.names, current_settings().limits.memory)
        timeout = max(START_TIMEOUT_SECONDS, current_settings().limits.seconds)
        description = self._exchange(self.process, [["load", arguments]], [], timeout)
        if not isinstance(description, dict) or "fault" in description or "refused" in description:
            refusal = description.get("refused") if isinstance(description, dict) else ""
            raise self.discard_process(Fault(str(refusal or f"loading it again failed: {description}"), lost=True))
        return description


class RemoteArray:
    """An array in the process of the backend. Its contents are read when they are needed, and again after each call."""

    __slots__ = ("cached_contents", "call", "connection", "generation", "handle", "whole")

    def __init__(
        self, connection: Connection, number: int, contents: dict[str, Any] | None = None, whole: RemoteArray | None = None
    ):
        self.connection, self.handle, self.generation = connection, Handle(number), connection.generation
        self.cached_contents, self.call = contents, connection.calls
        self.whole = whole  # the array that these are rows of, which has the handle

    def __del__(self) -> None:
        if self.whole is None and self.generation == self.connection.generation:
            self.connection.forgotten.append(self.handle.number)

    @property
    def contents(self) -> dict[str, Any]:
        """The array's dtype, device and values."""
        if self.cached_contents is None or (self.whole is None and self.call != self.connection.calls):
            self.cached_contents = request(self.connection, "describe_array", self.handle)
            self.call = self.connection.calls
        return self.cached_contents

    @property
    def values(self) -> np.ndarray:
        """The values as they were sent. Raise Fault if they could not be read."""
        values = self.contents["values"]
        if isinstance(values, str):
            raise Fault(values)
        return np.array(values)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def __getitem__(self, rows: slice) -> RemoteArray:
        """Return some rows as they are now."""
        contents = {**self.contents, "values": self.values[rows]}
        return RemoteArray(self.connection, self.handle.number, contents, whole=self)

    def of_rank(self, rank: int) -> RemoteArray:
        """Return the array as this rank has it, where the ranks are devices of the process."""
        ranks = self.contents.get("ranks")
        if not isinstance(ranks, list) or rank >= len(ranks):
            return self
        return RemoteArray(self.connection, self.handle.number, {**self.contents, "values": ranks[rank]}, whole=self)


def to_wire(tree: Any) -> Any:
    """Replace each remote array by its handle."""
    return tree_map(lambda x: x.handle if isinstance(x, RemoteArray) else x, tree)


def request(connection: Connection, name: str, *arguments: Any) -> Any:
    """Return the answer to a request. Raise its Fault, if it has one. A process that says that it is lost is replaced."""
    reply = connection.ask(name, *arguments)
    try:
        if isinstance(reply, dict):
            raise_fault(reply)
    except Fault as fault:
        replace_if_lost(connection, fault)
        raise
    except (LookupError, TypeError, ValueError) as error:
        raise connection.discard_process(Fault(f"its process sent what is no answer ({error})", lost=True)) from None
    return reply


def raise_fault(reply: dict[str, Any]) -> None:
    """Raise the fault in a reply, or CannotMakeArray if the framework has not made an argument."""
    if "unmade" in reply:
        raise CannotMakeArray(str(reply["unmade"]))
    if "fault" not in reply:
        return
    kind, place = map(str, reply["raised"] or ("", ""))
    facts = [(str(label), str(fact)) for label, fact in reply["facts"]]
    raise Fault(str(reply["fault"]), facts, raised=(kind, place) if kind else None, lost=bool(reply["lost"]))


def replace_if_lost(connection: Connection, fault: Fault) -> None:
    """Let the next request start a new process if this one is of no use any more."""
    if fault.lost and connection.process is not None:
        fault.facts.append(("therefore", "its process is replaced"))
        connection.discard_process(fault)


def from_wire(connection: Connection, value: Any) -> Any:
    """Return an answer of the backend, with a RemoteArray for each array and each function that stays there."""
    if isinstance(value, Handle):
        return RemoteArray(connection, value.number)
    if isinstance(value, dict) and "at" in value:
        return RemoteArray(connection, value["at"].number, value["seen"])
    if isinstance(value, dict):
        return {str(name): from_wire(connection, item) for name, item in value["named"].items()}
    return type(value)(from_wire(connection, item) for item in value) if isinstance(value, list | tuple) else value


def read_answer(connection: Connection, reply: Any) -> Any:
    """Return the answer in the reply to a request that runs a function of the backend. Raise its Refused or its Fault."""
    try:
        if "refusal" in reply:
            raise Refused(str(reply["refusal"]))
        raise_fault(reply)
        return from_wire(connection, reply["answer"])
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise connection.discard_process(Fault(f"its process sent what is no answer ({error})", lost=True)) from None


def make_array(connection: Connection, values: Any, dtype: str, layout: str = "contiguous") -> RemoteArray:
    """Queue a request that makes an array in the other process, and return what stands for it here."""
    connection.last_number += 1
    connection.queue("make", connection.last_number, values, dtype, layout)
    return RemoteArray(connection, connection.last_number)
