"""The process of an isolated backend: start it, exchange messages with it, collect what it prints, and end it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
import weakref
from pathlib import Path
from typing import Any

from ..implementation.guard import Fault, timeout_fault
from ..implementation.printable import printable
from .wire import LENGTHS, MAX_MESSAGE_BYTES, MalformedMessage, pack, unpack

MAX_PRINTED_CHARACTERS = 4000  # of the output of one request that are shown
START_TIMEOUT_SECONDS = 300.0  # to import a framework
START_CODE = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); from spec_tests.isolation.server import main; main(sys.argv[1])"
)
TRACEBACK_FRAME = re.compile(r'^  File "(.*)", line (\d+) in (\w+)$', re.MULTILINE)  # as faulthandler prints it


class ProcessEnded(Exception):
    """The process has ended, or has closed the channel."""


class Process:
    """A process that answers requests, one message at a time."""

    def __init__(self, folder: Path, environment: dict[str, str]):
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            for buffer in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                end.setsockopt(socket.SOL_SOCKET, buffer, 1 << 20)
        with theirs:
            self.child = subprocess.Popen(
                [sys.executable, "-u", "-c", START_CODE, str(theirs.fileno()), json.dumps(sys.path)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()],
                cwd=folder,
                env={**os.environ, **environment},
                start_new_session=True,  # no signal from the terminal, nor from it to its own group, reaches both sides
            )
        self.channel = ours
        assert self.child.stdout is not None
        self.output = self.child.stdout.fileno()
        os.set_blocking(self.output, False)
        self.printed, self.omitted_characters = "", 0
        self.finalizer = weakref.finalize(self, _terminate, self.child, ours)

    def ask(self, message: Any, seconds: float) -> Any:
        """Send a message and return the reply. Raise ProcessEnded, MalformedMessage or a Fault if there is none in this time."""
        deadline = time.monotonic() + seconds
        try:
            self.channel.settimeout(seconds)
            self.channel.sendall(pack(message))
            header, rest = LENGTHS.unpack(self._receive(LENGTHS.size, deadline))
            if header + rest > MAX_MESSAGE_BYTES:
                raise MalformedMessage(f"a message of {header + rest} bytes")
            reply = unpack(bytes(self._receive(header, deadline)), self._receive(rest, deadline))
        except TimeoutError:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                os.kill(self.child.pid, signal.SIGABRT)  # faulthandler then prints the traceback
                self.child.wait(1.0)
            raise self._add_location(timeout_fault(seconds)) from None
        except (BrokenPipeError, ConnectionResetError):
            raise ProcessEnded from None
        self._read_output()
        self._print_output()
        return reply

    def _receive(self, size: int, deadline: float) -> memoryview:
        """Return this many bytes from the channel. Read the output meanwhile, so that a full pipe does not block the process."""
        buffer = memoryview(bytearray(size))
        start, channel = 0, self.channel.fileno()
        while start < size:
            readable = self._wait_until_readable(deadline, channel, self.output)
            if self.output in readable and not self._read_output() and channel not in readable:
                readable = self._wait_until_readable(deadline, channel)
            if channel in readable:
                if not (count := self.channel.recv_into(buffer[start:])):
                    raise ProcessEnded
                start += count
            elif time.monotonic() >= deadline:
                raise TimeoutError
        return buffer

    @staticmethod
    def _wait_until_readable(deadline: float, *files: int) -> list[int]:
        return select.select(files, [], [], max(0.0, deadline - time.monotonic()))[0]

    def _read_output(self) -> bool:
        """Read what the process has printed, and keep the first MAX_PRINTED_CHARACTERS. Return False at the end of the output."""
        while True:
            try:
                text = os.read(self.output, 1 << 16)
            except (BlockingIOError, OSError):
                return True
            if not text:
                return False
            room = MAX_PRINTED_CHARACTERS - len(self.printed)
            self.printed += text[: max(room, 0)].decode(errors="replace")
            self.omitted_characters += max(len(text) - room, 0)
            if self.omitted_characters:
                return True  # to the caller, which checks the deadline: the output may never end

    def _print_output(self) -> None:
        if self.printed:
            end = f"\n… ({self.omitted_characters} more characters)\n" if self.omitted_characters else ""
            print(printable(self.printed), end=end)
            self.printed, self.omitted_characters = "", 0

    def describe_end(self) -> Fault:
        """Return a Fault that says how the process has ended. Wait for its end up to ten seconds."""
        try:
            status = self.child.wait(10.0)
        except subprocess.TimeoutExpired:
            return Fault("its process closed the channel", lost=True)
        if status >= 0:
            return self._add_location(Fault(f"the call ended its process, with exit status {status}", lost=True))
        number = signal.Signals(-status)
        name = f"{number.name} ({signal.strsignal(number)})"
        what = f"the call ended its process: {name}"
        if number is signal.SIGKILL:  # nothing tells who has sent it
            causes = "by the call, by the system, as when memory runs out, or by someone else"
            what = f"its process was ended during the call by {name}: {causes}"
        return self._add_location(Fault(what, lost=True))

    def _add_location(self, fault: Fault) -> Fault:
        """Add the line of the backend that the process was in, if faulthandler has printed a traceback."""
        self._read_output()
        frames = [frame for frame in TRACEBACK_FRAME.findall(self.printed) if "spec_tests/" not in frame[0]]
        if frames:
            file, line, function = frames[-1]  # the outermost frame outside the suite: the function that the suite has called
            fault.facts.append(("where", f"line {line} of {Path(file).name}, in {function}"))
        self._print_output()
        return fault

    def close(self) -> None:
        """End the process and its process group."""
        self.finalizer()


def _terminate(child: subprocess.Popen[bytes], channel: socket.socket) -> None:
    """Close the channel and kill the process group of the child."""
    channel.close()
    with contextlib.suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    if child.stdout is not None:
        child.stdout.close()
