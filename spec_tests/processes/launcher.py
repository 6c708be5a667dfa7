"""A program that confines itself as far as the system allows, and then becomes the process of a backend.

It is run as a file, with Python's standard library alone, before any code of a backend. What a backend states does not reach it.
What the process may write is the subject of `confined_files.py`.
What it has done goes to a pipe, which is closed before the other program starts.

With namespaces there are three processes: this one, outside; the first of the namespace, which waits; and the one of the backend.
When the first of these ends, the system ends all processes in the namespace.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import struct
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import Any, NoReturn

NEW_USERS, NEW_PROCESSES, NEW_MOUNTS, NEW_NETWORK = 0x10000000, 0x20000000, 0x00020000, 0x40000000  # the flags of unshare(2)
RECURSIVE, PRIVATE, SAFE_MOUNT = 1 << 14, 1 << 18, 2 | 4 | 8  # those of mount(2)
DIE_WITH_PARENT, SET_DUMPABLE, NO_NEW_PRIVILEGES, DROP_FROM_BOUND = 1, 4, 38, 24  # the requests of prctl(2)
READ_FLAGS, SET_FLAGS, IS_UP, REQUEST = 0x8913, 0x8914, 1, struct.Struct("16sh22x")  # of netdevice(7)
CAPABILITY_VERSION, LAST_CAPABILITY = 0x20080522, 63
SET_CAPABILITIES = MappingProxyType({"x86_64": 126, "aarch64": 91, "riscv64": 91})  # the numbers of capset(2)
NOBODY = 65534
UNKNOWN = 2  # the exit status of a process that could not become another user, and so could not try what that user may read
STATUS = struct.Struct("i")


def import_files() -> Any:
    """Return the module of `confined_files.py`. The folder is not on the path."""
    spec = importlib.util.spec_from_file_location("confined_files", Path(__file__).with_name("confined_files.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


files = import_files()
call, Refused = files.call, files.Refused


class Confinement:
    """What is in force, and what the system lacks."""

    def __init__(self) -> None:
        self.in_force: list[str] = []
        self.dropped: list[str] = []

    def attempt(self, what: str, step: Any, *arguments: Any) -> bool:
        """Do a step, and note whether it has worked."""
        try:
            step(*arguments)
        except (Refused, OSError, KeyError) as error:
            self.dropped.append(f"{what} ({getattr(error, 'strerror', None) or error})")
            return False
        self.in_force.append(what)
        return True


def enter_namespaces() -> None:
    """Leave the namespaces of processes and mounts for new ones. Root may need no new users for that."""
    user, group = os.geteuid(), os.getegid()
    try:
        call("unshare", NEW_USERS | NEW_PROCESSES | NEW_MOUNTS)
    except Refused:
        if user != 0:
            raise
        call("unshare", NEW_PROCESSES | NEW_MOUNTS)
        return
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def mount_own_proc() -> None:
    call("mount", "none", "/", None, RECURSIVE | PRIVATE, None)
    call("mount", "proc", "/proc", "proc", SAFE_MOUNT, None)


def leave_network() -> None:
    """Leave the network for one that has this process alone, and its own sockets."""
    import fcntl
    import socket

    call("unshare", NEW_NETWORK)
    with suppress(OSError), socket.socket() as any_socket:  # programs may speak to themselves
        name, flags = REQUEST.unpack(fcntl.ioctl(any_socket, READ_FLAGS, REQUEST.pack(b"lo", 0)))
        fcntl.ioctl(any_socket, SET_FLAGS, REQUEST.pack(name, flags | IS_UP))


def confine_files(confinement: Confinement, options: dict[str, Any]) -> None:
    """Show the process its own /proc, and let it write to copies of a few folders alone. Ranks share one folder."""
    attempt = confinement.attempt
    attempt("/proc without other processes", mount_own_proc)
    is_protected = attempt("read-only system", files.protect_everything)
    attempt("no sockets of services", files.hide_sockets)
    if not options["shared"]:
        attempt("no shared memory of others", files.leave_shared_memory)
    copies = Confinement()
    with suppress(Refused), files.shared(options["shared"]):
        for path in files.find_outermost(options["writable"]):
            if not copies.attempt(f"a copy of {path}", files.lay_copy, path) and is_protected:
                files.keep_writable(path)
    confinement.dropped += copies.dropped
    if copies.in_force:
        confinement.in_force.append("copies of some of its folders" if copies.dropped else "copies of its folders")
    with suppress(OSError):
        os.chdir(os.getcwd())  # through the new mounts
    attempt("read-only libraries", files.protect, options["protected"])


def drop_capabilities() -> None:
    for capability in range(LAST_CAPABILITY + 1):
        with suppress(Refused):
            call("prctl", DROP_FROM_BOUND, capability, 0, 0, 0)
    header, none = struct.pack("Ii", CAPABILITY_VERSION, 0), bytes(24)
    call("syscall", SET_CAPABILITIES[os.uname().machine], header, none)


def become_nobody(needed: Iterable[str]) -> None:
    """Become another user, if that user can read what is needed."""
    child = os.fork()
    if child == 0:
        try:
            _set_user()
            os._exit(not all(os.access(path, os.R_OK | (os.X_OK if os.path.isdir(path) else 0)) for path in needed))
        finally:  # whatever is raised, this process must not go on beside the other
            os._exit(UNKNOWN)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status not in (0, UNKNOWN):
        raise Refused("another user could not read the backend and the libraries")
    _set_user()  # which says why, if the child could not


def _set_user() -> None:
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def wait_inside(worker: int, status_pipe: int) -> NoReturn:
    """Reap processes, as the first of a namespace, until the backend's has ended. Tell its status, and end."""
    with suppress(Refused):
        call("prctl", SET_DUMPABLE, 0, 0, 0, 0)  # the other may not trace this process
    while True:
        child, status = os.wait()
        if child == worker:
            os.write(status_pipe, STATUS.pack(status))
            os._exit(0)


