"""Memory layouts: arrays of equal values, stored differently, to catch kernels that ignore strides and offsets."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

LAYOUTS = ("contiguous", "transposed", "strided", "offset", "padded rows", "broadcast", "reversed", "read-only")


class ArrayMaker(Protocol):
    """What `lay_out` needs of a framework."""

    name: str
    xp: Any

    def native(self, array: Any, dtype: str) -> Any: ...


def lay_out(framework: ArrayMaker, array: np.ndarray, dtype: str, layout: str) -> Any:
    """Return a native array equal to `array` in this layout.

    Memory that belongs to the buffer but not to the array is filled with NaN, True or 0, so that a kernel that reads it
    gives wrong values. An array that cannot have the layout is made contiguous.
    """
    xp, ndim = framework.xp, array.ndim
    poison = {"f": np.nan, "b": True}.get(array.dtype.kind, 0)

    def make_view(shape: tuple[int, ...], index: tuple[Any, ...]) -> Any:
        buffer = np.full(shape, poison, dtype=array.dtype)
        buffer[index] = array
        return framework.native(buffer, dtype)[index]

    if ndim == 0 or layout == "contiguous" or array.size == 0:
        return framework.native(array, dtype)
    if layout == "transposed" and ndim >= 2:
        order = tuple(reversed(range(ndim)))
        return xp.permute_dims(framework.native(np.ascontiguousarray(array.transpose(order)), dtype), order)
    if layout == "strided":
        return make_view((*array.shape[:-1], 2 * array.shape[-1]), (..., slice(None, None, 2)))
    if layout == "offset":
        return make_view((array.shape[0] + 3, *array.shape[1:]), (slice(3, None), ...))
    if layout == "padded rows":
        return make_view((*array.shape[:-1], array.shape[-1] + 5), (..., slice(2, array.shape[-1] + 2)))
    if layout == "broadcast" and np.all(array == array.flat[0]):
        return xp.broadcast_to(framework.native(array.flat[0], dtype), array.shape)
    if layout == "broadcast" and np.all(array == array[:1]):
        return xp.broadcast_to(framework.native(array[:1], dtype), array.shape)
    if layout == "reversed" and framework.name == "numpy":
        # Reverse every axis. A kernel that ignores strides would read reversed features backwards in x and in a weight
        # alike, and their products would still be right. The stride of a single entry stays positive: NumPy calls such an array
        # contiguous and never copies it, and PyTorch takes no negative stride.
        backwards = tuple(slice(None, None, -1 if length > 1 else 1) for length in array.shape)
        return framework.native(array[backwards], dtype)[backwards]
    if layout == "read-only" and framework.name == "numpy":
        native = framework.native(array, dtype)
        native.flags.writeable = False
        return native
    return framework.native(array, dtype)
