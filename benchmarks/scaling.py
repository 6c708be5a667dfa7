"""Measure what a call costs as its arrays grow. The suite's part must not grow faster than the work itself.

python -m benchmarks.scaling [--calls 15] [--backend numpy-cpu] [--largest 16384] [--write DIR]
python -m benchmarks.scaling --large [--calls 3] [--backend numpy-cpu]

One dimension of each operation grows; the others stay small. The verdict derives as much of the bound as it needs, and the whole
bound what is left of it. A time is the median CPU time of several calls in float32, in ms.
With --large, calls as large as those of models are measured, and what rounding and verdict cost in units of the float64 value.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from meta_tests.support.in_process import backend
from meta_tests.support.random_draw import RandomDraw
from spec_tests.bounds.expectation import Stage
from spec_tests.calls.operation import Operation
from spec_tests.implementation.backend import build_backend
from spec_tests.specification.registry import operations, specification

from .cpu_time import format_table, publish, use_one_core

GROWING = {  # operation: the dimension that grows, and the sizes of the others
    "softmax": ("n", {}), "rms_norm": ("d", {}), "layer_norm": ("d", {}), "gelu": ("d", {}),
    "linear": ("d_in", {"d_out": (8,)}), "rope": ("n", {"d_k": (8,)}),
    "scaled_dot_product_attention": ("m", {"n": (4,), "d_k": (8,), "d_v": (8,)}),
}  # fmt: skip
SMALLEST_SIZE, FACTOR = 64, 4
LARGE: dict[str, tuple[str, tuple[tuple[int, ...], ...], dict[str, Any]]] = {  # an operation, the shapes of its arrays, keywords
    "long rows": ("rms_norm", ((131_072, 64), (64,)), {"eps": 1e-5}),
    "wide rows": ("softmax", ((16, 262_144),), {"axis": -1}),
    "a long sequence": ("scaled_dot_product_attention", ((64, 64), (16_384, 64), (16_384, 64)), {}),
    "many heads": ("scaled_dot_product_attention", ((128, 64, 64),) * 3, {}),
    "a large vocabulary": ("linear", ((8, 64), (262_144, 64)), {}),
}
LARGE_STEPS = ("rounding", "backend", "oracle", "reading", "verdict")
STEPS = ("data", "conversion", "backend", "oracle", "verdict", "whole bound")


def measure_call(name: str, under_test: str, size: int, calls: int) -> dict[str, float]:
    """Return the CPU milliseconds of each step of a call whose growing dimension has this size."""
    source, (growing, others) = backend(under_test).source, GROWING[name]
    domain = {name: {growing: (size,), **others, "batch_dims": (1,)}}
    restricted = build_backend(SimpleNamespace(**{**vars(source), "domain": domain}), set(operations()))
    operation = Operation(specification(name), restricted, "float32", "fused")
    milliseconds: dict[str, list[float]] = defaultdict(list)

    def time_step(step: str, work: Callable[[], Any]) -> Any:
        start = time.process_time()
        result = work()
        milliseconds[step].append(1000 * (time.process_time() - start))
        return result

    for seed in range(calls):
        call = time_step("data", RandomDraw(operation, seed).call)
        native = time_step("conversion", partial(operation.native, call))
        answer = time_step("backend", partial(operation.run, call, native))
        time_step("oracle", partial(getattr, call, "value"))
        values, expectation = operation.values(call, answer), call.expectation("fused")
        time_step("verdict", partial(expectation.accepts, values))
        time_step("whole bound", partial(expectation.at_stage, Stage.WHOLE))
    return {step: statistics.median(times) for step, times in milliseconds.items()}


def measure_large_call(name: str, under_test: str, calls: int) -> dict[str, float]:
    """Return the CPU milliseconds of each step of a large call, the least of several."""
    spec, shapes, keywords = LARGE[name]
    operation = Operation(specification(spec), backend(under_test), "float32", "fused")
    milliseconds: dict[str, list[float]] = defaultdict(list)

    def time_step(step: str, work: Callable[[], Any]) -> Any:
        start = time.process_time()
        result = work()
        milliseconds[step].append(1000 * (time.process_time() - start))
        return result

    for seed in range(calls):
        rng = np.random.default_rng(seed)
        arrays = [rng.standard_normal(shape).astype(np.float32).astype(np.float64) for shape in shapes]
        call = time_step("rounding", partial(operation.call, *arrays, **keywords))
        answer = time_step("backend", partial(operation.run, call, operation.native(call)))
        time_step("oracle", partial(getattr, call, "value"))
        values = time_step("reading", partial(operation.values, call, answer))
        if not time_step("verdict", partial(call.expectation("fused").accepts_all, values)):
            raise RuntimeError(f"{name}: {under_test} is beyond its bound")
    return {step: min(times) for step, times in milliseconds.items()}


def tell_large(under_test: str, calls: int) -> None:
    """Print the table of the large calls."""
    rows = []
    for name, (spec, shapes, _) in LARGE.items():
        times = measure_large_call(name, under_test, calls)
        ratio = (times["rounding"] + times["verdict"]) / times["oracle"]
        sizes = " and ".join("x".join(map(str, shape)) for shape in dict.fromkeys(shapes))
        rows.append((name, f"{spec}, {sizes}", *(f"{times[step]:.1f}" for step in LARGE_STEPS), f"{ratio:.1f}"))
    title = f"CPU ms of large calls, {under_test}, float32, the least of {calls}; ratio: (rounding + verdict) / oracle"
    print(format_table(title, ("call", "", *LARGE_STEPS, "ratio"), rows), flush=True)


def compute_exponent(small: float, large: float, factor: float) -> float:
    """Return p if the time grows like size**p; `factor` is the ratio of the sizes of the two times."""
    return math.log(large / small) / math.log(factor)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=15)
    parser.add_argument("--backend", default="numpy-cpu")
    parser.add_argument("--largest", type=int, default=16_384)
    parser.add_argument("--large", action="store_true", help="measure calls as large as those of models, and write nothing")
    parser.add_argument("--write", type=Path, help="a folder for the table and its data")
    options = parser.parse_args(argv)
    use_one_core()
    if options.large:
        tell_large(options.backend, options.calls)
        return
    sizes = [size for i in range(20) if (size := SMALLEST_SIZE * FACTOR**i) <= options.largest]
    rows, data = [], {}
    for name, (growing, _) in GROWING.items():
        times = data[name] = {size: measure_call(name, options.backend, size, options.calls) for size in sizes}
        rows += [(name, f"{growing} = {size}", *(f"{times[size][step]:.3f}" for step in STEPS)) for size in sizes]
        exponents = []
        if len(sizes) > 1:
            exponents = [compute_exponent(times[sizes[-2]][step], times[sizes[-1]][step], FACTOR) for step in STEPS]
        rows.append(("", "last exponent", *(f"{exponent:.2f}" for exponent in exponents)))
    title = f"CPU ms of one call as one dimension grows, {options.backend}, float32, median of {options.calls}"
    text = format_table(title, ("operation", "", *STEPS), rows)
    publish("scaling", text, data, options.write)


if __name__ == "__main__":
    main()
