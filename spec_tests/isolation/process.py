"""The backend's process: started, asked, watched, and replaced when it is lost."""

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
from .wire import LENGTHS, MAX_MESSAGE_BYTES, MalformedMessage, pack, unpack

MAX_PRINTED_CHARACTERS = 4000  # characters of what it prints, of one request
START_TIMEOUT_SECONDS = 300.0  # seconds to import a framework
START_CODE = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); from spec_tests.isolation.server import main; main(sys.argv[1])"
)
TRACEBACK_FRAME = re.compile(r'^  File "(.*)", line (\d+) in (\w+)$', re.MULTILINE)


class ProcessEnded(Exception):
    """The process is gone."""


class Process:
    """Asks and is answered, one message at a time."""

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
                start_new_session=True,  # no signal of a terminal's, nor of its own to its group, reaches both sides
            )
        self.channel = ours
        assert self.child.stdout is not None
        self.output = self.child.stdout.fileno()
        os.set_blocking(self.output, False)
        self.printed, self.left_out = "", 0
        self.end = weakref.finalize(self, _terminate, self.child, ours)

    def ask(self, message: Any, seconds: float) -> Any:
        """Its reply. Ended, Malformed or a Fault, where there is none."""
        deadline = time.monotonic() + seconds
        try:
            self.channel.settimeout(seconds)
            self.channel.sendall(pack(message))
            header, rest = LENGTHS.unpack(self._received(LENGTHS.size, deadline))
            if header + rest > MAX_MESSAGE_BYTES:
                raise MalformedMessage(f"a message of {header + rest} bytes")
            reply = unpack(bytes(self._received(header, deadline)), self._received(rest, deadline))
        except TimeoutError:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                os.kill(self.child.pid, signal.SIGABRT)  # whereupon it tells where it is
                self.child.wait(1.0)
            raise self._told(timeout_fault(seconds)) from None
        except (BrokenPipeError, ConnectionResetError):
            raise ProcessEnded from None
        self._drain()
        self._show()
        return reply

    def _received(self, size: int, deadline: float) -> memoryview:
        buffer = memoryview(bytearray(size))
        start, channel = 0, self.channel.fileno()
        while start < size:
            ready = self._ready(deadline, channel, self.output)
            if self.output in ready and not self._drain() and channel not in ready:
                ready = self._ready(deadline, channel)
            if channel in ready:
                if not (count := self.channel.recv_into(buffer[start:])):
                    raise ProcessEnded
                start += count
            elif time.monotonic() >= deadline:
                raise TimeoutError
        return buffer

    @staticmethod
    def _ready(deadline: float, *files: int) -> list[int]:
        return select.select(files, [], [], max(0.0, deadline - time.monotonic()))[0]

    def _drain(self) -> bool:
        """What it has printed is read, and cut; False where no more will come."""
        while True:
            try:
                text = os.read(self.output, 1 << 16)
            except (BlockingIOError, OSError):
                return True
            if not text:
                return False
            room = MAX_PRINTED_CHARACTERS - len(self.printed)
            self.printed += text[: max(room, 0)].decode(errors="replace")
            self.left_out += max(len(text) - room, 0)
            if self.left_out:
                return True  # by and by: the clock has to be looked at

    def _show(self) -> None:
        if self.printed:
            print(self.printed, end=f"\n… ({self.left_out} more characters)\n" if self.left_out else "")
            self.printed, self.left_out = "", 0

    def fate(self) -> Fault:
        """How it ended, once it has."""
        try:
            status = self.child.wait(10.0)
        except subprocess.TimeoutExpired:
            return Fault("its process closed the channel", lost=True)
        if status >= 0:
            return self._told(Fault(f"the call ended its process, with exit status {status}", lost=True))
        number = signal.Signals(-status)
        why = ", as the system does when memory runs out" if number is signal.SIGKILL else ""
        said = f"the call ended its process: {number.name} ({signal.strsignal(number)}){why}"
        return self._told(Fault(said, lost=True))

    def _told(self, fault: Fault) -> Fault:
        """With the place that the interpreter names, if it does."""
        self._drain()
        frames = [frame for frame in TRACEBACK_FRAME.findall(self.printed) if "spec_tests/" not in frame[0]]
        if frames:
            file, line, function = frames[-1]  # the backend's own, which the suite has called
            fault.facts.append(("where", f"line {line} of {Path(file).name}, in {function}"))
        self._show()
        return fault

    def close(self) -> None:
        self.end()


def _terminate(child: subprocess.Popen[bytes], channel: socket.socket) -> None:
    """With whatever it has started."""
    channel.close()
    with contextlib.suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    if child.stdout is not None:
        child.stdout.close()
