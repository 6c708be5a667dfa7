"""The state that a process shares with whatever is called in it: what a call has changed is put back, and told.

The environment, sys.path and the random generators are left alone: libraries set the first two when they compile, and nothing
of the suite draws from the last.
"""

from __future__ import annotations

import locale
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

DEPTH = sys.getrecursionlimit()
MAX_DESCRIBED_CHARACTERS = 120  # characters of what a piece was and is
SIGNALS = ("SIGINT", "SIGTERM", "SIGALRM")
SETTINGS = ("default_dtype", "default_device", "grad_enabled", "num_threads", "float32_matmul_precision")  # of a framework


@dataclass(frozen=True)
class Setting:
    name: str
    get: Callable[[], Any]
    put: Callable[[Any], Any]


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return None


def _enter(folder: str | None) -> None:
    if folder is not None:
        os.chdir(folder)


def _locale() -> str:
    return locale.setlocale(locale.LC_ALL)


PROCESS = (
    Setting("NumPy's error state", np.geterr, lambda was: np.seterr(**was)),
    Setting("NumPy's print options", np.get_printoptions, lambda was: np.set_printoptions(**was)),
    Setting("the working directory", _folder, _enter),
    Setting("the locale", _locale, partial(locale.setlocale, locale.LC_ALL)),
    Setting("the recursion limit", lambda: min(sys.getrecursionlimit(), DEPTH), sys.setrecursionlimit),  # compilers raise it
    Setting("the trace function", sys.gettrace, sys.settrace),
    Setting("the profile function", sys.getprofile, sys.setprofile),
    Setting("sys.stdout", lambda: sys.stdout, partial(setattr, sys, "stdout")),
    Setting("sys.stderr", lambda: sys.stderr, partial(setattr, sys, "stderr")),
    *(
        Setting(f"the handler of {name}", partial(signal.getsignal, number), partial(signal.signal, number))
        for name in SIGNALS
        if (number := getattr(signal, name, None)) is not None
    ),
)


def framework_settings(*modules: ModuleType) -> tuple[Setting, ...]:
    """What a framework lets one set for all of a process, and tells again."""
    found: dict[str, Setting] = {}
    for module in modules:
        for name in SETTINGS:
            get = next(filter(callable, (getattr(module, f"{start}{name}", None) for start in ("get_", "is_", ""))), None)
            put = getattr(module, f"set_{name}", None)
            if get is not None and put is not None:
                found.setdefault(name, Setting(f"{module.__name__}'s {name}", get, put))
    return tuple(found.values())


class ProcessState:
    def __init__(self, pieces: tuple[Setting, ...] = PROCESS):
        self.pieces = pieces
        self.before = [piece.get() for piece in pieces]

    def restore(self) -> list[str]:
        """What has changed since, in words; it is as it was again, where it can be."""
        changed = []
        for piece, was in zip(self.pieces, self.before, strict=True):
            now = piece.get()
            if now is not was and now != was:
                changed.append(f"{piece.name}{_difference(was, now)}")
                with suppress(Exception):  # a handler that C installed, say, is out of Python's reach
                    piece.put(was)
        return changed


def _difference(was: Any, now: Any) -> str:
    if isinstance(was, dict) and isinstance(now, dict):
        was, now = ({key: value[key] for key in value if was.get(key) != now.get(key)} for value in (was, now))
    text = " from {} to {}".format(*(getattr(value, "__name__", None) or repr(value) for value in (was, now)))
    return text if len(text) <= MAX_DESCRIBED_CHARACTERS else ""
