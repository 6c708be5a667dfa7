"""The boards of the fake accelerator: memory, streams, and errors that show later, as those of real accelerators do.

A board runs its kernels at once, on the CPU, and hides their results from whoever has not waited for them. Each stream has a
clock. Memory knows which stream wrote it last, and when. A stream knows up to when it has waited for each other stream, and up
to when the host has; what was written later is garbage to it.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

NAME = "fake"
FIRST = torch.device("privateuseone", 0)  # `fake:0`, before it is renamed
NUMBER_OF_BOARDS = 8
VISIBLE = "CUDA_VISIBLE_DEVICES"  # which boards there are, and in which order: the suite spreads its workers by it
ILLEGAL_ACCESS = "fake error: an illegal memory access was encountered"


class Stream:
    """A queue of kernels on one board: they run one after another, and beside those of other streams."""

    def __init__(self, board: Board):
        self.board, self.clock, self.done = board, 0, 0  # `done`: up to when the host has waited
        self.waited_for: dict[Stream, int] = {}
        self.arriving: list[Callable[[], object]] = []  # copies into the host's memory that are under way

    def launch(self) -> int:
        """Count a kernel, and return its time."""
        self.board.check()
        self.clock += 1
        return self.clock

    def wait_stream(self, other: Stream) -> None:
        """Let what this stream runs from now on begin after what the other one has been given so far."""
        for stream, clock in ((other, other.clock), *other.waited_for.items()):
            self.waited_for[stream] = max(clock, self.waited_for.get(stream, 0))

    def sees(self, memory: Memory) -> bool:
        """Whether the last write to the memory is done before what this stream runs next."""
        writer = memory.writer
        return writer is self or memory.written_at <= max(writer.done, self.waited_for.get(writer, 0))

    def synchronize(self) -> None:
        """Let the host wait until all that this stream was given is done. Raise its error, if there was one."""
        self.board.surface()
        self.done = self.clock
        for stream, clock in self.waited_for.items():
            stream.done = max(clock, stream.done)
        for arrive in self.arriving:
            arrive()
        self.arriving.clear()


class Memory:
    """What one allocation on a board is known by. Views share it."""

    is_adoptable = False  # whether PyTorch's own code may have made it, for arguments on another board

    def __init__(self, board: Board, size: int):
        board.reserve(size)
        board.used += size
        self.board = board
        weakref.finalize(self, board.free, size)
        self.wrote(board.current_stream)

    def move(self, board: Board) -> None:
        """Let another board have what was written here. It is used for what is adoptable."""
        self.board, self.is_adoptable = board, False
        self.wrote(board.current_stream)

    def wrote(self, stream: Stream) -> None:
        """Note that the stream's next kernel writes here."""
        self.writer, self.written_at = stream, stream.launch()


class Board:
    """One accelerator. Once its context is lost, every call raises, to the end of the process."""

    def __init__(self, serial: str, capacity: int = 1 << 30):
        self.serial, self.capacity, self.used = serial, capacity, 0
        self.error = self.unnoticed = ""
        self.copies: Counter[str] = Counter()  # by direction
        self.default_stream = self.current_stream = Stream(self)
        self.streams = [self.default_stream]

    def new_stream(self) -> Stream:
        self.streams.append(Stream(self))
        return self.streams[-1]

    def check(self) -> None:
        """Raise the error after which the context is lost."""
        if self.error:
            raise RuntimeError(self.error)

    def surface(self) -> None:
        """Raise the error of a kernel that ran before, as every call that waits for the board does."""
        if self.unnoticed:
            self.error = self.unnoticed
        self.check()

    def synchronize(self) -> None:
        """Let the host wait for all streams."""
        for stream in self.streams:
            stream.synchronize()

    def reserve(self, size: int) -> None:
        """Raise the error that there is not so much memory left, if there is not."""
        self.check()
        if self.used + size > self.capacity:
            asked = f"tried to allocate {size} bytes; {self.used} of {self.capacity} are in use"
            raise torch.OutOfMemoryError(f"fake out of memory: {asked}")

    def free(self, size: int) -> None:
        self.used -= size


class Machine(threading.local):
    """All boards that this process may use, in its order, and the one that is current in this thread."""

    current = 0


def _list_boards() -> tuple[Board, ...]:
    visible = os.environ.get(VISIBLE)
    serials = map(str, range(NUMBER_OF_BOARDS)) if visible is None else filter(None, map(str.strip, visible.split(",")))
    return tuple(map(Board, serials))


MACHINE, BOARDS = Machine(), _list_boards()


def find_board(device: Any = None, of_arguments: Board | None = None) -> Board:
    """Return the board of a device: the current one if it has no number, that of the arguments if PyTorch's own code asks."""
    device = torch.device(NAME, device) if isinstance(device, int) else torch.device(device or NAME)
    if of_arguments and device == FIRST:
        return of_arguments
    number = MACHINE.current if device.index is None else device.index
    if number >= len(BOARDS):
        raise RuntimeError("fake error: invalid device ordinal")
    return BOARDS[number]
