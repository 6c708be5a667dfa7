"""What a framework says and does about memory: where an array lies, and what memory holds before anything is written to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import numpy as np

from .framework import Framework

SIZES = (*range(4, 132, 4), 160, 192, 256, 384, 512, 1024, 4096)  # of arrays, in elements: allocators keep memory by its size
COPIES = 8  # of each size, of which every second one is freed
OWN_TIMES = 6  # as many of the size that matters most


def find_address(x: Any) -> int | None:
    """Return the address at which the elements of an array begin, None if its framework does not tell."""
    with suppress(Exception):
        return int(x.data_ptr() if hasattr(x, "data_ptr") else x.ctypes.data if hasattr(x, "ctypes") else x.data.ptr)
    return None


def place_at(framework: Framework, array: np.ndarray, dtype: str, offset: int) -> Any:
    """Return a contiguous native array whose elements begin so many elements after the beginning of its memory."""
    buffer = framework.native(np.concatenate([np.zeros(offset), np.ravel(array)]), dtype)
    return framework.xp.reshape(buffer[offset:], array.shape)


def mark_free_memory(framework: Framework, dtype: str, size: int, mark: float) -> list[Any]:
    """Write a number to memory, and free it. Return arrays that keep the allocator from joining what was freed.

    size: of the array whose memory matters most, in elements.
    """
    base = framework.native(np.full(max(size, *SIZES), mark), dtype)
    made = [base[:n] * 1 for n in (*SIZES, *(size,) * OWN_TIMES) for _ in range(COPIES)]
    del made[::2]
    return made


@contextmanager
def _fill_with_nan(module: Any) -> Iterator[None]:
    """Let PyTorch fill memory with NaN that nothing was written to.

    The mode is set as one for debugging, since `torch.use_deterministic_algorithms` imports the compiler.
    """
    deterministic, before = module.utils.deterministic, module.get_deterministic_debug_mode()
    fills = deterministic.fill_uninitialized_memory
    module.set_deterministic_debug_mode("warn")
    deterministic.fill_uninitialized_memory = True
    try:
        yield
    finally:
        deterministic.fill_uninitialized_memory = fills
        module.set_deterministic_debug_mode(before)


def can_fill_with_nan(framework: Framework) -> bool:
    """Whether the framework fills memory with NaN where it is asked to."""
    return hasattr(getattr(getattr(framework.module, "utils", None), "deterministic", None), "fill_uninitialized_memory")


def filled_with_nan(framework: Framework) -> Any:
    """Return a context in which new memory holds NaN, if the framework can do that."""
    return _fill_with_nan(framework.module) if can_fill_with_nan(framework) else nullcontext()
