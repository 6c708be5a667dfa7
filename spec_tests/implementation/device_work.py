"""Work that a device has under way: how the host waits for all of it, and arrays that it is still to write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

STEPS = 16  # of work that keeps a device busy for a while after the host has given it all of them
BUSY_ELEMENTS = 2**22


class DeviceUser(Protocol):
    """What these functions need of a framework."""

    place: str
    module: Any

    def native(self, array: Any, dtype: str) -> Any: ...

    def dtype_of(self, x: Any) -> str: ...


def is_on_device(framework: Any) -> bool:
    """Whether the framework makes its arrays on another device than the processor."""
    return bool(framework.place.partition(":")[0] != "cpu")


def find_wait(framework: DeviceUser) -> Callable[[], object] | None:
    """Return what waits for all work on the device, whichever stream it was given to; None if there is nothing such."""
    if not is_on_device(framework):
        return None
    kind = framework.place.partition(":")[0]
    synchronize = getattr(getattr(framework.module, kind, None), "synchronize", None)
    if synchronize is not None:
        return lambda: synchronize(framework.place)
    runtime = getattr(getattr(framework.module, kind, None), "runtime", None)
    return getattr(runtime, "deviceSynchronize", None)


def write_later(framework: DeviceUser, x: Any) -> Any:
    """Return a copy of an array that the device is yet to write, after other work, when the host goes on."""
    busy = framework.native(np.zeros(BUSY_ELEMENTS), "float32")
    for _ in range(STEPS):
        busy = busy * 1
    return x | x if framework.dtype_of(x) == "bool" else x * 1
