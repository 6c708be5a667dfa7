"""Find out that a device is lost: once its context is, nothing more works on it in this process."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from .guard import Fault
from .printable import message_of


class DeviceUser(Protocol):
    """What these functions need of a framework."""

    device_lost: bool

    def make(self, array: Any, dtype: str) -> Any: ...

    def read(self, x: Any) -> np.ndarray: ...


def is_alive(framework: DeviceUser) -> bool:
    """Whether an array can still be made and read."""
    try:
        return bool(framework.read(framework.make(np.ones(1), "float32"))[0] == 1)
    except Exception:
        return False


def lose(framework: DeviceUser, fault: Fault) -> Fault:
    """Note that the device is lost since the fault, and return the fault."""
    framework.device_lost = fault.lost = fault.device_lost = True
    fault.facts.append(("since then", "its device answers nothing more"))
    return fault


def lose_in(framework: DeviceUser, step: str, error: Exception) -> Fault:
    """Note that the device is lost since the error of a step of the suite's own, and return the fault."""
    return lose(framework, Fault(f"{step} raised {type(error).__name__}: {message_of(error)}"))
