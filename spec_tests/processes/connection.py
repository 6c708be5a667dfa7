"""The connection to a server: its process is started, asked, and replaced after it is lost."""

from __future__ import annotations

import math
import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..implementation.framework import CannotMakeArray
from ..implementation.guard import Fault, Refused
from ..implementation.printable import printable_line
from ..specification.run_settings import current_settings
from .activity import Activity
from .command import ServerCommand
from .deadline import Deadline
from .description import Description, read_description
from .forks import CannotFork, ForkServer
from .message import (
    LENGTH,
    Answer,
    MalformedMessage,
    ProcessArray,
    pack,
    read_answer,
    read_header,
    read_json,
    read_length,
)
from .supervisor import ProcessEnded, Supervisor, start
from .survivors import MARKS, PROC, find_started
from .trees import read_tree, write_tree

TRACEBACK_FRAME = re.compile(r'^  File "(.*)", line (\d+) in (\w+)$', re.MULTILINE)  # as faulthandler prints it

# Has the system kill the server when the suite ends, and before others when memory runs out; then becomes the server.
LAUNCH_CODE = """
import ctypes, os, signal, sys
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
try:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    open("/proc/self/oom_score_adj", "w").write("1000")
except (OSError, AttributeError):
    pass
os.execvp(sys.argv[1], sys.argv[1:])
"""


MAX_SENTENCE_CHARACTERS = 1000  # of why a backend cannot be loaded, whose end may be the line to type
DESCRIBE = MappingProxyType({"request": "describe"})


IDLE_SECONDS = 30.0  # in which a process that imports a backend may do nothing at all
LOOK_SECONDS = 2.0  # between two looks at whether it does


class ServerProcess(Supervisor):
    """A server that answers one request at a time."""

    idle_seconds = 0.0  # in which it has done nothing, before its first answer
    looked_at = -math.inf

    def __init__(self, command: ServerCommand, fork_server: ForkServer | None = None):
        self.is_python, self.has_answered = command.is_python, False
        self.activity = Activity(math.inf)
        self.waits_for_others = bool(command.shared)  # as a rank does for those that start later
        # At the end of the run, for it to end by itself. Not for a Python backend: what it has started would be no descendant.
        self.patience_seconds = 0.0 if command.is_python else 1.0
        self.aborts = command.is_python
        if fork_server is not None:
            super().__init__(*fork_server.start(command))
            return
        words = list(command.words)
        if sys.platform == "linux" and not command.is_python:
            words = [sys.executable, "-I", "-S", "-c", LAUNCH_CODE, *words]
        takes_socket, shared = command.is_python, command.shared
        super().__init__(*start(words, command.folder, command.environment, takes_socket=takes_socket, shared=shared))

    def ask(self, metadata: Mapping[str, str], arrays: Mapping[str, ProcessArray], seconds: float) -> Answer:
        """Send a request and return the answer. Raise ProcessEnded, MalformedMessage or a Fault if there is none in this time."""
        deadline = Deadline(seconds)
        try:
            self._check_silence()
            self.send(pack(metadata, arrays), deadline)
        except TimeoutError:
            raise self.describe_timeout(seconds) from None
        return self.receive_answer(deadline, seconds)

    def receive_answer(self, deadline: Deadline, seconds: float) -> Answer:
        """Return the answer to the request that was sent. Raise as `ask` does if there is none before the deadline."""
        try:
            size = read_length(bytes(self.receive(LENGTH.size, deadline)))
            header = read_header(bytes(self.receive(size, deadline)))
            answer = read_answer(header, self.receive(header.data_bytes, deadline))
        except TimeoutError:
            raise self.describe_timeout(seconds) from None
        self.print_output()
        self.has_answered = True
        return answer

    def check_progress(self) -> None:
        """Raise a Fault if a Python process hangs while it imports its backend: it and all that it has started do nothing."""
        now, before = time.monotonic(), self.looked_at
        if self.has_answered or not self.is_python or self.waits_for_others or now - before < LOOK_SECONDS:
            return
        if not PROC.is_dir():  # no other system says what a process does
            return
        self.looked_at = now
        is_idle = self.activity.has_ended([self.child.pid, *find_started(self.child.pid, MARKS.get(self.child, ""))])
        self.idle_seconds = self.idle_seconds + min(now - before, 2 * LOOK_SECONDS) if is_idle else 0.0
        if self.idle_seconds >= IDLE_SECONDS:
            raise self.describe_hang(Fault(f"its process did nothing for {IDLE_SECONDS:.3g} s, and was ended", timed_out=True))

    def _check_silence(self) -> None:
        """Raise MalformedMessage if the process has written more than its last answer."""
        with suppress(BlockingIOError):
            if extra := os.read(self.reads, 80):
                raise MalformedMessage(f"it wrote {extra!r} after its last answer")
            raise ProcessEnded

    def locate(self) -> list[tuple[str, str]]:
        """Return the line of a Python backend that faulthandler has printed, or else the last line that was printed."""
        frames = [frame for frame in TRACEBACK_FRAME.findall(self.printed) if "spec_tests/" not in frame[0]]
        if self.is_python and (frames or self.has_answered):
            return [("where", f"line {line} of {Path(file).name}, in {name}") for file, line, name in frames[-1:]]
        lines = [line for line in self.printed.splitlines() if line.strip()]
        return [("printed", lines[-1].strip())] if lines else []


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
        seconds = self._start_seconds
        answer = self._guard(self.process, lambda process: process.receive_answer(Deadline(seconds), seconds))
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
    def _start_seconds(self) -> float:
        return max(self.command.start_seconds, current_settings().limits.seconds if self.command.is_python else 0)

    def _launch(self) -> ServerProcess:
        """Return a new process that was asked to describe itself."""
        try:
            process = ServerProcess(self.command, self.fork_server)
        except CannotFork:
            self.fork_server = None
            process = ServerProcess(self.command)
        with suppress(ProcessEnded, TimeoutError):  # which shows when the answer is read
            process.send(pack(DESCRIBE, {}), Deadline(self._start_seconds))
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
