"""What --isolate costs: `python -m meta_tests.measure.isolation_cost` prints the CPU time of the same runs with it and without.

It also prints what it costs to send an array over a socket and through shared memory.
"""

from __future__ import annotations

import os
import resource
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

from ..support.paths import ROOT
from ..support.pytest_process import environment, python

RUNS = {
    "rms_norm or softmax, default effort": ("--effort=default", "-k", "rms_norm or test_softmax"),
    "scaled_dot_product_attention in float32, default effort": (
        "--effort=default", "--dtype=float32", "-k", "scaled_dot_product_attention and not vjp",
    ),
    "everything, smoke effort": ("--effort=smoke",),
}  # fmt: skip
SIZES = (1 << 10, 1 << 16, 1 << 22)
REPEATS = 2
TRIPS = 200


def cpu_seconds(*args: str) -> float:
    """Of a run and all of its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = ("-m", "pytest", "-p", "spec_tests.plugin", "-p", "no:cacheprovider", "-q", "--pyargs", "spec_tests")
    with tempfile.TemporaryDirectory() as folder:
        done = python(
            Path(folder), *words, "--backend=torch-cpu", "--hypothesis-seed=1", *args, env=environment(ROOT), timeout=None
        )
    if done.returncode:
        raise SystemExit(done.stdout)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def by_socket(channel: socket.socket, data: bytes, room: memoryview) -> None:
    channel.sendall(data)
    _receive(channel, len(data))


def by_memory(channel: socket.socket, data: bytes, room: memoryview) -> None:
    room[: len(data)] = data
    channel.sendall(b"!")
    _receive(channel, 1)
    bytes(room[: len(data)])


def _receive(channel: socket.socket, size: int) -> None:
    while size:
        size -= len(channel.recv(size))


def microseconds(way: Callable[[socket.socket, bytes, memoryview], None], size: int) -> float:
    """There and back, to a process that copies what it gets."""
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    memory = SharedMemory(create=True, size=size)
    room = memory.buf
    assert room is not None
    child = os.fork()
    if child == 0:
        for _ in range(TRIPS):
            if way is by_socket:
                _receive(theirs, size)
                theirs.sendall(bytes(size))
            else:
                _receive(theirs, 1)
                room[:size] = bytes(room[:size])
                theirs.sendall(b"!")
        os._exit(0)
    data, start = bytes(size), time.perf_counter()
    for _ in range(TRIPS):
        way(ours, data, room)
    spent = (time.perf_counter() - start) / TRIPS
    os.waitpid(child, 0)
    room.release()
    memory.close()
    memory.unlink()
    return spent * 1e6


def main() -> None:
    print(f"{'bytes there and back, in microseconds':<60}{'socket':>10}{'memory':>10}")
    for size in SIZES:
        times = (min(microseconds(way, size) for _ in range(REPEATS)) for way in (by_socket, by_memory))
        print(f"{size:<60}" + "".join(f"{one:>10.0f}" for one in times))
    print(f"\n{'torch-cpu, CPU seconds':<60}{'without':>10}{'isolated':>10}{'ratio':>8}")
    for name, args in RUNS.items():
        plain, isolated = (min(cpu_seconds(*args, *way) for _ in range(REPEATS)) for way in ((), ("--isolate",)))
        print(f"{name:<60}{plain:>10.1f}{isolated:>10.1f}{isolated / plain:>8.2f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
