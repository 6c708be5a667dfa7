"""What a confined process may write: a few folders, which are copies that no other process sees where the system allows that.

`launcher.py` loads this file by its path, with Python's standard library alone. Python's bindings of Landlock are pre-releases or
known to few, and three system calls need none.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

NEW_SHARED_MEMORY = 0x08000000  # a flag of unshare(2)
NO_SUID, NO_DEVICES, BIND, RECURSIVE, READ_ONLY, REMOUNT = 2, 4, 1 << 12, 1 << 14, 1, 1 << 5  # the flags of mount(2)
KEPT_BY_REMOUNTS = ((2, 2), (4, 4), (8, 8), (1024, 1024), (2048, 2048), (4096, 1 << 21))  # of statvfs(3), and as flags of mount
DETACH = 2  # a flag of umount2(2)
SET_OF_MOUNTS, ALL_BENEATH, MOUNT_READ_ONLY = 442, 0x8000, 1  # mount_setattr(2), a flag and an attribute of it
CREATE_RULES, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the system calls of landlock(7), on every processor
ASK_VERSION, BENEATH_A_PATH = 1, 1  # a flag of the first, and a kind of rule
WRITE_FILE, CHANGE_FOLDERS, MOVE, TRUNCATE = 1 << 1, 0b1111111110000, 1 << 13, 1 << 14  # the rights that write
ALL_TCP = 3  # bind and connect
SCOPES = MappingProxyType({"abstract sockets": 1, "signals": 2})
SINCE = MappingProxyType(
    {"files": 0, "move": 2, "truncate": 3, "TCP": 4, **dict.fromkeys(SCOPES, 6)}
)  # the versions that have them
FULL_SIZE = "size=25%"  # of the machine's memory, for what is written to one copy
DEVICES = ("null", "zero", "full", "random", "urandom", "shm")
ACCELERATORS = ("nvidia", "kfd", "dri", "accel", "vfio", "dxg", "neuron", "davinci", "mali")  # how their devices' names begin


class Refused(Exception):
    """The system does not allow a step. The text says why."""


def call(name: str, *arguments: Any) -> int:
    """Call a function of the C library, and return its result. Raise Refused if it is missing or fails."""
    function = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if function is None:
        raise Refused(f"no {name} here")
    result = int(function(*(x.encode() if isinstance(x, str) else x for x in arguments)))
    if result < 0:
        raise Refused(os.strerror(ctypes.get_errno()))
    return result


# --- mounts -----------------------------------------------------------------------------------------------------------


def leave_shared_memory() -> None:
    """Leave the shared memory of other processes for an empty one."""
    call("unshare", NEW_SHARED_MEMORY)
    call("mount", "tmpfs", "/dev/shm", "tmpfs", NO_SUID | NO_DEVICES, f"mode=1777,{FULL_SIZE}")


def hide_sockets() -> None:
    """Hide the sockets of services, which would do as they are told outside: run a command, or start a container."""
    others = {path for path, kind in list_mounts() if kind != "tmpfs"}  # such as those of a server that does not answer
    for folder, folders, names in os.walk("/run"):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in others]
        for path in (os.path.join(folder, name) for name in names):
            with suppress(OSError):
                if stat.S_ISSOCK(os.lstat(path).st_mode):
                    call("mount", "/dev/null", path, None, BIND, None)


def protect_everything() -> None:
    """Make every mount read-only."""
    set_read_only("/", True)


def set_read_only(path: str, is_read_only: bool) -> None:
    """Make the mount of a path and those beneath read-only, or writable again."""
    change = (MOUNT_READ_ONLY, 0) if is_read_only else (0, MOUNT_READ_ONLY)
    call("syscall", SET_OF_MOUNTS, 0, path, ALL_BENEATH, struct.pack("QQQQ", *change, 0, 0), 32)


def keep_writable(path: str) -> None:
    """Make a folder writable again after everything was made read-only."""
    with suppress(Refused):
        call("mount", path, path, None, BIND | RECURSIVE, None)
        set_read_only(path, False)


def protect(paths: Iterable[str]) -> None:
    """Make these folders read-only."""
    for path in paths:
        call("mount", path, path, None, BIND | RECURSIVE, None)
        flags = os.statvfs(path).f_flag
        kept = sum(flag for bit, flag in KEPT_BY_REMOUNTS if flags & bit)
        call("mount", "none", path, None, BIND | REMOUNT | READ_ONLY | kept, None)


def find_outermost(paths: Iterable[str]) -> Iterator[str]:
    """Yield the folders that lie in no other of them, without the root, on which nothing can be laid."""
    folders = {Path(path).resolve() for path in paths} - {Path("/")}
    yield from sorted(str(folder) for folder in folders if folder.is_dir() and not folders & {*folder.parents})


def list_mounts() -> Iterator[tuple[str, str]]:
    """Yield the places on which something is mounted, each with the kind of its file system."""
    with suppress(OSError):
        for line in Path("/proc/self/mountinfo").read_bytes().splitlines():
            words = line.split()
            place = words[4].decode("unicode_escape").encode("latin-1")
            yield os.fsdecode(place), os.fsdecode(words[words.index(b"-") + 1])


@contextmanager
def opened(path: str) -> Iterator[int]:
    file = os.open(path, os.O_PATH)
    try:
        yield file
    finally:
        os.close(file)


def lay_copy(path: str) -> None:
    """Lay a copy over a folder. What is written there stays in memory, and ends with the process."""
    if any(Path(path) in Path(place).parents for place, _ in list_mounts()):
        raise Refused("something is mounted in it")
    with opened(path) as original:
        mode = stat.S_IMODE(os.fstat(original).st_mode)
        call("mount", "tmpfs", path, "tmpfs", NO_SUID | NO_DEVICES, f"mode=700,{FULL_SIZE}")
        try:
            for name in ("written", "work"):
                os.mkdir(f"{path}/{name}")
            os.chmod(f"{path}/written", mode)
            with opened(f"{path}/written") as written, opened(f"{path}/work") as work:
                layers = {"lowerdir": original, "upperdir": written, "workdir": work}
                text = ",".join(f"{layer}=/proc/self/fd/{file}" for layer, file in layers.items())
                call("mount", "overlay", path, "overlay", NO_SUID | NO_DEVICES, f"{text},userxattr")
        except (Refused, OSError):
            call("umount2", path, DETACH)
            raise


@contextmanager
def shared(path: str) -> Iterator[None]:
    """Show the folder itself after this block, whatever is laid over it. Without a path there is none."""
    if not path:
        yield
        return
    with opened(path) as folder:
        yield
        call("mount", f"/proc/self/fd/{folder}", path, None, BIND, None)
        set_read_only(path, False)


# --- Landlock ---------------------------------------------------------------------------------------------------------


def find_version() -> int:
    """Return the version of Landlock that the system has, 0 if it has none."""
    try:
        return call("syscall", CREATE_RULES, None, 0, ASK_VERSION)
    except Refused:
        return 0


def list_kinds(version: int, *, is_alone: bool, has_own_network: bool) -> tuple[str, ...]:
    """Return what Landlock can forbid in this version. A rank may speak to the others."""
    wanted = {"files": True, "TCP": is_alone and not has_own_network, "signals": True, "abstract sockets": is_alone}
    return tuple(kind for kind, is_wanted in wanted.items() if is_wanted and version >= SINCE[kind])


def restrict(version: int, kinds: Collection[str], writable: Iterable[str]) -> None:
    """Forbid this process to write anywhere else, and these kinds of access."""
    if not version:
        call("syscall", CREATE_RULES, None, 0, ASK_VERSION)  # which says why
    of_files = WRITE_FILE | (TRUNCATE if version >= SINCE["truncate"] else 0)
    of_folders = of_files | CHANGE_FOLDERS | (MOVE if version >= SINCE["move"] else 0)
    scopes = sum(scope for kind, scope in SCOPES.items() if kind in kinds)
    attributes = struct.pack("QQQ", of_folders, ALL_TCP if "TCP" in kinds else 0, scopes)
    rules = call("syscall", CREATE_RULES, attributes, len(attributes), 0)
    try:
        for path in (*writable, *list_devices()):
            with suppress(OSError), opened(path) as file:
                rights = of_folders if stat.S_ISDIR(os.fstat(file).st_mode) else of_files
                call("syscall", ADD_RULE, rules, BENEATH_A_PATH, struct.pack("=Qi", rights, file), 0)
        call("syscall", RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)


def list_devices() -> Iterator[str]:
    """Yield the devices that programs write to: none that is a disk, or that controls the machine."""
    with suppress(OSError):
        yield from (x.path for x in os.scandir("/dev") if x.name in DEVICES or x.name.startswith(ACCELERATORS))
