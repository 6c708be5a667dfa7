"""The folder of --report=DIR: one run at a time writes into it, and a report is replaced only by a whole file."""

from __future__ import annotations

import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

LOCK = "report.lock"  # holds the id of the process that writes; the file is removed at the end of the run


class FolderTaken(Exception):
    """Another run writes into the folder. The text is one sentence."""


class FolderLock:
    """Held by the run that writes into a folder.

    The system drops the lock when the process ends, in whatever way, so that a killed run leaves at most the file behind. Where
    Python has no `fcntl`, as on Windows, nothing is locked.
    """

    def __init__(self, folder: Path):
        self.path = folder / LOCK
        self.file = -1

    def acquire(self) -> None:
        """Take the lock. Raise FolderTaken if another process has it, or OSError."""
        while fcntl is not None and self.file < 0:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._is_at_path(file):  # else another run has removed it at its end
                    os.ftruncate(file, 0)
                    os.write(file, f"{os.getpid()}\n".encode())
                    self.file = file
                    os.register_at_fork(after_in_child=self._close)  # a child that outlives the run must not hold the lock
            except BlockingIOError:
                owner = os.pread(file, 32, 0).decode("ascii", errors="replace").strip()
                raise FolderTaken(f"another run{f', process {owner},' if owner.isdecimal() else ''} writes there") from None
            finally:
                if self.file != file:
                    os.close(file)

    def _is_at_path(self, file: int) -> bool:
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(file))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Remove the file and drop the lock."""
        if self.file >= 0:
            self.path.unlink(missing_ok=True)
            self._close()

    def _close(self) -> None:
        if self.file >= 0:
            os.close(self.file)
            self.file = -1


def replace_file(path: Path, text: str) -> None:
    """Write the text into a file beside `path`, and put it in the place of `path` when all of it is on the disk."""
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
