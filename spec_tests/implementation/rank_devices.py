"""Arrays that lie on several devices of one process: where they are, and what the device of each rank holds of them."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np


class DeviceRanks(Protocol):
    """What these functions need of a framework."""

    world_size: int
    place: str

    def stored(self, x: Any) -> np.ndarray: ...


def device_of(framework: DeviceRanks, x: Any) -> str:
    """Return the device of an array, as the framework writes it.

    Where devices are the ranks of a backend, an array that lies on several of them counts as on the one where arrays are made,
    if that is one of them.
    """
    places = {str(device) for device in x.devices()} if hasattr(x, "addressable_shards") else set()
    if len(places) == 1:  # also of an array that is cut for a mesh of one device
        return places.pop()
    if framework.world_size > 1 and framework.place in places:
        return framework.place
    return str(getattr(x, "device", "cpu"))


def read_ranks(framework: DeviceRanks, x: Any, values: np.ndarray) -> list[np.ndarray]:
    """Return the values of an array as each device has them: its own copy of the part that it holds, and `values` elsewhere.

    Of an array that each device holds whole, the copies may differ. Return [] for an array without shards.
    """
    found = []
    for shard in sorted(getattr(x, "addressable_shards", ()), key=lambda shard: shard.device.id):
        seen = np.array(values)
        seen[shard.index] = framework.stored(shard.data)
        found.append(seen)
    return found
