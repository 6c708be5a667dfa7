"""A clock in a small process of its own, which stands still while this process is stopped.

Ctrl-Z and a paused container stop both processes. The clock also asks `/proc` whether this process alone is stopped.
C code that holds the GIL stops neither: the clock goes on.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

TICK_SECONDS = 0.25
READ_BYTES = 1 << 16
PROGRAM = """
import os, signal, sys, time

def is_stopped():
    try:
        with open(f"/proc/{watched}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in (b"T", b"t")
    except OSError:
        return False

watched, seconds = int(sys.argv[1]), float(sys.argv[2])
signal.signal(signal.SIGINT, signal.SIG_IGN)
while os.getppid() == watched:
    time.sleep(seconds)
    if not is_stopped():
        os.write(1, b".")
"""


class OutsideClock:
    """The clock. It is started when it is first needed, and ends with this process."""

    def __init__(self) -> None:
        self._descriptor: int | None = None
        self._ticks = 0

    def start(self) -> None:
        """Start the clock, once, where this system starts processes by `posix_spawn`."""
        if self._descriptor is not None or not hasattr(os, "posix_spawn") or not sys.executable:
            return
        self._descriptor, written = os.pipe()
        os.set_blocking(self._descriptor, False)
        streams = [(os.POSIX_SPAWN_DUP2, written, 1), (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
        command = [sys.executable, "-I", "-S", "-c", PROGRAM, str(os.getpid()), str(TICK_SECONDS)]
        with suppress(OSError):  # without this clock, a process that uses no CPU time counts as stopped
            os.posix_spawn(sys.executable, command, os.environ, file_actions=streams)
        os.close(written)

    def seconds(self) -> float:
        """Return the seconds that the clock has counted since its start. 0 if it was not started."""
        if self._descriptor is not None:
            with suppress(BlockingIOError):  # no tick since the last time
                self._ticks += len(os.read(self._descriptor, READ_BYTES))
        return self._ticks * TICK_SECONDS
