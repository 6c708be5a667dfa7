"""Measure how much of its error bound legitimate arithmetic uses: `python -m meta_tests.measure.tightness [examples]`.

The output is docs/measured/tightness.txt.

Each example is computed by three random implementations, which differ in the order of sums, in formulas, in fused steps and in
flushed subnormals. The share is the part of the allowed error that the worst element uses. Single operations are computed with
steps of 12 bits, so that storing the result does not hide their rounding errors.
"""

from __future__ import annotations

import sys

import numpy as np

from meta_tests.support.random_draw import RandomDraw
from spec_tests.bounds.derivation import expect
from spec_tests.calls.operation import Operation
from spec_tests.specification.formats import FORMATS, Arithmetic, Format
from spec_tests.specification.registry import operations, specification

from ..support.in_process import backend
from ..support.simulated_arithmetic import simulate


def measure_shares(name: str, arithmetic: Arithmetic, dtype: str, examples: int) -> tuple[list[float], float]:
    """Return the worst share of each example and implementation, and the fraction of elements without a claim."""
    found, claims = [], []
    for seed in range(examples):
        draw = RandomDraw(Operation(specification(name), backend("numpy-cpu"), dtype, "eager"), seed)
        call = draw.call()
        expectation = expect(call.evaluate, arithmetic, arithmetic.storage, sampled=call.operation.spec.composed)
        claims.append(np.mean(expectation.claimed) if expectation.claimed.size else 1.0)
        for implementation in range(3):
            share = expectation.share(simulate(call.evaluate, arithmetic, arithmetic.storage, implementation))
            if share.size:
                found.append(float(np.max(share)))
    return found, 1 - float(np.mean(claims))


def main(examples: int = 60) -> None:
    print(f"{'operation':<30}{'arithmetic':<20}{'worst':>8}{'median':>8}{'no claim':>10}{'runs':>7}")
    for name in operations():
        spec = specification(name)
        if spec.precision == "exact" or spec.dtype:
            continue
        if spec.composed:
            formats = [
                (Arithmetic.of("float32"), "float32"),
                *((Arithmetic.of("bfloat16", p), "bfloat16") for p in ("mixed", "eager")),
            ]
        else:
            formats = [(Arithmetic(FORMATS["float64"], Format("12 bits", 12, -126, 127)), "float32")]
        for arithmetic, dtype in formats:
            found, unclaimed = measure_shares(name, arithmetic, dtype, examples)
            label = f"{arithmetic.compute.name}" if arithmetic.storage.name != "bfloat16" else f"bfloat16 {arithmetic.precision}"
            print(f"{name:<30}{label:<20}{max(found):>8.2f}{np.median(found):>8.2f}{unclaimed:>10.1%}{len(found):>7}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
