"""End every process that the process of a backend has started, also those that have left its group and its session.

On Linux these are found in /proc: by their group and session, by their parents (the process of a Python backend adopts its
orphans), and by a variable of the environment, which processes inherit. On other systems only the process group is ended.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import weakref
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

MARK = "SPEC_TESTS_PROCESS"  # the variable; its value is new for each process that the suite starts
ENDED: weakref.WeakSet[Any] = weakref.WeakSet()  # children that were killed, with all that they had started
MARKS: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
ROUNDS = 10  # of search, since a process may start others meanwhile
PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """A process of the system that has not ended."""

    pid: int
    parent: int
    group: int
    session: int


def new_mark() -> str:
    return f"{os.getpid()}.{secrets.token_hex(8)}"


def adopt_orphans() -> None:
    """Have this process become the parent of its descendants whose parents end. This works on Linux only."""
    with contextlib.suppress(Exception):
        import ctypes

        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


class Child(Protocol):
    """What is known of a process that was started, or forked from another one: a `subprocess.Popen`, or the like."""

    pid: int

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...


def kill_all(child: Child) -> None:
    """Kill a child process and all processes that it has started."""
    if child in ENDED:
        return
    is_running, mark = child.poll() is None, MARKS.get(child, "")
    if is_running and PROC.is_dir():
        with contextlib.suppress(OSError):
            os.kill(child.pid, signal.SIGSTOP)  # so that it remains the parent of the others, and starts no more
    for _ in range(ROUNDS if PROC.is_dir() else 0):
        found = find_started(child.pid, mark, getattr(child, "parent", None))
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            ENDED.add(child)
            break
    if is_running:
        with contextlib.suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)


def kill_orphans(known: Collection[int]) -> None:
    """Kill the children of this process that are none of the known: it has adopted them from one that has ended."""
    for process in _read_processes():
        if process.parent == os.getpid() and process.pid not in known:
            with contextlib.suppress(OSError):
                os.kill(process.pid, signal.SIGKILL)
                os.waitpid(process.pid, 0)


def find_started(child: int, mark: str, parent: int | None = None) -> set[int]:
    """Return the processes that a child has started and that have not ended, without itself.

    Its parent is this process if no other is given.
    """
    parent = os.getpid() if parent is None else parent
    processes = list(_read_processes())
    children = defaultdict(list)
    for process in processes:
        children[process.parent].append(process.pid)
    is_another = any(p.pid == child and p.parent != parent for p in processes)  # the number is in use again
    found = {p.pid for p in processes if child in (p.group, p.session) and not is_another}
    pending = [] if is_another else [child]
    while pending:
        descendants = children[pending.pop()]
        found |= {*descendants}
        pending += descendants
    needle = f"{MARK}={mark}".encode()
    found |= {p.pid for p in processes if mark and needle in _read(p.pid, "environ").split(b"\0")}
    return found - {child, os.getpid()}


def _read_processes() -> Iterator[Process]:
    for entry in PROC.iterdir():
        if entry.name.isdecimal():
            state, *numbers = _read(int(entry.name), "stat").rpartition(b")")[2].split()[:4] or [b"X"]
            if state not in (b"Z", b"X") and len(numbers) == 3:
                yield Process(int(entry.name), *map(int, numbers))


def _read(pid: int, name: str) -> bytes:
    """Return a file about a process, or b"" if the process has ended or belongs to another user."""
    try:
        with open(f"{PROC}/{pid}/{name}", "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""
