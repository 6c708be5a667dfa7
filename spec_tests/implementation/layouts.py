"""Memory layouts: arrays of equal values, stored differently, to catch kernels that ignore strides and offsets."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from .device_work import write_later

LAYOUTS = ("contiguous", "transposed", "strided", "offset", "padded rows", "broadcast", "reversed", "read-only")
UNFINISHED = "unfinished"  # on a device: work that is under way is still to write the array

MISALIGNED, SWAPPED = "misaligned", "byte-swapped"
MEMORIES = MappingProxyType(  # places and orders of bytes that no equation demands, and the frameworks that have them
    {MISALIGNED: ("numpy", "torch"), SWAPPED: ("numpy",)}
)


class ArrayMaker(Protocol):
    """What `lay_out` needs of a framework."""

    name: str
    xp: Any
    place: str
    module: Any

    def native(self, array: Any, dtype: str) -> Any: ...

    def dtype_of(self, x: Any) -> str: ...


@dataclass(frozen=True)
class View:
    """How an array lies in a buffer, as plain data: what a framework makes of it, a script can make too."""

    buffer: np.ndarray
    index: tuple[Any, ...] = ()  # the part of the buffer that is the array
    order: tuple[int, ...] = ()  # of the buffer's axes, where they are permuted
    shape: tuple[int, ...] | None = None  # to which the buffer is broadcast
    is_read_only: bool = False
    is_unfinished: bool = False
    memory: str = ""  # one of MEMORIES


def find_view(array: np.ndarray, layout: str, framework: str) -> View:
    """Return the view that is equal to `array` and has this layout.

    Memory that belongs to the buffer but not to the array is filled with NaN, True or 0, so that a kernel that reads it
    gives wrong values. An array that cannot have the layout is the whole buffer.
    """
    ndim = array.ndim
    if ndim == 0 or layout == "contiguous" or array.size == 0:
        return View(array)
    if layout in MEMORIES:
        return View(array, memory=layout if framework in MEMORIES[layout] else "")
    poison = {"f": np.nan, "b": True}.get(array.dtype.kind, 0)

    def make_view(shape: tuple[int, ...], index: tuple[Any, ...]) -> View:
        buffer = np.full(shape, poison, dtype=array.dtype)
        buffer[index] = array
        return View(buffer, index)

    if layout == "transposed" and ndim >= 2:
        order = tuple(reversed(range(ndim)))
        return View(np.ascontiguousarray(array.transpose(order)), order=order)
    if layout == "strided":
        return make_view((*array.shape[:-1], 2 * array.shape[-1]), (..., slice(None, None, 2)))
    if layout == "offset":
        return make_view((array.shape[0] + 3, *array.shape[1:]), (slice(3, None), ...))
    if layout == "padded rows":
        return make_view((*array.shape[:-1], array.shape[-1] + 5), (..., slice(2, array.shape[-1] + 2)))
    if layout == "broadcast" and np.all(array == array.flat[0]):
        return View(np.asarray(array.flat[0]), shape=array.shape)
    if layout == "broadcast" and np.all(array == array[:1]):
        return View(array[:1], shape=array.shape)
    if layout == "reversed" and framework == "numpy":
        # Reverse every axis. A kernel that ignores strides would read reversed features backwards in x and in a weight
        # alike, and their products would still be right. The stride of a single entry stays positive: NumPy calls such an array
        # contiguous and never copies it, and PyTorch takes no negative stride.
        backwards = tuple(slice(None, None, -1 if length > 1 else 1) for length in array.shape)
        return View(array[backwards], backwards)
    return View(array, is_read_only=layout == "read-only" and framework == "numpy", is_unfinished=layout == UNFINISHED)


def lay_out(framework: ArrayMaker, array: np.ndarray, dtype: str, layout: str) -> Any:
    """Return a native array equal to `array` in this layout, as `find_view` describes it."""
    view = find_view(array, layout, framework.name)
    return apply_view(framework, framework.native(view.buffer, dtype), view)


def apply_view(framework: ArrayMaker, native: Any, view: View) -> Any:
    """Return the native array whose buffer this is."""
    if view.order:
        return framework.xp.permute_dims(native, view.order)
    if view.shape is not None:
        return framework.xp.broadcast_to(native, view.shape)
    if view.is_read_only:
        native.flags.writeable = False
    if view.is_unfinished:
        return write_later(framework, native)
    if view.memory:
        return _move(native) if view.memory == MISALIGNED else native.astype(native.dtype.newbyteorder())
    return native[view.index] if view.index else native


def _move(native: Any) -> Any:
    """Return an equal contiguous array that begins as far from a multiple of its alignment as its framework allows.

    In NumPy that is one byte, and elsewhere one element.
    """
    if isinstance(native, np.ndarray):
        moved: np.ndarray = np.ndarray(native.shape, native.dtype, bytearray(native.nbytes + 1), 1)
        moved[...] = native
        return moved
    moved_tensor = native.new_zeros(native.numel() + 1)[1:].view(native.shape)
    moved_tensor.copy_(native)
    return moved_tensor
