"""What a call costs as it grows: does the suite's part grow as the work does, and no faster?

python -m benchmarks.scaling [--calls 15] [--backend numpy-cpu] [--largest 16384] [--write DIR]

One dimension of each operation grows, the others are small. A time is CPU ms of one call in float32, the median of several.
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

from meta_tests.support.in_process import backend
from meta_tests.support.random_draw import RandomDraw
from spec_tests.calls.operation import Operation
from spec_tests.implementation.backend import build_backend
from spec_tests.specification.registry import operations, specification

from .cpu_time import one_core, publish, table

GROWING = {  # the dimension that grows, and the others
    "softmax": ("n", {}), "rms_norm": ("d", {}), "layer_norm": ("d", {}), "gelu": ("d", {}),
    "linear": ("d_in", {"d_out": (8,)}), "rope": ("n", {"d_k": (8,)}),
    "scaled_dot_product_attention": ("m", {"n": (4,), "d_k": (8,), "d_v": (8,)}),
}  # fmt: skip
SMALLEST, FACTOR = 64, 4
STEPS = ("data", "conversion", "backend", "oracle", "bound", "verdict")


def times(name: str, under_test: str, size: int, calls: int) -> dict[str, float]:
    """CPU ms of each step of a call, the sizes given."""
    source, (growing, others) = backend(under_test).source, GROWING[name]
    domain = {name: {growing: (size,), **others, "batch_dims": (1,)}}
    restricted = build_backend(SimpleNamespace(**{**vars(source), "domain": domain}), set(operations()))
    operation = Operation(specification(name), restricted, "float32", "fused")
    spent: dict[str, list[float]] = defaultdict(list)

    def timed(step: str, work: Callable[[], Any]) -> Any:
        start = time.process_time()
        done = work()
        spent[step].append(1000 * (time.process_time() - start))
        return done

    for seed in range(calls):
        call = timed("data", RandomDraw(operation, seed).call)
        native = timed("conversion", partial(operation.native, call))
        answer = timed("backend", partial(operation.run, call, native))
        timed("oracle", partial(getattr, call, "value"))
        expectation = timed("bound", partial(call.expectation, "fused"))
        timed("verdict", partial(expectation.accepts, operation.values(call, answer)))
    return {step: statistics.median(found) for step, found in spent.items()}


def exponent(small: float, large: float, factor: float) -> float:
    """p where the time grows as the size to the power p."""
    return math.log(large / small) / math.log(factor)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=15)
    parser.add_argument("--backend", default="numpy-cpu")
    parser.add_argument("--largest", type=int, default=16_384)
    parser.add_argument("--write", type=Path, help="a folder for the table and its data")
    options = parser.parse_args(argv)
    one_core()
    sizes = [size for i in range(20) if (size := SMALLEST * FACTOR**i) <= options.largest]
    rows, data = [], {}
    for name, (growing, _) in GROWING.items():
        found = data[name] = {size: times(name, options.backend, size, options.calls) for size in sizes}
        rows += [(name, f"{growing} = {size}", *(f"{found[size][step]:.3f}" for step in STEPS)) for size in sizes]
        last = [exponent(found[sizes[-2]][step], found[sizes[-1]][step], FACTOR) for step in STEPS] if len(sizes) > 1 else []
        rows.append(("", "last exponent", *(f"{p:.2f}" for p in last)))
    title = f"CPU ms of one call as one dimension grows, {options.backend}, float32, median of {options.calls}"
    text = table(title, ("operation", "", *STEPS), rows)
    publish("scaling", text, data, options.write)


if __name__ == "__main__":
    main()
