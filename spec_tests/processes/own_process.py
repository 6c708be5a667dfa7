"""What the suite's servers for Python do with their own process. This file needs the standard library alone."""

from __future__ import annotations

import ctypes
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO


def open_channel() -> tuple[BinaryIO, BinaryIO]:
    """Return standard input and output as files for messages, which what the backend starts does not hold open.

    What is read from standard input later is empty, and what is printed goes to standard error.
    """
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, answers


def limit_memory(size: int | None) -> None:
    """Limit the bytes of the process's data. The limit is not on its address space: drivers reserve much that they never use."""
    with suppress(ImportError):  # the run has said so
        import resource

        if size is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def die_with_the_parent() -> None:
    """Have the system kill this process when its parent ends, in whatever way, and before others when memory runs out.

    This works on Linux only.
    """
    with suppress(Exception):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        Path("/proc/self/oom_score_adj").write_text("1000")
