"""Measure what a call of a server in another language costs, and what a run over the wire costs beside one in process.

python -m benchmarks.servers [--times 3] [--seconds 1] [--effort default] [--write DIR]

The servers are those of examples/ whose toolchain is installed. The runs have the same C functions, one over the wire and one
through ctypes.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from meta_tests.support.servers import EXAMPLES, SERVERS
from spec_tests.processes.command import parse_command
from spec_tests.processes.connection import Connection
from spec_tests.processes.message import ProcessArray

from .cpu_time import format_table, measure_command, publish

SMALL, LARGE = (4, 8), (1024, 1024)  # shapes of float32: a call of an example, and 4 MiB each way
CTYPES_BACKEND = """
import ctypes
import pathlib

import numpy as np

framework, name, dtypes = "numpy", "student-ctypes", ("float32",)
library = ctypes.CDLL(str(pathlib.Path(__file__).with_name("student.so")))
library.rows.argtypes = [ctypes.c_char_p, *3 * [ctypes.c_void_p], ctypes.c_size_t, ctypes.c_size_t, ctypes.c_double]


def run(operation, x, weight=None, eps=0.0):
    x, y = np.ascontiguousarray(x), np.empty(x.shape, np.float32)
    weight = None if weight is None else np.ascontiguousarray(weight)
    d = x.shape[-1] if x.ndim and x.size else 1
    addresses = [None if a is None else a.ctypes.data for a in (x, weight)]
    library.rows(operation, y.ctypes.data, *addresses, x.size // d, d, eps)
    return y


def relu(x):
    return run(b"relu", x)


def softmax(x):
    return run(b"softmax", x)


def rms_norm(x, weight, *, eps):
    return run(b"rms_norm", x, weight, eps=eps)
"""
ROWS = """
#include "student.c"
void rows(const char *operation, float *y, const float *x, const float *weight, size_t n, size_t d, double eps) {
  int is_relu = !strcmp(operation, "relu"), is_softmax = !strcmp(operation, "softmax");
  for (size_t i = 0; i < n; i++, x += d, y += d)
    if (is_softmax) softmax(y, x, d);
    else if (!is_relu) rms_norm(y, x, weight, d, eps);
    else for (size_t j = 0; j < d; j++) y[j] = x[j] < 0 ? 0 : x[j];
}
"""
MEMORY_LAWS = "not inputs_unchanged and not layout_blind and not not_an_alias"  # which are not tried over the wire
LAWS = f"(relu or softmax or rms_norm) and not vjp and not log_softmax and not layer_norm and not centred and {MEMORY_LAWS}"


def time_calls(call: Callable[[], Any], seconds: float) -> float:
    """Return the median of the wall seconds of a call, of as many as fit into this time."""
    call()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def measure_server(command: str, folder: Path, seconds: float) -> dict[str, float]:
    """Return how many small calls a server answers in a second, and how many megabytes travel in one, both ways together."""
    connection = Connection(parse_command(f"process:{command}", folder))
    request = {"request": "call", "operation": "relu"}
    arrays = {shape: {"x": ProcessArray("float32", np.ones(shape, np.float32))} for shape in (SMALL, LARGE)}
    small, large = (time_calls(lambda x=x: connection.call(request, x), seconds) for x in arrays.values())  # type: ignore[misc]
    assert connection.process is not None
    connection.process.close()
    return {"calls per second": 1 / small, "MB per second": 2 * arrays[LARGE]["x"].values.nbytes / large / 1e6}


def measure_runs(folder: Path, effort: str, times: int) -> dict[str, list[float]]:
    """Return the CPU seconds of runs over the wire and in process, taken in turn."""
    source = EXAMPLES / "c"
    (folder / "rows.c").write_text(ROWS.replace("student.c", str(source / "student.c")))
    (folder / "backend.py").write_text(CTYPES_BACKEND)
    shared = ["cc", "-O2", "-shared", "-fPIC", "-Wl,--no-undefined", "-Dmain=unused_main", str(folder / "rows.c")]
    subprocess.run([*shared, "-I", str(source), "-o", str(folder / "student.so"), "-lm"], check=True)
    subprocess.run(["cc", "-O2", str(source / "student.c"), "-o", str(folder / "student"), "-lm"], check=True)
    backends = {"over the wire": "process:./student", "through ctypes": "backend.py"}
    used: dict[str, list[float]] = {kind: [] for kind in backends}
    for _ in range(times):
        for kind, backend in backends.items():
            options = ["-p", "spec_tests.plugin", "-p", "no:cacheprovider", "-q", "--pyargs", "spec_tests", "-k", LAWS]
            usage = measure_command("-m", "pytest", *options, f"--backend={backend}", f"--effort={effort}", folder=folder)
            if usage.code:
                raise RuntimeError(usage.text)
            used[kind].append(usage.cpu_seconds)
    return used


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=3, help="runs of each kind")
    parser.add_argument("--seconds", type=float, default=1.0, help="of calls of each size, to each server")
    parser.add_argument("--effort", default="default", help="of the runs")
    parser.add_argument("--write", type=Path, help="a folder for the table and its data")
    options = parser.parse_args(argv)
    rows, measured = [], {}
    for server in SERVERS:
        with tempfile.TemporaryDirectory() as name:
            if server.missing_tools:
                print(f"{server.language}: {server.missing_tools[0]} is not installed")
                continue
            command = server.command(Path(name))
            found = measured[server.language] = measure_server(command, Path(name), options.seconds)
        rows.append((server.language, f"{found['calls per second']:.0f}", f"{found['MB per second']:.0f}"))
    title = f"Calls of relu, the median of {options.seconds:g} s: {SMALL[0]} x {SMALL[1]} float32, and 4 MiB each way"
    text = format_table(title, ("server", "calls per second", "MB per second"), rows)
    with tempfile.TemporaryDirectory() as name:
        runs = measure_runs(Path(name), options.effort, options.times)
    least = {kind: min(seconds) for kind, seconds in runs.items()}
    ratio = least["over the wire"] / least["through ctypes"]
    table = [(kind, f"{min(seconds):.1f}", f"{statistics.median(seconds):.1f}") for kind, seconds in runs.items()]
    title = f"A run at {options.effort} effort of the same C functions, CPU seconds of suite and backend, {options.times} times"
    text += (
        "\n" + format_table(title, ("", "least", "median"), table) + f"\nThe run over the wire takes {ratio:.2f} times as much.\n"
    )
    publish("servers", text, {"calls": measured, "runs": runs, "ratio": ratio}, options.write)


if __name__ == "__main__":
    main()
