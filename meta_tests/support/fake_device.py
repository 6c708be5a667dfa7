"""A second kind of device for PyTorch, `fake`, in a process without an accelerator; importing this module registers it.

It shows whether code treats devices as it must: NumPy cannot read its memory, tensors of two devices do not mix, there are
several ordinals, results are garbage to whoever has not waited for them, and a context can be lost. PyTorch's CPU kernels
compute. It says nothing about any real accelerator: no kernel of one runs.

To PyTorch's own code, all tensors of the device are on `fake:0`, because its backward pass has one queue for devices that are
registered from Python. So what PyTorch makes on `fake:0` for its own use goes to the board of the arguments, and a copy from
the host to `fake` goes to `fake:0`, whichever ordinal is current.

Every operator on a tensor of the device comes through `FakeTensor.__torch_dispatch__` in `fake_tensor.py`; functions that make
tensors on it come through the kernels at the end, for PyTorch's key PrivateUse1.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._pytree import tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from .fake_boards import BOARDS, FIRST, ILLEGAL_ACCESS, MACHINE, NAME, Stream, find_board
from .fake_tensor import CPU, FakeTensor, aten, copy, garbage_like, wrap


class Module:
    """`torch.fake`, with the functions that `torch.cuda` has under these names."""

    __name__ = "torch.fake"
    Stream = staticmethod(lambda device=None: find_board(device).new_stream())
    current_stream = staticmethod(lambda device=None: find_board(device).current_stream)
    synchronize = staticmethod(lambda device=None: find_board(device).synchronize())
    is_available = is_initialized = staticmethod(lambda: bool(BOARDS))
    _is_in_bad_fork = staticmethod(lambda: False)
    device_count = staticmethod(lambda: len(BOARDS))
    current_device = staticmethod(lambda: MACHINE.current)
    manual_seed_all = staticmethod(lambda seed: None)
    get_amp_supported_dtype = staticmethod(lambda: [torch.float16, torch.bfloat16])

    @staticmethod
    def set_device(device: Any) -> None:
        MACHINE.current = BOARDS.index(find_board(device))

    @staticmethod
    @contextmanager
    def stream(stream: Stream) -> Iterator[None]:
        """Give the stream what is launched in this block."""
        before, stream.board.current_stream = stream.board.current_stream, stream
        try:
            yield
        finally:
            stream.board.current_stream = before

    @staticmethod
    def set_stream(stream: Stream) -> None:
        stream.board.current_stream = stream

    @staticmethod
    def launch_out_of_bounds(x: torch.Tensor) -> torch.Tensor:
        """Run a kernel that writes beyond its memory. Like any kernel, it is under way when the call returns."""
        x.memory.board.unnoticed = ILLEGAL_ACCESS
        return torch.empty_like(x)

    @staticmethod
    def launch(kernel: Any, *tensors: torch.Tensor) -> Any:
        """Run a kernel on the current device, as a launch without a device guard does, whichever device its tensors are on."""
        board = BOARDS[MACHINE.current]
        board.check()
        y = kernel(*tensors)
        if any(x.memory.board is not board for x in tensors):
            board.unnoticed = ILLEGAL_ACCESS
            y.raw.copy_(garbage_like(y.raw))
        return y


def make(function: Any) -> Any:
    """Return the kernel of a function that makes a tensor on the device."""

    def kernel(*args: Any, device: Any = None, pin_memory: Any = None, **kwargs: Any) -> FakeTensor:
        board = find_board(device)
        board.reserve(function(*args, device="meta", **kwargs).untyped_storage().nbytes())
        x = wrap(function(*args, device=CPU, **kwargs), board, None)
        x.memory.is_adoptable = device == FIRST
        return x

    return kernel


def empty(size: Any, *, memory_format: Any = None, **kwargs: Any) -> torch.Tensor:
    return garbage_like(torch.empty(size, memory_format=memory_format or torch.contiguous_format, **kwargs))


def empty_strided(size: Any, stride: Any, **kwargs: Any) -> torch.Tensor:
    return garbage_like(torch.empty_strided(size, stride, **kwargs))


def autocast(operator: Any) -> Any:
    """Return the operator as it is under autocast: on arguments of the dtype that the context names."""

    def lower(x: Any) -> Any:
        casts = isinstance(x, torch.Tensor) and x.dtype == torch.float32
        return x.to(torch.get_autocast_dtype(NAME)) if casts else x

    def kernel(*args: Any, **kwargs: Any) -> Any:
        with torch.autocast(NAME, enabled=False):
            return operator(*tree_map(lower, args), **tree_map(lower, kwargs))

    return kernel


fake = Module()
_setup_privateuseone_for_python_backend(NAME, backend_module=fake)
_LIBRARY = torch.library.Library("aten", "IMPL")
_LIBRARY.impl("empty.memory_format", make(empty), "PrivateUse1")
_LIBRARY.impl("empty_strided", make(empty_strided), "PrivateUse1")
for _name in ("arange", "linspace", "logspace", "eye", "randperm"):
    for _overload in getattr(aten, _name).overloads():
        if not _overload.endswith("out"):
            _operator = getattr(getattr(aten, _name), _overload)
            _LIBRARY.impl(_name + ("" if _overload == "default" else f".{_overload}"), make(_operator), "PrivateUse1")
_LIBRARY.impl("_copy_from", lambda source, target, non_blocking=False: copy(target, source), "PrivateUse1")

_EVERY = torch.library.Library("_", "IMPL")
_EVERY.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
for _name in ("mm", "bmm", "matmul", "addmm", "baddbmm", "linear", "scaled_dot_product_attention"):
    _LIBRARY.impl(_name, autocast(getattr(aten, _name).default), "AutocastPrivateUse1")
