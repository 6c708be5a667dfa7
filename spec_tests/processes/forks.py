"""Start the processes of ranks by forking them from one that has imported the framework, where that is safe."""

from __future__ import annotations

import ast
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..implementation.environment import backend_file, read_literal
from ..specification.run_settings import current_settings
from ..specification.source_text import parse_file
from .child_environment import child_environment
from .command import START_CODE, ServerCommand
from .supervisor import closing, make_sockets, terminate
from .survivors import MARK, MARKS, new_mark

FORKABLE = ("numpy", "torch")  # JAX starts threads when it is imported
CPU = "cpu"  # on other devices a process that was forked cannot go on with the contexts of the first
MAX_ANSWER_BYTES = 1 << 12
START_SECONDS = 120.0  # a safety net, to import the framework
POLL_SECONDS = 0.002, 0.05  # between looks for the end of a process, at first and at most


class CannotFork(Exception):
    """Processes cannot be forked: the one to fork from has threads, or it has ended."""


class ForkedProcess:
    """A process that was forked, for those who know `subprocess.Popen`: `pid`, `poll` and `wait`."""

    def __init__(self, server: ForkServer, pid: int):
        self.server, self.pid, self.parent = server, pid, server.child.pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit status, negative of a signal; None while it runs."""
        if self.returncode is None:
            try:
                self.returncode = self.server.request({"status": self.pid})["status"]
            except CannotFork:  # the system ends with the server what was forked from it
                self.returncode = -signal.SIGKILL
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status when it has ended. Raise subprocess.TimeoutExpired if it runs on."""
        end, pause = None if timeout is None else time.monotonic() + timeout, POLL_SECONDS[0]
        while (status := self.poll()) is None:
            if end is not None and time.monotonic() >= end:
                raise subprocess.TimeoutExpired("a rank", timeout or 0.0)
            time.sleep(pause)
            pause = min(2 * pause, POLL_SECONDS[1])
        return status


class ForkServer:
    """A process that has imported the framework of a backend, and from which its ranks are forked."""

    def __init__(self, command: ServerCommand, modules: list[str]):
        """Start it. Raise CannotFork if it has threads after it has imported the modules."""
        self.lock = threading.Lock()
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        code = START_CODE.replace(".python_server", ".fork_server")
        options = {"path": json.loads(command.words[-1])["path"], "modules": modules}
        mark = new_mark()
        self.child = subprocess.Popen(
            (sys.executable, "-u", "-c", code, json.dumps(options)),
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=command.folder,
            env={**child_environment(command.environment), MARK: mark},
            start_new_session=True,
        )
        MARKS[self.child] = mark
        theirs.close()
        self.finalizer = weakref.finalize(self, terminate, self.child, closing(self.control), 0.0)
        self.control.settimeout(START_SECONDS)
        try:
            threads = self._receive()["threads"]
        except CannotFork:
            self.close()
            raise
        if threads > 1:
            self.close()
            raise CannotFork

    @property
    def is_running(self) -> bool:
        return self.child.poll() is None

    def start(self, command: ServerCommand) -> tuple[ForkedProcess, int, int, int, Callable[[], None]]:
        """Fork the process of a rank, with the environment and the options of the command. Return what Supervisor takes."""
        mark = new_mark()
        options = json.loads(command.words[-1])
        ours, theirs = make_sockets()
        output, printing = os.pipe()
        reader = os.fdopen(output, "rb", buffering=0)
        try:
            pid = self.request(
                {"environment": {**command.environment, MARK: mark}, "options": options}, [theirs.fileno(), printing]
            )["process"]
        except BaseException:
            closing(ours, reader)()
            raise
        finally:
            theirs.close()
            os.close(printing)
        child = ForkedProcess(self, pid)
        MARKS[child] = mark
        return child, ours.fileno(), ours.fileno(), output, closing(ours, reader)

    def request(self, said: dict[str, Any], descriptors: list[int] | None = None) -> dict[str, Any]:
        """Return the answer to a request. Raise CannotFork if the process has ended."""
        with self.lock:
            try:
                socket.send_fds(self.control, [json.dumps(said).encode()], descriptors or [])
            except OSError:
                raise CannotFork from None
            return self._receive()

    def _receive(self) -> dict[str, Any]:
        try:
            text = self.control.recv(MAX_ANSWER_BYTES)
        except OSError:
            raise CannotFork from None
        if not text:
            raise CannotFork
        found: dict[str, Any] = json.loads(text)
        return found

    def close(self) -> None:
        """End the process, and all that were forked from it."""
        self.finalizer()


def find_modules(text: str, folder: Path) -> list[str] | None:
    """Return the modules that processes of the backend can have in common; None if they must be started one by one.

    These are those of its framework that its file imports. The file is parsed and not run.
    """
    device = current_settings().device
    path = backend_file(text, folder)
    if sys.platform != "linux" or current_settings().limits.confined or path is None:
        return None
    framework, stated = read_literal(path, "framework"), read_literal(path, "device")
    if framework not in FORKABLE or any(x is not None and str(x).partition(":")[0] != CPU for x in (device, stated)):
        return None
    return [framework, *_list_imports(path, framework)]


def _list_imports(path: Path, framework: str) -> list[str]:
    found = []
    for statement in parse_file(path).body:
        if isinstance(statement, ast.Import):
            found += [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
            found.append(statement.module)
    return [module for module in found if module.partition(".")[0] == framework]
