"""False alarms: run correct implementations against every invariant, and print each violation. There must be none.

python -m meta_tests.measure.false_alarms [BACKEND …] [--seeds 3] [--first-seed 1] [--effort default] [--dtype float32 …]
[--only rms_norm. …] [--write]

Without names: all of meta_tests/backends/correct, numpy-cpu and torch-cpu. Examples are drawn without Hypothesis, and the bound
of one call is computed once for all backends. --write records the number of examples and of alarms for each operation in
docs/measured/false_alarms.json, which meta_tests.measure.detection reads.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import itertools
import json
import os
import sys
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from spec_tests.bounds.bounded import Bounded
from spec_tests.bounds.expectation import Expectation
from spec_tests.calls.call import Call
from spec_tests.calls.violation import Violation
from spec_tests.implementation.backend import Backend
from spec_tests.inputs import effort
from spec_tests.specification.pytree import leaves
from spec_tests.specification.run_settings import RunSettings, set_settings
from spec_tests.trials.invariant import Invariant
from spec_tests.trials.trial import GENERAL, Trial

from ..support.in_process import backend, trials
from ..support.kept_rows import KeptRows
from ..support.paths import BACKENDS, MEASURED
from ..support.random_draw import RandomSource

CORRECT_FILES = sorted((BACKENDS / "correct").glob("[!_]*.py"))
SHIPPED_BACKENDS = ("numpy-cpu", "torch-cpu")
FALSE_ALARMS_JSON = MEASURED / "false_alarms.json"
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")  # with AMX, PyTorch reads beyond rows: docs/findings/torch.md


def list_styles(path: Path) -> list[str]:
    """Return the --backend name of each style of a file. A style is a class with a docstring and a framework."""
    module = importlib.import_module(f"meta_tests.backends.correct.{path.stem}")
    classes = (x for x in vars(module).values() if inspect.isclass(x) and x.__module__ == module.__name__)
    return [f"{module.__name__}:{style.__name__}" for style in classes if hasattr(style, "framework") and style.__doc__]


class ExpectationCache:
    """Expectations of calls, shared by the backends that get the same arguments under the same conventions."""

    def __init__(self) -> None:
        self.expectations: dict[Any, Expectation] = {}
        self.derive = Call.expect

    def expect(self, call: Call, precision: str, equation: Any = None) -> Expectation:
        declaration = call.operation.spec.declaration
        if equation is not None or declaration.chooses or declaration.judged_at:  # another equation, or what one backend answered
            return self.derive(call, precision, equation)
        stated = (*call.conventions.items(), *((name, found.name) for name, found in call.formats.items()))
        key = (call.operation.name, call.operation.dtype, precision, stated, *map(_fingerprint, leaves(call.named)))
        if key not in self.expectations:
            self.expectations[key] = self.derive(call, precision, equation)
        return self.expectations[key]


def _fingerprint(leaf: tuple[str, Any]) -> Any:
    name, x = leaf
    if isinstance(x, Bounded):
        return name, x.value.tobytes(), x.error.tobytes(), x.shape
    return (name, x.tobytes(), x.shape, x.dtype.str) if isinstance(x, np.ndarray) else (name, type(x), x)


@dataclass
class Attempt:
    """One example of one invariant on one backend, and the exception that it raised, if any."""

    backend: str
    invariant: str
    dtype: str
    seed: int
    refused: bool
    error: Exception | None

    def __str__(self) -> str:
        facts = "; ".join(f"{label} {text}" for label, text in getattr(self.error, "facts", []))
        error = self.error if isinstance(self.error, Violation) else repr(self.error)
        return f"{self.backend} {self.invariant} {self.dtype} seed {self.seed}: {error} ({facts})"


def run_examples(
    names: Iterable[str],
    seeds: Iterable[int],
    dtypes: frozenset[str] = frozenset(),
    only: tuple[str, ...] = ("",),
    *,
    thin: bool = False,
    is_tried: Callable[[Invariant], bool] = lambda described: True,
    without: Collection[str] = (),
) -> Iterator[Attempt]:
    """Run the invariants whose ids begin with one of `only` on the backends, one operation after the other.

    The operations `without` are left out. With `thin`, run one example, in one dtype only.
    """
    plan: dict[tuple[str, str], list[tuple[Any, Trial]]] = {}
    for under_test in map(backend, names):
        for test, trial in trials(under_test, about=lambda law, of=under_test: is_tried(law) and _implements(of, law)):
            described, name = test.invariant, test.invariant.id_for(trial.operation_name)
            if _skips_gradient(under_test, trial.operation_name or described.operations[0]):
                continue
            is_chosen = name.startswith(only) and _operation_of(name) not in without
            if described.level is None and is_chosen and (not dtypes or trial.dtype in dtypes):
                plan.setdefault((name, trial.dtype), []).append((test, trial))
    for name, dtype in sorted(plan, key=lambda key: _operation_of(key[0])):
        group = plan.pop((name, dtype))  # frees the memory of the trials after their last example
        for seed in seeds:
            for example in range(1 if thin else group[0][1].max_examples):
                with _sharing_expectations():
                    for test, trial in group:
                        if not thin or _is_chosen(trial, name, seed):
                            yield _run_example(test, trial, f"{name} {dtype} {seed} {example}", seed)


def _operation_of(law: str) -> str:
    return law.partition(".")[0]


def _implements(under_test: Backend, described: Invariant) -> bool:
    return all(name in GENERAL or under_test.has(name) for name in described.operations)


def _skips_gradient(under_test: Backend, operation: str) -> bool:
    """Whether the gradient of an operation is left out.

    Styles state `forward_only`, as True or as a list of operations, if their values are right but differentiating their code is
    not. For example, an exponential overflows on the way and gives NaN, a maximum with ties passes half of the cotangent to each,
    |x| passes none at 0, a quotient's gradient is subnormal, or the kernel refuses to be differentiated.
    """
    forward_only = getattr(under_test.source, "forward_only", ())
    return operation.endswith("_vjp") and (forward_only is True or operation.removesuffix("_vjp") in forward_only)


def _is_chosen(trial: Trial, name: str, seed: int) -> bool:
    """Whether the trial's dtype is the one that `thin` tries of this backend, invariant and seed."""
    dtypes = [trial.dtype] if trial.dtype not in trial.backend.dtypes else list(trial.backend.dtypes)
    return dtypes[zlib.crc32(f"{trial.backend.name} {name} {seed}".encode()) % len(dtypes)] == trial.dtype


