"""A server in its process: it is asked one request after another, and what it writes and prints besides is told."""

from __future__ import annotations

import math
import os
import re
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ..implementation.guard import Fault
from .activity import Activity
from .command import ServerCommand
from .deadline import Deadline
from .forks import ForkServer
from .message import LENGTH, Answer, MalformedMessage, ProcessArray, pack, read_answer, read_header, read_length
from .stray_output import LOOKED_AT_BYTES, describe_beginning, find_stray, is_beginning, is_decided, show
from .supervisor import ProcessEnded, Supervisor, start
from .survivors import MARKS, PROC, find_started

TRACEBACK_HEAD = "Traceback (most recent call last):"  # of what Python prints
WROTE = "wrote as its answer"  # the name of a fact
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

IDLE_SECONDS = 30.0  # in which a process that imports a backend may do nothing at all
LOOK_SECONDS = 2.0  # between two looks at whether it does
SILENCE_SECONDS = 1.0  # how long the bytes behind those that are no answer are waited for


class ServerProcess(Supervisor):
    """A server that answers one request at a time."""

    awaits_beginning = False  # whether the next bytes are the first of an answer
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

    def receive_answer(self, deadline: Deadline, seconds: float, limit: str = "") -> Answer:
        """Return the answer to the request that was sent. Raise as `ask` does if there is none before the deadline."""
        self.awaits_beginning = True
        try:
            beginning = bytes(self.receive(LENGTH.size + 1, deadline))
            self.awaits_beginning = False
            if not is_beginning(beginning):
                raise MalformedMessage(describe_beginning(self._read_on(beginning)))
            size = read_length(beginning[: LENGTH.size])
            header = read_header(beginning[LENGTH.size :] + self.receive(max(size - 1, 0), deadline))
            answer = read_answer(header, self.receive(header.data_bytes, deadline))
        except TimeoutError:
            raise self.describe_timeout(seconds, limit) from None
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
            if extra := os.read(self.reads, LOOKED_AT_BYTES):
                raise MalformedMessage(f"it wrote {show(extra)} after its last answer")
            raise ProcessEnded

    def _read_on(self, received: bytes) -> bytes:
        """Return these bytes and those that follow. Stop when their description is decided, or after a second without any."""
        with suppress(TimeoutError, ProcessEnded):
            while len(received) < LOOKED_AT_BYTES and not is_decided(received):
                self._wait(Deadline(SILENCE_SECONDS), reading=True)
                if not (more := self._read_available(LOOKED_AT_BYTES)):
                    break  # the channel is closed
                received += more
        return received

    def _read_available(self, size: int) -> bytes:
        """Return what has come and was not read, up to this many bytes."""
        with suppress(BlockingIOError, ConnectionResetError):
            return os.read(self.reads, size)
        return b""

    def locate(self) -> list[tuple[str, str]]:
        """Return the line of a Python backend that faulthandler has printed, or else the first and the last line of the output.

        What it has written to its channel before it ended is a fact as well, where that is no part of an answer.
        """
        frames = [frame for frame in TRACEBACK_FRAME.findall(self.printed) if "spec_tests/" not in frame[0]]
        if self.is_python and (frames or self.has_answered):
            return [("where", f"line {line} of {Path(file).name}, in {name}") for file, line, name in frames[-1:]]
        stray = find_stray(self.received) if self.awaits_beginning else b""
        lines = [line.strip() for text in (self.printed, self.printed_last) for line in text.splitlines() if line.strip()]
        if lines[1:] and lines[0] == TRACEBACK_HEAD:
            del lines[0]  # what follows says where the error is
        if len(lines) < 2 or self.is_python:  # whose traceback says what happened in its last line
            printed = [("printed", line) for line in lines[-1:]]
        else:
            printed = [("printed first", lines[0]), ("printed last", lines[-1])]
        return [*([(WROTE, show(stray))] if stray else []), *printed]