def wait_outside(first: int, status_pipe: int, proc: int) -> NoReturn:
    """Wait for the namespace to end, and end as the backend's process has ended. Pass SIGABRT on to it."""

    def pass_on(number: int, frame: FrameType | None) -> None:
        with suppress(OSError), open(os.open(f"{first}/task/{first}/children", os.O_RDONLY, dir_fd=proc)) as file:
            for child in file.read().split():
                os.kill(int(child), number)

    signal.signal(signal.SIGABRT, pass_on)
    os.waitpid(first, 0)
    told = os.read(status_pipe, STATUS.size)
    status = STATUS.unpack(told)[0] if told else signal.SIGKILL
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        _leave_no_core()
        with suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.pause()
    os._exit(os.WEXITSTATUS(status))


def _leave_no_core() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def close_all_but(*kept: int) -> None:
    start = 3
    for file in sorted(kept):
        os.closerange(start, file)
        start = file + 1
    os.closerange(start, 4096)


def main(words: list[str]) -> NoReturn:
    """Confine this process, tell what is in force, and run the command."""
    report, options, command = int(words[0]), json.loads(words[1]), words[2:]
    confinement = Confinement()
    attempt, is_alone, version = confinement.attempt, not options["shared"], files.find_version()
    with suppress(Refused):
        call("prctl", DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")  # it ends before others when memory runs out
    has_own_network = False
    if attempt("process namespace", enter_namespaces):
        has_own_network = is_alone and attempt("no network", leave_network)
        (outside, inside), proc = os.pipe(), os.open("/proc", os.O_PATH)  # the /proc of before has the numbers of here
        if first := os.fork():
            close_all_but(outside, proc)
            wait_outside(first, outside, proc)
        with suppress(Refused):
            call("prctl", DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
        confine_files(confinement, options)
        if worker := os.fork():
            close_all_but(inside)
            with suppress(Refused, KeyError):
                drop_capabilities()
            wait_inside(worker, inside)
        for file in (inside, outside, proc):
            os.close(file)
    elif os.geteuid() == 0:
        attempt("another user", become_nobody, options["needed"])
    attempt("no capabilities", drop_capabilities)
    attempt("no new privileges", call, "prctl", NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    kinds = files.list_kinds(version, is_alone=is_alone, has_own_network=has_own_network)
    attempt(f"Landlock ({', '.join(kinds)})", files.restrict, version, kinds, options["writable"])
    with suppress(Refused):
        call("prctl", DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    os.write(report, json.dumps([confinement.in_force, confinement.dropped]).encode())
    os.close(report)
    os.execvpe(command[0], command, {**os.environ, **options["environment"]})


if __name__ == "__main__":
    main(sys.argv[1:])
