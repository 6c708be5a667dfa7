"""Measure how much of its error bound legitimate arithmetic uses: `python -m meta_tests.measure.tightness [--write] [NAME …]`.

--write puts the table into docs/measured/tightness.txt, which `meta_tests/bounds/test_tightness.py` compares with today's bounds.

Each operation and precision class has CALLS small calls. Each call is computed by ROUNDINGS random implementations, which differ
in the order of sums, in formulas, in fused steps and in flushed subnormals. The share is the part of the allowed error that the
worst element uses, and `allowed` is the largest error that is allowed in the call with the worst share. Results are not stored
at the end, so that this rounding hides no other.
The same seeds give the same calls and the same roundings, so that a share changes only with the bound, the equation or the draws.
"""

from __future__ import annotations

import argparse
import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np

from spec_tests.bounds.derivation import StagedExpectation, expect
from spec_tests.bounds.expectation import Expectation
from spec_tests.calls.call import Call
from spec_tests.calls.gradient import Gradient
from spec_tests.calls.open_choices import expect_by_choice
from spec_tests.calls.operation import Operation
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.chosen_draw import Chosen, draw_small_call
from spec_tests.specification.formats import FORMATS, PRECISIONS, Arithmetic
from spec_tests.specification.registry import gradients, operations, specification

from ..support.in_process import backend
from ..support.paths import MEASURED
from ..support.simulated_arithmetic import simulate

TIGHTNESS_TXT = MEASURED / "tightness.txt"
CALLS, ROUNDINGS = 24, 5  # of each call
EXACT_STORAGE = FORMATS["float64"]
ARITHMETIC = MappingProxyType(
    {
        "fused": Arithmetic(EXACT_STORAGE, FORMATS["float32"]),
        **{precision: Arithmetic.of("bfloat16", precision) for precision in PRECISIONS[1:]},
    }
)
NAMES = tuple(
    name
    for name in (*operations(), *gradients())
    if specification(name).precision != "exact" and specification(name).dtype is None and not specification(name).is_whole
)


@dataclass(frozen=True)
class Row:
    """The shares of one operation in one precision class, and the call and the rounding that have the worst one."""

    operation: str
    precision: str
    worst: float
    allowed: float  # the largest error that is allowed in that call
    median: float
    unclaimed: float  # the fraction of elements about which the bound claims nothing
    call: int
    rounding: int

    def line(self) -> str:
        shares = f"{self.worst:>10.4g}{self.allowed:>11.4g}{self.median:>11.4g}{self.unclaimed:>10.1%}"
        return f"{self.operation:<34}{self.precision:<7}{shares}{self.call:>6}{self.rounding:>10}"

    @staticmethod
    def parse(line: str) -> Row:
        name, precision, worst, allowed, median, unclaimed, call, rounding = line.split()
        numbers = float(worst), float(allowed), float(median), float(unclaimed.rstrip("%")) / 100
        return Row(name, precision, *numbers, int(call), int(rounding))


TITLES = f"{'operation':<34}{'class':<7}{'worst':>10}{'allowed':>11}{'median':>11}{'no claim':>10}{'call':>6}{'rounding':>10}"


def draw_call(name: str, precision: str, seed: int) -> Call | None:
    """Return the call of this number, None if the operation does not take what is drawn."""
    spec, dtype = specification(name), "float32" if precision == "fused" else "bfloat16"
    operation = (Gradient if spec.is_gradient else Operation)(spec, backend("numpy-cpu"), dtype, spec.precision)
    try:
        return draw_small_call(operation, random.Random(f"{name} {seed}"), all_arguments=seed % 3 == 0, chosen=Chosen())
    except NotImplementedVariant:
        return None


def compute(call: Call, precision: str, rounding: int, known: Expectation | None = None) -> tuple[Expectation, np.ndarray]:
    """Return the expectation of a call, and what the implementation of this number computes.

    known: the expectation, which does not depend on the implementation, unless the equation chooses entries.
    """
    arithmetic, sampled = ARITHMETIC[precision], call.operation.spec.composed
    result = simulate(call.evaluate, arithmetic, EXACT_STORAGE, rounding)
    if call.chooses:
        call.observed = result
        derive = partial(StagedExpectation, storage=EXACT_STORAGE, sampled=sampled)
        return expect_by_choice(call, call.evaluate, arithmetic, derive), result
    return known or expect(call.evaluate, arithmetic, EXACT_STORAGE, sampled=sampled), result


def measure(name: str, precision: str) -> Row:
    """Return the shares of CALLS calls, each with ROUNDINGS roundings."""
    found, claimed = list[tuple[float, int, int, float]](), []
    drawn = ((seed, call) for seed in itertools.count() if (call := draw_call(name, precision, seed)) is not None)
    for seed, call in itertools.islice(drawn, CALLS):
        expectation = None
        for rounding in range(ROUNDINGS):
            expectation, result = compute(call, precision, rounding, expectation)
            found.append((find_worst_share(expectation, result), -seed, -rounding, find_largest_error(expectation)))
        claimed.append(float(np.mean(expectation.claimed)) if expectation and expectation.claimed.size else 1.0)
    worst, seed, rounding, allowed = max(found)  # of equal ones, the first
    median = float(np.median([share for share, *_ in found]))
    return Row(name, precision, worst, allowed, median, 1 - float(np.mean(claimed)), -seed, -rounding)


def find_worst_share(expectation: Expectation, result: np.ndarray) -> float:
    return float(np.max(expectation.share(result), initial=0.0))


def find_largest_error(expectation: Expectation) -> float:
    """Return the largest error that is allowed, of the elements about which something is claimed."""
    return float(np.max(expectation.error, initial=0.0, where=expectation.claimed))


def read_rows() -> list[Row]:
    """Return the rows of the table that is stored."""
    return [Row.parse(line) for line in TIGHTNESS_TXT.read_text(encoding="utf-8").splitlines()[1:]]


def measure_all(names: tuple[str, ...]) -> Iterator[Row]:
    for name in names:
        for precision in ARITHMETIC:
            yield measure(name, precision)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m meta_tests.measure.tightness")
    parser.add_argument("names", nargs="*", metavar="NAME", help="operations or gradients; all, if none is given")
    parser.add_argument("--write", action="store_true", help="write the table of all")
    options = parser.parse_args()
    if options.write and options.names:
        parser.error("--write writes the table of all operations; leave the names out")
    lines = [TITLES]
    print(TITLES)
    for row in measure_all(tuple(options.names) or NAMES):
        lines.append(row.line())
        print(lines[-1], flush=True)
    if options.write:
        TIGHTNESS_TXT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
