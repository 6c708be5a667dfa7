"""State of the whole process that a call of the backend may change: what has changed is put back and reported.

The environment and sys.path are left alone, because libraries set them when they compile. So are the random generators,
because nothing in the suite draws from them.
"""

from __future__ import annotations

import importlib
import locale
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np

from .floating_point_mode import put_back, read_mode

RECURSION_LIMIT = sys.getrecursionlimit()
MAX_DESCRIBED_CHARACTERS = 120  # of the text that says from what to what a setting has changed
SIGNAL_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM")
FRAMEWORK_SETTING_NAMES = ("default_dtype", "default_device", "grad_enabled", "num_threads", "float32_matmul_precision")

FASTER: Mapping[str, Callable[[], Any]] = MappingProxyType(  # what says the same as a framework's function in less time
    {"torch.get_default_device": lambda: sys.modules["torch"].empty(0).device}
)

# The functions in C. Those of the module `signal` look each handler up among enums, which takes longer than all other settings.
_in_c = importlib.import_module("_signal" if "_signal" in sys.builtin_module_names else "signal")
_getsignal: Callable[[int], Any] = _in_c.getsignal
_signal: Callable[[int, Any], Any] = _in_c.signal

NAMED_HANDLERS = tuple(sorted(signal.Handlers))  # SIG_DFL is 0, SIG_IGN is 1


def get_handler(number: int) -> Any:
    """Return the handler of a signal, as `signal.getsignal` does."""
    handler = _getsignal(number)
    return NAMED_HANDLERS[handler] if isinstance(handler, int) else handler


def set_handler(number: int, handler: Any) -> Any:
    """Install the handler of a signal, and return the one before."""
    return _signal(number, int(handler) if isinstance(handler, int) else handler)


@dataclass(frozen=True)
class Setting:
    """One piece of the state of a process: how it is read and written."""

    name: str
    get: Callable[[], Any]
    set: Callable[[Any], Any]


def _get_folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # the folder was removed
        return None


def _set_folder(folder: str | None) -> None:
    if folder is not None:
        os.chdir(folder)


def _get_locale() -> str:
    return locale.setlocale(locale.LC_ALL)


PROCESS_SETTINGS = (
    Setting("NumPy's error state", np.geterr, lambda before: np.seterr(**before)),
    Setting("NumPy's print options", np.get_printoptions, lambda before: np.set_printoptions(**before)),
    Setting("the processor's floating-point mode", read_mode, put_back),
    Setting("the working directory", _get_folder, _set_folder),
    Setting("the locale", _get_locale, partial(locale.setlocale, locale.LC_ALL)),
    # A compiler may raise the recursion limit, so that only a lower one counts as a change.
    Setting("the recursion limit", lambda: min(sys.getrecursionlimit(), RECURSION_LIMIT), sys.setrecursionlimit),
    Setting("the trace function", sys.gettrace, sys.settrace),
    Setting("the profile function", sys.getprofile, sys.setprofile),
    Setting("sys.stdout", lambda: sys.stdout, partial(setattr, sys, "stdout")),
    Setting("sys.stderr", lambda: sys.stderr, partial(setattr, sys, "stderr")),
    *(
        Setting(f"the handler of {name}", partial(get_handler, number), partial(signal.signal, number))
        for name in SIGNAL_NAMES
        if (number := getattr(signal, name, None)) is not None
    ),
)


def framework_settings(*modules: ModuleType) -> tuple[Setting, ...]:
    """Return the settings of a framework that hold for the whole process, if it can both read and write them."""
    found: dict[str, Setting] = {}
    for module in modules:
        for name in FRAMEWORK_SETTING_NAMES:
            getters = (getattr(module, f"{prefix}{name}", None) for prefix in ("get_", "is_", ""))
            getter, setter = next(filter(callable, getters), None), getattr(module, f"set_{name}", None)
            getter = FASTER.get(f"{module.__name__}.get_{name}", getter)
            if getter is not None and setter is not None:
                found.setdefault(name, Setting(f"{module.__name__}'s {name}", getter, setter))
    return tuple(found.values())


def device_settings(module: Any, place: str) -> tuple[Setting, ...]:
    """Return the settings of a framework's module for a kind of device, such as torch.cuda, which decide where calls run.

    Setting a stream may set the device, so that the device is put back last.
    """
    if not all(
        callable(getattr(module, name, None)) for name in ("current_stream", "set_stream", "current_device", "set_device")
    ):
        return ()
    name = module.__name__
    return (
        Setting(f"{name}'s current stream", partial(module.current_stream, place), module.set_stream),
        Setting(f"{name}'s current device", module.current_device, module.set_device),
    )


class ProcessState:
    """The values of settings at the time when it is made."""

    def __init__(self, settings: tuple[Setting, ...] = PROCESS_SETTINGS):
        self.settings = settings
        self.values = [setting.get() for setting in settings]

    def restore(self) -> list[str]:
        """Put back each setting that has changed since, where possible, and return what has changed, in words."""
        changed: list[str] = []
        if [setting.get() for setting in self.settings] == self.values:
            return changed
        for setting, before in zip(self.settings, self.values, strict=True):
            now = setting.get()  # once more, because putting back one setting may change another
            if now is not before and now != before:
                changed.append(f"{setting.name}{_describe_difference(before, now)}")
                with suppress(Exception):  # Python cannot install a signal handler that C code installed, for example
                    setting.set(before)
        return changed


def _describe_difference(before: Any, now: Any) -> str:
    """Return " from … to …", or "" if that would be long."""
    if isinstance(before, dict) and isinstance(now, dict):
        before, now = ({key: value[key] for key in value if before.get(key) != now.get(key)} for value in (before, now))
    text = " from {} to {}".format(*(getattr(value, "__name__", None) or repr(value) for value in (before, now)))
    return text if len(text) <= MAX_DESCRIBED_CHARACTERS else ""