@contextmanager
def _sharing_expectations() -> Iterator[None]:
    shared = ExpectationCache()
    with mock.patch.object(Call, "expect", lambda call, *arguments: shared.expect(call, *arguments)):
        yield


def _run_example(test: Any, trial: Trial, example_id: str, seed: int) -> Attempt:
    trial.tally.refusals.clear()
    raised = None
    try:
        test.replay(trial, RandomSource(zlib.crc32(example_id.encode())))
    except Exception as error:
        raised = error
    name = test.invariant.id_for(trial.operation_name)
    return Attempt(trial.backend.name, name, trial.dtype, seed, bool(trial.tally.refusals), raised)


def count_attempts(attempts: Iterable[Attempt]) -> dict[str, Any]:
    """Print each kind of alarm once, and return the counts as they are kept: alarms by backend, invariant and dtype."""
    examples, refused, alarms = 0, 0, Counter[str]()
    for attempt in attempts:
        examples, refused = examples + 1, refused + attempt.refused
        if attempt.error is None:
            continue
        kind = f"{attempt.backend} {attempt.invariant} {attempt.dtype}"
        alarms[kind] += 1
        if alarms[kind] == 1:
            print(attempt, flush=True)
            if not isinstance(attempt.error, Violation):
                traceback.print_exception(attempt.error)
    return {"examples": examples, "refused": refused, "alarms": alarms}


def write(run: str, rows: dict[str, Any]) -> None:
    """Write the counts so far. They replace those of an earlier run with these seeds, operation by operation."""
    runs = json.loads(FALSE_ALARMS_JSON.read_text()) if FALSE_ALARMS_JSON.exists() else {}
    counts = {name: {"examples": row["examples"], "alarms": sum(row["alarms"].values())} for name, row in rows.items()}
    runs[run] = dict(sorted((runs.get(run, {}) | counts).items()))
    FALSE_ALARMS_JSON.write_text(json.dumps(runs, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="BACKEND", help="as after --backend=")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--effort", default="smoke", choices=tuple(effort.EFFORTS))
    parser.add_argument("--dtype", nargs="+", default=[])
    parser.add_argument("--only", nargs="+", default=[""], help="how the ids of the invariants to try begin")
    parser.add_argument("--write", action="store_true", help="into docs/measured/false_alarms.json")
    options = parser.parse_args()
    set_settings(RunSettings(options.effort))
    names = options.names or [*itertools.chain(*map(list_styles, CORRECT_FILES)), *SHIPPED_BACKENDS]
    start, seeds = time.monotonic(), range(options.first_seed, options.first_seed + options.seeds)
    run = f"{options.effort} effort, seeds {seeds[0]} to {seeds[-1]}"
    kept = KeptRows(" ".join(["false_alarms", run, *options.names, *options.dtype, *options.only]))
    attempts = run_examples(names, seeds, frozenset(options.dtype), tuple(options.only), without={*kept.rows})
    for operation, of_one in itertools.groupby(attempts, key=lambda attempt: _operation_of(attempt.invariant)):
        kept.add(operation, count_attempts(of_one))
        if options.write:
            write(run, kept.rows)
    examples, refused = (sum(row[field] for row in kept.rows.values()) for field in ("examples", "refused"))
    found = Counter[str]()
    for row in kept.rows.values():
        found.update(row["alarms"])
    for kind, times in found.items():
        print(f"ALARM {kind}: {times} examples")
    alarms = f"{found.total()} alarms of {len(found)} kinds"
    print(f"{len(names)} backends, {examples} examples ({refused} refused), {alarms}, {time.monotonic() - start:.0f} s")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
