"""Start the process of a backend through `launcher.py`, which confines it, and read what is in force."""

from __future__ import annotations

import ctypes
import json
import os
import select
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ..implementation.printable import printable_line
from ..implementation.search_path import backend_path

LAUNCHER = Path(__file__).with_name("launcher.py")
START_SECONDS = 60.0  # a safety net: a launcher that says nothing for so long has failed
TEMPORARY = "/tmp"  # the folder that programs take whatever TMPDIR says
MAX_BYTES = 1 << 16  # of what it says
IS_DUMPABLE, SET_DUMPABLE = 3, 4  # requests of prctl(2)


@dataclass(frozen=True)
class Confinement:
    """What keeps the process of a backend from others, and what this system does not allow."""

    in_force: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()

    def __str__(self) -> str:
        lacking = f"; not on this system: {', '.join(self.dropped)}" if self.dropped else ""
        return f"{', '.join(self.in_force) or 'a process of its own'}{lacking}"


NOT_ON_THIS_SYSTEM = Confinement((), ("namespaces, capabilities and privileges of Linux",))


class Launch:
    """One start of a confined process. `command` is run in place of the backend's, and `inherited` is a descriptor for it.

    `shared` is the folder by which the ranks find each other, "" for a process that is no rank.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], folder: Path, *, shared: str = ""):
        self.told, self.inherited = os.pipe()
        options = {
            "environment": dict(environment),
            "protected": list_protected(),
            "needed": [str(folder), *backend_path()],
            "writable": list_writable(folder),
            "shared": shared,
        }
        words = [sys.executable, "-I", "-S", str(LAUNCHER), str(self.inherited), json.dumps(options)]
        self.command = [*words, *command]

    def read(self) -> Confinement:
        """Return what the launcher says of the process, after it was started. It says it before any code of the backend runs."""
        os.close(self.inherited)
        text = b""
        with open(self.told, "rb", buffering=0) as file:
            while len(text) < MAX_BYTES and select.select([file], [], [], START_SECONDS)[0] and (part := file.read(MAX_BYTES)):
                text += part
        try:
            in_force, dropped = json.loads(text)
        except ValueError:
            return Confinement((), ("the launcher has failed",))
        return Confinement(tuple(map(printable_line, in_force)), tuple(map(printable_line, dropped)))


def list_protected() -> list[str]:
    """Return the folders from which this process may import, which a confined process cannot write to."""
    places = [sys.prefix, sys.base_prefix, *sys.path, str(LAUNCHER.parents[2])]
    return list(dict.fromkeys(str(path) for place in places if place and (path := Path(place).resolve()).is_dir()))


def list_writable(folder: Path) -> list[str]:
    """Return the folders that a confined process may write to: its own, those of temporary files, and the user's, for caches."""
    places = (folder, tempfile.gettempdir(), TEMPORARY, Path("~").expanduser())
    return list(dict.fromkeys(str(path) for place in places if (path := Path(place).resolve()).is_dir() and path != Path("/")))


@contextmanager
def hidden_from_others() -> Iterator[None]:
    """Keep processes of the same user from this one's memory, descriptors and environment, in a block. This works on Linux."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None) if sys.platform == "linux" else None
    if prctl is None:
        yield
        return
    before = prctl(IS_DUMPABLE, 0, 0, 0, 0)
    with suppress(OSError):
        prctl(SET_DUMPABLE, 0, 0, 0, 0)
    try:
        yield
    finally:
        prctl(SET_DUMPABLE, before, 0, 0, 0)
