"""The connection to a server: its process is started, asked, and replaced after it is lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from ..implementation.framework import CannotMakeArray
from ..implementation.guard import Fault, Refused
from ..implementation.printable import printable_line
from ..specification.run_settings import current_settings
from .command import ServerCommand
from .deadline import Deadline
from .description import Description, read_description
from .forks import CannotFork, ForkServer
from .message import (
    Answer,
    MalformedMessage,
    ProcessArray,
    pack,
    read_json,
)
from .server_process import ServerProcess
from .supervisor import ProcessEnded
from .trees import read_tree, write_tree

MAX_SENTENCE_CHARACTERS = 1000  # of why a backend cannot be loaded, whose end may be the line to type
DESCRIBE = MappingProxyType({"request": "describe"})


class Connection:
    """Sends requests to a server. One that is lost is replaced when the next request needs it."""

    def __init__(self, command: ServerCommand):
        self.command = command
        self.fork_server: ForkServer | None = None  # from which processes are forked, if there is one
        self.process: ServerProcess | None = None
        self.spare: ServerProcess | None = None  # which has been asked to describe itself
        self.keeps_spare = command.is_python  # another server may be the only one that its device allows
        self.description: Description | None = None
        self.generation = 0  # how many processes have been started
        self.timeout_seconds = 0.0  # of the next request; 0: the limit of --time-limit
        self.imports_oracle = False  # whether the process says that it has the suite's equations
        self.state = ""  # of the framework, in which a Python backend runs
        self.calls = 0  # that may have changed arrays: after each, their contents are read again
        self.last_number = 0  # of the last array that was sent to be kept; the server gives its own objects negative numbers
        self.forgotten: list[int] = []  # numbers of objects that this side no longer refers to

    @property
    def described(self) -> Description:
        """What the server says of itself, once it was started."""
        assert self.description is not None
        return self.description

    @property
    def confinement(self) -> str:
        """What keeps the process from others, "" if the run does not ask for that, or if there is no process."""
        return str(self.process.confinement or "") if self.process is not None else ""

    def call(self, metadata: Mapping[str, str], arrays: Mapping[str, ProcessArray]) -> Answer:
        """Return the answer to a request. Raise Refused or CannotMakeArray, if it says that, or a Fault if there is none."""
        process = self.process or self.start()
        answer = self._ask(process, metadata, arrays, self.timeout_seconds or current_settings().limits.seconds)
        self.imports_oracle |= answer.metadata.get("oracle") == "true"
        text = answer.text if self.command.is_python else printable_line(answer.text)
        if answer.kind == "not_implemented":
            raise Refused(text or "not implemented")
        if answer.kind == "cannot_make":
            raise CannotMakeArray(text)
        if answer.kind == "describe":
            raise self.discard_process(Fault("its process answered a call with a description", lost=True))
        if answer.kind == "error":
            raise self._read_fault(answer)
        return answer

    def run(self, name: str, *arguments: Any) -> Any:
        """Return the answer of a server that takes `trees` to a request with these arguments. Raise as `call` does."""
        text, arrays = write_tree(list(arguments))
        metadata = {"request": name, "arguments": text}
        if self.state:
            metadata["state"] = self.state
        if self.forgotten:
            forgotten, self.forgotten = self.forgotten, []
            metadata["forget"] = str(forgotten)
        answer = self.call(metadata, arrays)
        try:
            if answer.kind != "answer":
                raise MalformedMessage(f"it answers with {answer.kind}")
            return read_tree(answer.text, answer.arrays)
        except MalformedMessage as error:
            raise self._discard_malformed(error) from None

    def _read_fault(self, answer: Answer) -> Fault:
        """Return the Fault that an answer tells. A process that says that it is lost is replaced."""
        if "raised" not in answer.metadata:
            fault = Fault(f"the call failed: {printable_line(answer.text) or 'the server gives no reason'}", lost=answer.lost)
        else:
            try:
                facts = [(str(label), str(fact)) for label, fact in read_json(answer.metadata.get("facts", "[]"))]
                kind, place = map(str, read_json(answer.metadata["raised"]))
            except (ValueError, TypeError) as error:
                return self._discard_malformed(MalformedMessage(str(error)))
            fault = Fault(answer.text, facts, raised=(kind, place) if kind else None, lost=answer.lost)
        if answer.lost:
            fault.device_lost = True
            fault.facts.append(("therefore", "its process is replaced"))
            self.discard_process(fault)
        return fault

    def start(self) -> ServerProcess:
        """Start the process, and have it describe itself. A process that replaces another must describe itself alike.

        Once one was lost, a spare process imports the backend while this one works.
        """
        self.discard_process(Fault(""))
        self.process, self.spare = self._take_spare() or self._launch(), None
        self.generation += 1
        seconds, limit = self._start_limit
        answer = self._guard(self.process, lambda process: process.receive_answer(Deadline(seconds), seconds, limit))
        if answer.kind == "error":
            raise self.discard_process(Fault(printable_line(answer.text, MAX_SENTENCE_CHARACTERS), lost=True))
        try:
            if answer.kind != "describe":
                raise MalformedMessage(f"it answered `describe` with {answer.kind} {answer.text}".rstrip())
            description = read_description(answer.text)
        except MalformedMessage as error:
            raise self.discard_process(Fault(printable_line(str(error)), lost=True)) from None
        if self.description not in (None, description):
            raise self.discard_process(Fault("started again, its process describes itself differently", lost=True))
        self.description = description
        if not self.command.is_python:
            limit_memory(self.process.child.pid, current_settings().limits.memory)
        if self.keeps_spare and self.generation > 1:
            self.spare = self._launch()
        return self.process

    @property
    def _start_limit(self) -> tuple[float, str]:
        """The seconds in which the process must describe itself, and the name of this limit, "" for --time-limit."""
        stated, seconds = self.command.start_seconds, current_settings().limits.seconds
        if not self.command.is_python:
            return stated, "start_seconds"
        return max(stated, seconds), "" if seconds > stated else "to start and to import the backend"

    def _launch(self) -> ServerProcess:
        """Return a new process that was asked to describe itself."""
        try:
            process = ServerProcess(self.command, self.fork_server)
        except CannotFork:
            self.fork_server = None
            process = ServerProcess(self.command)
        with suppress(ProcessEnded, TimeoutError):  # which shows when the answer is read
            process.send(pack(DESCRIBE, {}), Deadline(self._start_limit[0]))
        return process

    def _take_spare(self) -> ServerProcess | None:
        """Return the spare process, if there is one and it lives."""
        if self.spare is not None and self.spare.child.poll() is not None:
            self.spare.close()
            self.spare = None
        return self.spare

    def _ask(
        self, process: ServerProcess, metadata: Mapping[str, str], arrays: Mapping[str, ProcessArray], seconds: float
    ) -> Answer:
        return self._guard(process, lambda process: process.ask(metadata, arrays, seconds))

    def _guard(self, process: ServerProcess, ask: Callable[[ServerProcess], Answer]) -> Answer:
        """Return what a process answers. Raise a Fault if it does not, and end the process."""
        try:
            return ask(process)
        except ProcessEnded:
            raise self.discard_process(process.describe_end()) from None
        except MalformedMessage as error:
            raise self._discard_malformed(error) from None
        except Fault as fault:
            raise self.discard_process(fault) from None
        except BaseException:  # the user interrupts the run: a part of the answer may still be on its way
            self.discard_process(Fault(""))
            raise

    def _discard_malformed(self, error: MalformedMessage) -> Fault:
        facts = self.process.locate() if self.process is not None else []
        return self.discard_process(Fault(f"its process sent what is no answer: {printable_line(str(error))}", facts, lost=True))

    def discard_process(self, fault: Fault) -> Fault:
        """End the process, if there is one. Return the fault, for the caller to raise.

        One that has done nothing wrong may end by itself, at the end of its input.
        """
        if self.process is not None and fault.what:
            self.process.kill()
        elif self.process is not None:
            self.process.close()
        self.process, self.forgotten = None, []
        return fault

    def close(self) -> None:
        """End the process, and the spare one."""
        self.discard_process(Fault(""))
        if self.spare is not None:
            self.spare.close()
            self.spare = None


def limit_memory(process: int, size: int | None) -> None:
    """Limit the bytes of the data of another process, where the system can. Linux can, others cannot."""
    if size is not None:
        with suppress(ImportError, AttributeError, OSError):
            import resource

            resource.prlimit(process, resource.RLIMIT_DATA, (size, size))
