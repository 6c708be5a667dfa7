"""What is common to frameworks whose arrays travel in messages: the backend gets copies, and answers with copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..implementation.framework import CannotMakeArray, as_float64, numpy_dtype
from ..implementation.printable import printable_line
from .safetensors_wire import ProcessArray


class CopyingFramework:
    """An ArrayFramework whose arrays are copied into messages. The protocol says what each method does."""

    namespace = "numpy"
    integer = "int64"
    accumulates = False
    has_states = False
    device_lost = False  # never: a process whose device is lost is replaced
    passes_copies = True
    place = "its process"

    def in_state(self, state: str, step: Callable[[], Any]) -> Any:
        raise CannotMakeArray(f"a process is in no state of a framework ({state})")

    def lay_out(self, array: np.ndarray, dtype: str, layout: str) -> Any:
        if layout != "contiguous":
            raise CannotMakeArray("a message has contiguous arrays alone")
        dtype = self.integer if dtype == "int64" else dtype
        with np.errstate(over="ignore"):
            return ProcessArray(dtype, np.array(array, dtype=numpy_dtype(dtype)))

    def native(self, array: Any, dtype: str) -> Any:
        return self.lay_out(np.asarray(array), dtype, "contiguous")

    def tile(self, x: Any, copies: int) -> Any:
        return ProcessArray(x.dtype, np.concatenate([x.values] * copies))

    def force(self, x: Any) -> Any:
        return x

    def is_array(self, x: Any) -> bool:
        return isinstance(x, ProcessArray)

    def describe_type(self, x: Any) -> str:
        return f"arrays named {', '.join(map(printable_line, x))}" if isinstance(x, dict) else f"a {type(x).__name__}"

    def describe_foreign(self, x: Any) -> Any:
        return x

    def numpy(self, x: Any) -> np.ndarray:
        return as_float64(np.array(x.values))

    def dtype_of(self, x: Any) -> str:
        return str(x.dtype)

    def device_of(self, x: Any) -> str:
        return self.place

    def on_device(self, x: Any) -> bool:
        return True

    def overwrite(self, x: Any, value: Any) -> bool:
        return False
