"""How a script makes an array that has a layout, or whose batch is repeated: text around the text of its buffer."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..implementation.layouts import MISALIGNED, SWAPPED, View, find_view
from .script_needs import NAN_ARRAYS

MOVED = "(lambda x: np.ndarray(x.shape, x.dtype, bytearray(1) + x.tobytes(), 1))({})"
MOVED_TENSOR = "(lambda x: torch.cat([x.new_zeros(1), x.flatten()])[1:].view(x.shape))({})"


def write_form(framework: str, x: np.ndarray, layout: str, copies: int) -> tuple[np.ndarray, str]:
    """Return the buffer of an array, and the text around that of the buffer, with "{}" in its place."""
    view = find_view(x, layout, framework)
    form = _write_view(framework, view)
    if copies > 1:
        form = f"{_name_library(framework)}.tile({form}, {(copies, *[1] * (x.ndim - 1))})"
    return view.buffer, form


def write_freed_arrays(framework: str, shape: tuple[int, ...], dtype: str, device: str | None) -> str:
    """Return the line that fills arrays with NaN and frees every second one."""
    library = _name_library(framework)
    kind = {"torch": f"torch.{dtype}", "numpy": repr(dtype)}.get(framework, f"xp.{dtype}")
    kind = "ml_dtypes.bfloat16" if (framework, dtype) == ("numpy", "bfloat16") else kind
    placement = f", device={device!r}" if framework == "torch" and device and device != "cpu" else ""
    arrays = f"[{library}.full({shape}, float('nan'), dtype={kind}{placement}) for _ in range({NAN_ARRAYS})]"
    return f"arrays = {arrays}; del arrays[::2]"


def _name_library(framework: str) -> str:
    return {"torch": "torch", "numpy": "np"}.get(framework, "xp")


def _write_view(framework: str, view: View) -> str:
    if view.order:
        permute = {"torch": "torch.permute", "numpy": "np.transpose"}.get(framework, "xp.permute_dims")
        return f"{permute}({{}}, {view.order})"
    if view.shape is not None:
        return f"{_name_library(framework)}.broadcast_to({{}}, {view.shape})"
    if view.memory == MISALIGNED:
        return MOVED_TENSOR if framework == "torch" else MOVED
    if view.memory == SWAPPED:
        return "(lambda x: x.astype(x.dtype.newbyteorder()))({})"
    if view.is_unfinished:
        return "{}.clone()" if framework == "torch" else "{}"
    if view.is_read_only:
        return f"np.broadcast_to({{}}, {view.buffer.shape})"  # which cannot be written to
    return f"{{}}[{', '.join(map(_write_index, view.index))}]" if view.index else "{}"


def _write_index(part: Any) -> str:
    """Return a part of an index as Python source."""
    if part is ...:
        return "..."
    assert isinstance(part, slice)
    ends = ("" if end is None else str(end) for end in (part.start, part.stop))
    return ":".join(ends) + (f":{part.step}" if part.step not in (None, 1) else "")
