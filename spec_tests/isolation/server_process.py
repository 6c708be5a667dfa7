"""The process of a server in any language: it is started, asked, and replaced after it is lost."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress

from ..implementation.guard import Fault
from ..implementation.printable import printable_line
from ..specification.run_settings import current_settings
from .description import Description, read_description
from .safetensors_wire import (
    LENGTH,
    MAX_DATA_BYTES,
    Answer,
    MalformedMessage,
    MissingLibrary,
    ProcessArray,
    pack,
    read_answer,
    read_header,
    read_length,
)
from .server_command import ServerCommand
from .supervisor import ProcessEnded, Supervisor, start_with_pipes

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


class ServerProcess(Supervisor):
    """A server that answers one request at a time."""

    patience_seconds = 1.0  # at the end of the run, for it to end by itself at the end of its input

    def __init__(self, command: ServerCommand):
        words = list(command.words)
        if sys.platform == "linux":
            words = [sys.executable, "-I", "-S", "-c", LAUNCH_CODE, *words]
        super().__init__(*start_with_pipes(words, command.folder, command.environment))

    def ask(self, metadata: Mapping[str, str], arrays: Mapping[str, ProcessArray], seconds: float) -> Answer:
        """Send a request and return the answer. Raise ProcessEnded, MalformedMessage or a Fault if there is none in this time."""
        deadline = time.monotonic() + seconds
        try:
            self._check_silence()
            self.send(pack(metadata, arrays), deadline)
            prefix = bytes(self.receive(LENGTH.size, deadline))
            text = bytes(self.receive(read_length(prefix), deadline))
            header = read_header(text)
            if header.data_bytes > MAX_DATA_BYTES:
                raise MalformedMessage(f"its arrays have {header.data_bytes} bytes")
            answer = read_answer(header, b"".join([prefix, text, self.receive(header.data_bytes, deadline)]))
        except TimeoutError:
            raise self.describe_timeout(seconds) from None
        self.print_output()
        return answer

    def _check_silence(self) -> None:
        """Raise MalformedMessage if the process has written more than its last answer."""
        with suppress(BlockingIOError):
            if extra := os.read(self.reads, 80):
                raise MalformedMessage(f"it wrote {extra!r} after its last answer")
            raise ProcessEnded

    def locate(self) -> list[tuple[str, str]]:
        """Return the last line that the process has printed."""
        lines = [line for line in self.printed.splitlines() if line.strip()]
        return [("printed", lines[-1].strip())] if lines else []


class ServerConnection:
    """Sends requests to a server. One that is lost is replaced when the next request needs it."""

    def __init__(self, command: ServerCommand):
        self.command = command
        self.process: ServerProcess | None = None
        self.description: Description | None = None
        self.timeout_seconds = 0.0  # of the next request; 0: the limit of --time-limit

    @property
    def confinement(self) -> str:
        """What keeps the process from others, "" if the run does not ask for that, or if there is no process."""
        return str(self.process.confinement or "") if self.process is not None else ""

    def call(self, metadata: Mapping[str, str], arrays: Mapping[str, ProcessArray]) -> Answer:
        """Return the answer to a call. Raise a Fault if there is none."""
        process = self.process or self.start()
        answer = self._ask(process, metadata, arrays, self.timeout_seconds or current_settings().limits.seconds)
        if answer.kind == "describe":
            raise self.discard_process(Fault("its process answered a call with a description", lost=True))
        if answer.kind == "error":
            fault = Fault(f"the call failed: {printable_line(answer.text) or 'the server gives no reason'}", lost=answer.lost)
            if answer.lost:
                fault.facts.append(("therefore", "its process is replaced"))
                self.discard_process(fault)
            raise fault
        return answer

    def start(self) -> ServerProcess:
        """Start the process, and have it describe itself. A process that replaces another must describe itself alike."""
        self.discard_process(Fault(""))
        self.process = process = ServerProcess(self.command)
        answer = self._ask(process, {"request": "describe"}, {}, self.command.start_seconds)
        try:
            if answer.kind != "describe":
                raise MalformedMessage(f"it answered `describe` with {answer.kind} {answer.text}".rstrip())
            description = read_description(answer.text)
        except MalformedMessage as error:
            raise self.discard_process(Fault(printable_line(str(error)), lost=True)) from None
        if self.description not in (None, description):
            raise self.discard_process(Fault("started again, its process describes itself differently", lost=True))
        self.description = description
        limit_memory(process.child.pid, current_settings().limits.memory)
        return process

    def _ask(
        self, process: ServerProcess, metadata: Mapping[str, str], arrays: Mapping[str, ProcessArray], seconds: float
    ) -> Answer:
        try:
            return process.ask(metadata, arrays, seconds)
        except ProcessEnded:
            raise self.discard_process(process.describe_end()) from None
        except MalformedMessage as error:
            raise self.discard_process(
                Fault(f"its process sent what is no answer: {printable_line(str(error))}", process.locate(), lost=True)
            ) from None
        except MissingLibrary as error:
            raise self.discard_process(Fault(str(error))) from None
        except Fault as fault:
            raise self.discard_process(fault) from None
        except BaseException:  # the user interrupts the run: a part of the answer may still be on its way
            self.discard_process(Fault(""))
            raise

    def discard_process(self, fault: Fault) -> Fault:
        """End the process, if there is one. Return the fault, for the caller to raise.

        One that has done nothing wrong may end by itself, at the end of its input.
        """
        if self.process is not None and fault.what:
            self.process.kill()
        elif self.process is not None:
            self.process.close()
        self.process = None
        return fault


def limit_memory(process: int, size: int | None) -> None:
    """Limit the bytes of the data of another process, where the system can. Linux can, others cannot."""
    if size is not None:
        with suppress(ImportError, AttributeError, OSError):
            import resource

            resource.prlimit(process, resource.RLIMIT_DATA, (size, size))
