"""A child process, whatever it speaks: start it, send and receive bytes before a deadline, collect what it prints, and end it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..implementation.guard import Fault, timeout_fault
from ..implementation.printable import printable
from ..specification.run_settings import current_settings
from .child_environment import child_environment
from .confinement import NOT_ON_THIS_SYSTEM, Confinement, Launch
from .deadline import Deadline
from .survivors import MARK, MARKS, Child, kill_all, new_mark

MAX_PRINTED_CHARACTERS = 4000  # of the beginning of what is printed in one request that are shown
MAX_LAST_CHARACTERS = 2000  # of its end
MAX_KEPT_BYTES = 4096  # of an answer that has not come whole
CHANNEL_BYTES = 1 << 20  # what the channel holds, where the system allows it
START_TIMEOUT_SECONDS = 300.0  # to start, and to import a framework
ABORT_SECONDS = 1.0  # for a process to print where it is
LIFE_SECONDS = 0.5  # after which it is asked whether a process that sends nothing has ended
CONFINEMENTS: weakref.WeakKeyDictionary[Any, Confinement] = weakref.WeakKeyDictionary()
END_SECONDS = 10.0  # for a process that has closed its channel to end


class ProcessEnded(Exception):
    """The process has ended, or has closed the channel."""


class Supervisor:
    """A child process with a channel of bytes. What it prints is collected from another pipe."""

    patience_seconds = 0.0  # for it to end by itself when its channel is closed, before it is killed
    aborts = False  # whether SIGABRT makes it print where it is, as Python's faulthandler does

    confinement: Confinement | None = None  # what keeps it from other processes, if the run asks for that

    def __init__(self, child: Child, reads: int, writes: int, output: int, close: Callable[[], None]):
        self.child, self.reads, self.writes, self.output = child, reads, writes, output
        for file in (reads, writes, output):
            os.set_blocking(file, False)
        self.confinement = CONFINEMENTS.get(child)
        self.printed, self.printed_last, self.omitted_characters = "", "", 0
        self.received = b""  # of what was waited for last, if not all of it has come
        self.finalizer = weakref.finalize(self, terminate, child, close, self.patience_seconds)

    # --- the channel ----------------------------------------------------------------------------------------------------

    def send(self, data: bytes, deadline: Deadline) -> None:
        """Send all of the data. Raise ProcessEnded or TimeoutError if that fails."""
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self.writes, rest) :]
            except BlockingIOError:
                self._wait(deadline, reading=False)
            except (BrokenPipeError, ConnectionResetError):
                raise ProcessEnded from None

    def receive(self, size: int, deadline: Deadline) -> bytearray:
        """Return this many bytes. Raise ProcessEnded or TimeoutError if there are fewer."""
        buffer = bytearray(size)
        view, start = memoryview(buffer), 0
        try:
            while start < size:
                try:
                    count = os.readv(self.reads, [view[start:]])
                except BlockingIOError:
                    self._wait(deadline, reading=True)
                    continue
                except ConnectionResetError:
                    count = 0
                if not count:
                    raise ProcessEnded
                start += count
        finally:
            self.received = bytes(view[: min(start, MAX_KEPT_BYTES)]) if start < size else b""
        return buffer

    def _wait(self, deadline: Deadline, *, reading: bool) -> None:
        """Wait until the channel is ready. Read the output meanwhile, so that a full pipe does not block the process."""
        channel, outputs = (self.reads if reading else self.writes), [self.output]
        while True:
            readers, writers = ([channel, *outputs], []) if reading else (outputs, [channel])
            patience = min(max(0.0, deadline.left()), LIFE_SECONDS)
            readable, writable, _ = select.select(readers, writers, [], patience)
            if channel in readable or channel in writable:
                return
            if not readable and self.child.poll() is not None:  # another process may hold its end of the channel open
                raise ProcessEnded
            if self.output in readable and not self.read_output():
                outputs = []
            if deadline.left() <= 0:
                raise TimeoutError
            self.check_progress()

    def check_progress(self) -> None:
        """Raise a Fault if the process waits for something that will not come. This is asked while nothing is sent."""

    # --- what it prints -------------------------------------------------------------------------------------------------

    def read_output(self) -> bool:
        """Read what the process has printed, and keep its beginning and its end. Return False at the end of the output."""
        while True:
            try:
                text = os.read(self.output, 1 << 16)
            except (BlockingIOError, OSError):
                return True
            if not text:
                return False
            room = max(MAX_PRINTED_CHARACTERS - len(self.printed), 0)
            self.printed += text[:room].decode(errors="replace")
            last = self.printed_last + text[room:].decode(errors="replace")
            self.printed_last = last[-MAX_LAST_CHARACTERS:]
            self.omitted_characters += len(last) - len(self.printed_last)
            if last:
                return True  # to the caller, which checks the deadline: the output may never end

    def print_output(self) -> None:
        """Print what the process has printed since the last time, so that pytest captures it."""
        self.read_output()
        if self.printed:
            cut = f"\n… ({self.omitted_characters} more characters)\n…" if self.omitted_characters else ""
            print(printable(self.printed) + cut + printable(self.printed_last), end="\n" if self.printed_last else "")
            self.printed, self.printed_last, self.omitted_characters = "", "", 0

    # --- how it ends ----------------------------------------------------------------------------------------------------

    def locate(self) -> list[tuple[str, str]]:
        """Return the facts that `printed` tells about where the process was when it ended."""
        return []

    def describe_timeout(self, seconds: float, limit: str = "") -> Fault:
        """Return the Fault of a process that has not answered in this time: of --time-limit, or of the limit of this name."""
        stated = Fault(f"no answer within {seconds:.3g} s ({limit})", timed_out=True)
        return self.describe_hang(stated if limit else timeout_fault(seconds))

    def describe_hang(self, fault: Fault) -> Fault:
        """Return the fault of a process that hangs, with the place where it is, for which it is asked."""
        if self.aborts:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                os.kill(self.child.pid, signal.SIGABRT)
                self.child.wait(ABORT_SECONDS)
        return self._add_location(fault)

    def describe_end(self) -> Fault:
        """Return a Fault that says how the process has ended. Wait for its end up to END_SECONDS."""
        try:
            status = self.child.wait(END_SECONDS)
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
        self.read_output()
        self.read_output()  # it may have returned at the beginning of a long output
        fault.facts += self.locate()
        self.print_output()
        return fault

    def kill(self) -> None:
        """Kill the process and all processes that it has started, without waiting for its own end."""
        if self.patience_seconds:  # else it is killed when the channel is closed
            kill_all(self.child)
        self.close()

    def close(self) -> None:
        """Close the channel, and end the process with all processes that it has started."""
        self.finalizer()


def start(
    command: Sequence[str], folder: Path, environment: dict[str, str], *, takes_socket: bool = False, shared: str = ""
) -> tuple[subprocess.Popen[bytes], int, int, int, Callable[[], None]]:
    """Start a process whose channel is its standard input and output. Return what Supervisor takes.

    With takes_socket both are one socket, which passes large arrays with less work than pipes do.
    It gets what it may have of the environment, and a mark by which its own processes are found. Ranks have a `shared` folder.
    """
    mark, launch = new_mark(), None
    if current_settings().limits.confined and sys.platform == "linux":
        launch = Launch(command, environment, folder, shared=shared)
        command, environment = launch.command, {}
    ours, theirs = make_sockets() if takes_socket else (None, None)
    child = subprocess.Popen(
        command,
        stdin=theirs.fileno() if theirs else subprocess.PIPE,
        stdout=theirs.fileno() if theirs else subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        cwd=folder,
        env={**child_environment(environment), MARK: mark},
        start_new_session=True,  # no signal from the terminal, nor from it to its own group, reaches both sides
        pass_fds=[launch.inherited] if launch else [],
    )
    MARKS[child] = mark
    if current_settings().limits.confined:
        CONFINEMENTS[child] = launch.read() if launch else NOT_ON_THIS_SYSTEM
    assert child.stderr is not None
    if ours is not None and theirs is not None:
        theirs.close()
        return child, ours.fileno(), ours.fileno(), child.stderr.fileno(), closing(ours, child.stderr)
    assert child.stdin is not None
    assert child.stdout is not None
    pipes = child.stdin, child.stdout
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import fcntl

        for pipe in pipes:
            fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, CHANNEL_BYTES)
    return child, child.stdout.fileno(), child.stdin.fileno(), child.stderr.fileno(), closing(*pipes, child.stderr)


def make_sockets() -> tuple[socket.socket, socket.socket]:
    ends = socket.socketpair()
    for end in ends:
        for buffer in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            end.setsockopt(socket.SOL_SOCKET, buffer, CHANNEL_BYTES)
    return ends


def closing(*files: Any) -> Callable[[], None]:
    """Return a function that closes these files."""

    def close() -> None:
        for file in files:
            with contextlib.suppress(OSError):
                file.close()

    return close


def terminate(child: Child, close: Callable[[], None], patience_seconds: float) -> None:
    """Kill the child with all processes that it has started, and close the channel.

    With patience the channel is closed first, so that the child may end by itself. Without, a child that ends by itself at the
    end of its input would leave processes that are no longer its descendants.
    """
    if patience_seconds:
        close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(patience_seconds)
    kill_all(child)
    close()
    child.wait()
