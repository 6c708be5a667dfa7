"""Measure what --isolate costs: `python -m meta_tests.measure.isolation_cost` prints the CPU time of runs with and without it.

It also prints how long it takes to send an array over a socket and through shared memory.
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
ARRAY_SIZES_BYTES = (1 << 10, 1 << 16, 1 << 22)
REPEATS = 2
ROUND_TRIPS = 200


def measure_cpu_seconds(*args: str) -> float:
    """Return the CPU seconds of a run and all of its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ("-m", "pytest", "-p", "spec_tests.plugin", "-p", "no:cacheprovider", "-q", "--pyargs", "spec_tests")
    with tempfile.TemporaryDirectory() as folder:
        done = python(
            Path(folder), *command, "--backend=torch-cpu", "--hypothesis-seed=1", *args, env=environment(ROOT), timeout=None
        )
    if done.returncode:
        raise SystemExit(done.stdout)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def send_by_socket(channel: socket.socket, data: bytes, shared: memoryview) -> None:
    channel.sendall(data)
    _receive(channel, len(data))


def send_by_memory(channel: socket.socket, data: bytes, shared: memoryview) -> None:
    shared[: len(data)] = data
    channel.sendall(b"!")
    _receive(channel, 1)
    bytes(shared[: len(data)])


def _receive(channel: socket.socket, size: int) -> None:
    """Receive `size` bytes and drop them."""
    while size:
        size -= len(channel.recv(size))


def measure_round_trip(send: Callable[[socket.socket, bytes, memoryview], None], size: int) -> float:
    """Return the microseconds that bytes take to a process, which copies them, and back."""
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    memory = SharedMemory(create=True, size=size)
    shared = memory.buf
    assert shared is not None
    child = os.fork()
    if child == 0:
        for _ in range(ROUND_TRIPS):
            if send is send_by_socket:
                _receive(theirs, size)
                theirs.sendall(bytes(size))
            else:
                _receive(theirs, 1)
                shared[:size] = bytes(shared[:size])
                theirs.sendall(b"!")
        os._exit(0)
    data, start = bytes(size), time.perf_counter()
    for _ in range(ROUND_TRIPS):
        send(ours, data, shared)
    seconds = (time.perf_counter() - start) / ROUND_TRIPS
    os.waitpid(child, 0)
    shared.release()
    memory.close()
    memory.unlink()
    return seconds * 1e6


def main() -> None:
    print(f"{'bytes there and back, in microseconds':<60}{'socket':>10}{'memory':>10}")
    for size in ARRAY_SIZES_BYTES:
        times = (min(measure_round_trip(send, size) for _ in range(REPEATS)) for send in (send_by_socket, send_by_memory))
        print(f"{size:<60}" + "".join(f"{time:>10.0f}" for time in times))
    print(f"\n{'torch-cpu, CPU seconds':<60}{'without':>10}{'isolated':>10}{'ratio':>8}")
    for name, args in RUNS.items():
        plain, isolated = (min(measure_cpu_seconds(*args, *option) for _ in range(REPEATS)) for option in ((), ("--isolate",)))
        print(f"{name:<60}{plain:>10.1f}{isolated:>10.1f}{isolated / plain:>8.2f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
