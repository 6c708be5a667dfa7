"""The tensors of the fake device: what an operator does with them, and what a copy finds in their memory."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import return_and_correct_aliasing
from torch.utils._pytree import tree_flatten, tree_map

from .fake_boards import BOARDS, FIRST, NAME, Board, Memory, Stream, find_board

CPU = torch.device("cpu")
aten: Any = torch.ops.aten


class _LikeTensor(torch._C._TensorMeta):
    """The type of `FakeTensor`. Which memory a tensor has is no matter of its type: any tensor passes for one."""

    def __subclasscheck__(self, kind: type) -> bool:
        return torch.Tensor in kind.__mro__


class FakeTensor(torch.Tensor, metaclass=_LikeTensor):
    """A tensor whose values are in the memory of a board. `raw` holds them, and only kernels and copies look at it."""

    raw: torch.Tensor
    memory: Memory
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, raw: torch.Tensor, memory: Memory) -> FakeTensor:
        x = torch.Tensor._make_wrapper_subclass(
            cls, raw.size(), strides=raw.stride(), storage_offset=raw.storage_offset(), dtype=raw.dtype,
            device=torch.device(NAME, 0),
        )  # fmt: skip
        x.raw, x.memory = raw, memory
        return x

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        """The device of its board, which PyTorch's own code does not know."""
        return torch.device(NAME, self.get_device())

    def get_device(self) -> int:
        return BOARDS.index(self.memory.board)

    def to(self, *args: Any, copy: bool = False, **kwargs: Any) -> torch.Tensor:
        """Do what `Tensor.to` does, with the number of this tensor's device."""
        if args and isinstance(args[0], torch.Tensor):
            args = (args[0].device, args[0].dtype, *args[1:])
        device, dtype, non_blocking, _ = torch._C._nn._parse_to(*args, **kwargs)
        if device is None or (device.type == NAME and find_board(device) is self.memory.board):
            return super().to(dtype or self.dtype, copy=copy)
        if device == FIRST:
            return self.cpu().to(device, dtype)
        return aten._to_copy(self, dtype=dtype or self.dtype, device=device, non_blocking=non_blocking)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy it to the host first."
        )

    numpy = __array__

    def tolist(self) -> Any:
        return self.cpu().tolist()

    def __repr__(self, **_: Any) -> str:
        return f"tensor(..., device='{self.device}', size={tuple(self.shape)}, dtype={self.dtype})"

    @classmethod
    def __torch_dispatch__(cls, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return run(operator, args, kwargs or {})


FakeTensor.__module__ = "torch.fake"  # as the module of the device, under which PyTorch has it


def is_fake(x: Any) -> bool:
    return type(x) is FakeTensor


def run(operator: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Run an operator on the board of its arguments, or on that which `device` names."""
    if (answer := operator.decompose(*args, **kwargs)) is not NotImplemented:
        return answer  # it is made of other operators
    if operator is aten.copy_.default:
        return copy(args[0], args[1])
    if operator is aten._to_copy.default and not stays(args[0].memory.board, kwargs.get("device")):
        return move(args[0], kwargs["device"], kwargs)
    if operator is aten._fused_sdp_choice.default:
        return 0  # of its ways to compute attention, the one that is made of other operators
    flat = tree_flatten((args, kwargs))[0]
    board = check_devices(operator, [x for x in flat if isinstance(x, torch.Tensor)])
    board = find_board(kwargs["device"], board) if kwargs.get("device") else board or find_board()
    board.check()
    stream = board.current_stream
    raw_args, raw_kwargs = tree_map(lambda x: unwrap(x, stream), (args, kwargs))
    written = {
        id(x): x for x, argument in zip(args, operator._schema.arguments, strict=False)
        if is_fake(x) and argument.alias_info and argument.alias_info.is_write
    }  # fmt: skip
    raw_args = [x.raw if id(x) in written else raw for x, raw in zip(args, raw_args, strict=True)]
    answer = operator(*raw_args, **raw_kwargs)
    for x in filter(
        is_fake, (*written.values(), *(kwargs["out"] if isinstance(kwargs.get("out"), tuple) else (kwargs.get("out"),)))
    ):
        x.memory.wrote(stream)
    if not any(isinstance(x, torch.Tensor) for x in tree_flatten(answer)[0]):
        stream.synchronize()  # the host has the answer
        return answer
    source = next(
        (x for x, argument in zip(args, operator._schema.arguments, strict=False) if is_fake(x) and argument.alias_info), None
    )
    wrapped = tree_map(lambda raw: wrap(raw, board, source), answer)
    return return_and_correct_aliasing(operator, args, kwargs, wrapped)


def stays(board: Board, device: torch.device | None) -> bool:
    """Whether what is on the board is on the device."""
    return device is None or (device.type == NAME and find_board(device, board) is board)


def check_devices(operator: Any, tensors: list[torch.Tensor]) -> Board | None:
    """Return the board that all tensors are on. Numbers on the host, and the host's indices, go with any."""
    boards = {x.memory.board for x in tensors if is_fake(x) and not x.memory.is_adoptable}
    for x in tensors if len(boards) == 1 else ():
        if is_fake(x) and x.memory.is_adoptable:
            x.memory.move(*boards)
    found = {str(x.device): x for x in tensors if x.dim() or x.device.type == NAME}
    if "index" in str(operator):
        found.pop("cpu", None)
    if len(found) > 1:
        places = " and ".join(list(found)[:2])
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, {places}! ({operator})"
        )
    return next((x.memory.board for x in found.values() if is_fake(x)), None)


def unwrap(x: Any, stream: Stream) -> Any:
    """Return what the stream finds in a tensor's memory, and the CPU for a device."""
    if isinstance(x, torch.device):
        return CPU
    if not is_fake(x):
        return x
    return x.raw if stream.sees(x.memory) else garbage_like(x.raw)


def garbage_like(raw: torch.Tensor) -> torch.Tensor:
    """Return memory that nothing was written to yet."""
    return torch.full_like(raw, torch.nan if raw.is_floating_point() else 0)


def wrap(raw: Any, board: Board, source: FakeTensor | None) -> Any:
    """Return a tensor on the board, which is a view of `source` if it has the same memory."""
    if not isinstance(raw, torch.Tensor):
        return raw
    if source is not None and raw.untyped_storage().data_ptr() == source.raw.untyped_storage().data_ptr():
        with torch.inference_mode(source.is_inference()):  # as the view is to PyTorch
            return FakeTensor(raw, source.memory)
    return FakeTensor(raw, Memory(board, raw.untyped_storage().nbytes()))


def copy(target: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """Copy into a tensor, from the host, to the host, or on one board or between two. A copy to the host waits."""
    raw = receive(source, target)
    if is_fake(target):
        target.memory.wrote(stream := target.memory.board.current_stream)
        target.raw.copy_(raw)
        if not is_fake(source):
            target.memory.is_adoptable = False
            stream.board.copies["to device"] += 1
            stream.synchronize()
    else:
        target.copy_(raw)
    return target


def receive(source: torch.Tensor, target: torch.Tensor | None = None) -> torch.Tensor:
    """Return what a copy finds. One that leaves a board waits for the board's current stream, and for no other."""
    if not is_fake(source):
        return source
    stream = source.memory.board.current_stream
    if not (is_fake(target) and target.memory.board is stream.board):
        stream.synchronize()
        stream.board.copies["from device"] += 1
    return unwrap(source, stream)


def move(x: torch.Tensor, device: torch.device, kwargs: dict[str, Any]) -> torch.Tensor:
    """Copy a tensor of a board to another device. With `non_blocking`, nothing is there until somebody waits."""
    dtype = kwargs.get("dtype") or x.dtype
    if device.type == NAME:
        return wrap(receive(x).to(dtype, copy=True), find_board(device), None)
    if not kwargs.get("non_blocking"):
        return receive(x).to(dtype, copy=True)
    stream = x.memory.board.current_stream
    stream.board.copies["from device"] += 1
    values = unwrap(x, stream).to(dtype, copy=True)
    target = garbage_like(values)
    stream.launch()
    stream.arriving.append(lambda: target.copy_(values))
    return target
