"""False alarms: correct implementations run against every invariant; each violation is printed, and must not be.

python -m meta_tests.alarms [BACKEND …] [--seeds 3] [--first-seed 1] [--effort default] [--dtype float32 …] [--only rms_norm]

Without names: all of meta_tests/correct, numpy-cpu and torch-cpu. Examples are drawn without Hypothesis, and what the oracle
allows for the same arguments is computed once for all backends.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import sys
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from spec_tests import effort
from spec_tests import invariant as invariants_module
from spec_tests.bounded import Bounded
from spec_tests.draw import Draw
from spec_tests.expectation import Expectation
from spec_tests.loading import Backend
from spec_tests.operation import Call, Operation
from spec_tests.tree import leaves
from spec_tests.trial import Trial
from spec_tests.violation import Violation

from .running import backend, trials
from .tightness import RandomDraw

CORRECT = Path(__file__).parent / "correct"
SHIPPED = ("numpy-cpu", "torch-cpu")


@cache
def correct() -> tuple[str, ...]:
    """What `--backend=` takes for each of meta_tests/correct: a file of functions, or a class of a file of classes."""
    names: list[str] = []
    for path in sorted(CORRECT.glob("[!_]*.py")):
        module = importlib.import_module(f"meta_tests.correct.{path.stem}")
        classes = [x for x in vars(module).values() if inspect.isclass(x) and x.__module__ == module.__name__]
        if hasattr(module, "framework"):
            names.append(module.__name__)
        names += [f"{module.__name__}:{one.__name__}" for one in classes if hasattr(one, "framework")]
    return tuple(names)


class Shared:
    """What the oracle allows, kept while several backends are given the same arguments."""

    def __init__(self) -> None:
        self.known: dict[Any, Expectation] = {}
        self.derive = Call.expect

    def expect(self, call: Call, precision: str, equation: Any = None) -> Expectation:
        key = (call.operation.name, call.operation.dtype, precision, *map(_fingerprint, leaves(call.named)))
        if key not in self.known:
            self.known[key] = self.derive(call, precision, equation)
        return self.known[key]


def _fingerprint(leaf: tuple[str, Any]) -> Any:
    name, x = leaf
    if isinstance(x, Bounded):
        return name, x.value.tobytes(), x.error.tobytes(), x.shape
    return (name, x.tobytes(), x.shape, x.dtype.str) if isinstance(x, np.ndarray) else (name, type(x), x)


@contextmanager
def drawn_from(seed: int) -> Iterator[None]:
    """Invariants draw from a generator with this seed, not from Hypothesis."""

    def draw(_: Any, operation: Operation, *, thorough: bool = False) -> Draw:
        return RandomDraw(operation, seed)

    with mock.patch.object(invariants_module, "Draw", draw):
        yield


def alarms(
    names: list[str], seeds: range, dtypes: frozenset[str] = frozenset(), only: str = ""
) -> Iterator[tuple[Backend, Trial, Any, int, BaseException | None]]:
    """Every example that is tried, and what it raised."""
    plan: dict[Any, list[tuple[Backend, Any, Trial]]] = {}
    for under_test in map(backend, names):
        for test, trial in trials(under_test):
            described = test.invariant
            if described.level is None and only in described.of(trial.subject) and (not dtypes or trial.dtype in dtypes):
                key = described.of(trial.subject), trial.dtype
                plan.setdefault(key, []).append((under_test, test, trial))
    for (name, dtype), group in plan.items():
        for seed in seeds:
            for example in range(effort.current().examples(group[0][1].cost)):
                with _sharing():
                    for under_test, test, trial in group:
                        chance = zlib.crc32(f"{name} {dtype} {seed} {example}".encode())
                        yield under_test, trial, test, seed, _tried(test, trial, chance)


@contextmanager
def _sharing() -> Iterator[None]:
    shared = Shared()
    with mock.patch.object(Call, "expect", lambda call, *arguments: shared.expect(call, *arguments)):
        yield


def _tried(test: Any, trial: Trial, chance: int) -> BaseException | None:
    trial.progress.refusals.clear()
    try:
        with drawn_from(chance):
            test.hypothesis.inner_test(trial=trial, data=mock.Mock())
    except Exception as error:
        return error
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="BACKEND", help="as after --backend=")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--effort", default="smoke", choices=tuple(effort.EFFORTS))
    parser.add_argument("--dtype", nargs="+", default=[])
    parser.add_argument("--only", default="", help="a part of the ids of the invariants to try")
    options = parser.parse_args()
    effort.choose(options.effort)
    names = options.names or [*correct(), *SHIPPED]
    examples, refused, found, start = Counter[str](), 0, Counter[tuple[str, ...]](), time.monotonic()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    for under_test, trial, test, seed, error in alarms(names, seeds, frozenset(options.dtype), options.only):
        examples[under_test.name] += 1
        refused += bool(trial.progress.refusals)
        if error is None:
            continue
        key = under_test.name, test.invariant.of(trial.subject), trial.dtype
        found[key] += 1
        if found[key] == 1:
            facts = "; ".join(f"{label} {text}" for label, text in getattr(error, "facts", []))
            print(f"{' '.join(key)} seed {seed}: {error if isinstance(error, Violation) else repr(error)} ({facts})", flush=True)
            if not isinstance(error, Violation):
                traceback.print_exception(error)
    for key, times in found.items():
        print(f"ALARM {' '.join(key)}: {times} examples")
    total = sum(examples.values())
    print(
        f"{len(names)} backends, {total} examples ({refused} refused), {sum(found.values())} alarms of {len(found)} kinds,"
        f" {time.monotonic() - start:.0f} s"
    )
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
