"""The frameworks of backends in other processes: what they share, and the one whose arrays are copies in messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..implementation.framework import CannotMakeArray, Foreign, as_float64, numpy_dtype
from ..implementation.printable import printable_line
from .message import ProcessArray


class ProcessFramework:
    """What the ArrayFrameworks of other processes share. The protocol says what each method does."""

    name: str
    integer = "int64"
    dtypes: tuple[str, ...]
    narrow_dtypes: tuple[str, ...] = ()  # in a message, numbers of few bits are codes
    device: str | None = None
    place: str
    version: str
    differentiates = ""
    accumulates = False
    has_states = has_transforms = False
    namespace = "numpy"
    device_facts: tuple[str, ...] = ()
    device_lost = False  # never: a process whose device is lost is replaced
    world_size = 1
    connection: Any  # to its process, or to those of all ranks

    def run_guarded(self, step: Callable[[], Any], seconds: float) -> Any:
        """Run a step here with this limit for its requests. The other process guards what the backend does."""
        self.connection.timeout_seconds = seconds
        try:
            return step()
        finally:
            self.connection.timeout_seconds = 0.0

    def call(self, function: Callable[..., Any], arrays: Any, keywords: dict[str, Any]) -> Any:
        return function(*arrays, **keywords)  # which the process calls in the way of the state

    def in_state(self, state: str, step: Callable[[], Any]) -> Any:
        raise CannotMakeArray(f"a process is in no state of a framework ({state})")

    def as_array(self, array: Any, dtype: str) -> ProcessArray:
        """Return the values as a message has them."""
        dtype = self.integer if dtype == "int64" else dtype
        with np.errstate(over="ignore"):
            return ProcessArray(dtype, np.asarray(array, dtype=numpy_dtype(dtype)))

    def lay_out(self, array: np.ndarray, dtype: str, layout: str) -> Any:
        raise NotImplementedError

    def native(self, array: Any, dtype: str) -> Any:
        return self.lay_out(np.asarray(array), dtype, "contiguous")

    def force(self, x: Any) -> Any:
        return x

    def describe_type(self, x: Any) -> str:
        return x.kind if isinstance(x, Foreign) else f"a {type(x).__name__}"

    def describe_foreign(self, x: Any) -> Any:
        return x

    def numpy(self, x: Any) -> np.ndarray:
        return as_float64(np.array(x.values))

    def of_rank(self, answer: Any, rank: int) -> Any:
        return answer


class CopyingFramework(ProcessFramework):
    """An ArrayFramework whose arrays are copied into messages: the backend gets copies, and answers with copies."""

    passes_copies = True
    place = "its process"

    def lay_out(self, array: np.ndarray, dtype: str, layout: str) -> Any:
        if layout != "contiguous":
            raise CannotMakeArray("a message has contiguous arrays alone")
        return self.as_array(np.array(array), dtype)  # a copy: nothing is sent before the call

    def describe_type(self, x: Any) -> str:
        return f"arrays named {', '.join(map(printable_line, x))}" if isinstance(x, dict) else super().describe_type(x)

    def tile(self, x: Any, copies: int) -> Any:
        return ProcessArray(x.dtype, np.concatenate([x.values] * copies))

    def is_array(self, x: Any) -> bool:
        return isinstance(x, ProcessArray)

    def dtype_of(self, x: Any) -> str:
        return str(x.dtype)

    def device_of(self, x: Any) -> str:
        return self.place

    def on_device(self, x: Any) -> bool:
        return True

    def overwrite(self, x: Any, value: Any) -> bool:
        return False
