"""How near legitimate arithmetic comes to its bound: `python -m meta_tests.tightness [examples]` prints docs/tightness.txt.

Each example is computed in three random ways (order of sums, formulas, fusing, flushing); the share is the part of the
allowed error that the worst element uses. Single operations run with 12-bit steps, so that the roundings are not lost in storage.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from spec_tests.draw import Draw
from spec_tests.expectation import expect
from spec_tests.formats import FORMATS, Arithmetic, Format
from spec_tests.operation import Operation
from spec_tests.specification import operations, specification

from .running import backend
from .simulated import simulated


class RandomDraw(Draw):
    """Draws without Hypothesis: nothing here is to be shrunk."""

    def __init__(self, operation: Operation, seed: int):
        super().__init__(None, operation)  # type: ignore[arg-type]
        self.chance, self.shape = np.random.default_rng(seed), self

    def of(self, operation: Operation) -> Draw:
        other = RandomDraw(operation, 0)
        other.chance, other.log, other.__dict__["rng"], other.__dict__["bits"] = self.chance, self.log, self.rng, self.bits
        return other

    def one_of(self, values: Iterable[Any]) -> Any:
        values = tuple(values)
        return values[int(self.chance.integers(len(values)))]

    def integer(self, low: int, high: int) -> int:
        return int(self.chance.integers(low, high, endpoint=True))


def shares(name: str, arithmetic: Arithmetic, dtype: str, examples: int) -> tuple[list[float], float]:
    """The worst share of each example and implementation, and the fraction of elements without a claim."""
    found, claims = [], []
    for seed in range(examples):
        draw = RandomDraw(Operation(specification(name), backend("numpy-cpu"), dtype, "eager"), seed)
        call = draw.call()
        expectation = expect(call.evaluate, arithmetic, arithmetic.storage, composed=call.operation.spec.composed, inexact=False)
        claims.append(np.mean(expectation.claimed) if expectation.claimed.size else 1.0)
        for way in range(3):
            share = expectation.share(simulated(call.evaluate, arithmetic, arithmetic.storage, way))
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
            ways = [
                (Arithmetic.of("float32"), "float32"),
                *((Arithmetic.of("bfloat16", p), "bfloat16") for p in ("mixed", "eager")),
            ]
        else:
            ways = [(Arithmetic(FORMATS["float64"], Format("12 bits", 12, -126, 127)), "float32")]
        for arithmetic, dtype in ways:
            found, unclaimed = shares(name, arithmetic, dtype, examples)
            label = f"{arithmetic.compute.name}" if arithmetic.storage.name != "bfloat16" else f"bfloat16 {arithmetic.precision}"
            print(f"{name:<30}{label:<20}{max(found):>8.2f}{np.median(found):>8.2f}{unclaimed:>10.1%}{len(found):>7}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
