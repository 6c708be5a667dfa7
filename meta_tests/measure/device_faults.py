"""Run the suite on faults of kernels whose right sentence is written down, and count how many are explained rightly.

python -m meta_tests.measure.device_faults [NAME …] [--write]

--write writes the rows of these faults into docs/measured/device_faults.txt. Every law of the faulty operation is tried at
default effort, in one process.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from spec_tests.report.causes import state_cause

from ..support.device_faults import FAULTS
from ..support.in_process import attempt, trials_of
from ..support.paths import MEASURED

FILE = MEASURED / "device_faults.txt"
SEED = 1
ALSO_TRUE = {  # read after a first run: sentences that are true of a fault, and not the one that was written down
    "logarithm_of_few_bits": "log(sum(exp(x - m))) * 0.999932",
    "workspace_of_the_widest_call": "only in the last column",
}


@dataclass(frozen=True)
class Outcome:
    """What a run said of a fault."""

    name: str
    claims: tuple[str, ...]  # a sentence of each cause that was found
    symptoms: tuple[str, ...]  # of each other cause: what was seen, which says no reason
    errors: tuple[str, ...]  # of the suite's own

    @property
    def verdict(self) -> str:
        """Whether the right sentence is said and no other, or nothing but what was seen."""
        if self.errors:
            return "BLAMED ON THE SUITE"
        also_true = [claim for claim in self.claims if ALSO_TRUE.get(self.name, claim + " ") in claim]
        if any(not self._is_right(claim) for claim in self.claims if claim not in also_true):
            return "WRONG"
        if any(map(self._is_right, (*self.claims, *self.symptoms))):
            return "right"
        return "true but another" if also_true else "unexplained" if self.symptoms else "NOT FOUND"

    def _is_right(self, sentence: str) -> bool:
        return all(words in sentence for words in FAULTS[self.name].says)


def try_fault(name: str) -> Outcome:
    """Return what the laws of the operation say of the fault."""
    fault = FAULTS[name]
    under_test, errors = fault.backend(), list[str]()
    for test, trial in trials_of(fault.operation, under_test):
        if test.invariant.level or test.invariant.subject(trial.operation_name) != fault.operation:
            continue
        try:
            attempt(test, trial, SEED, shrink=True)
        except Exception as error:  # of the suite
            errors.append(f"{test.invariant.id_for(trial.operation_name)}: {type(error).__name__}: {error}")
        if under_test.framework.device_lost:
            break
    found: dict[bool, list[str]] = {True: [], False: []}
    for cause in under_test.causes:
        found[bool(cause.explanations or cause.shown)].append(state_cause(cause, 1).what)
    return Outcome(name, tuple(found[True]), tuple(found[False]), tuple(errors))


def describe(outcome: Outcome) -> Iterator[str]:
    """Yield the lines about a fault."""
    fault = FAULTS[outcome.name]
    yield f"{outcome.name}: {outcome.verdict}"
    yield f"  expected  {fault.operation}: {' … '.join(fault.says)}"
    yield from (f"  said      {sentence}" for sentence in outcome.claims)
    yield from (f"  seen      {sentence}" for sentence in outcome.symptoms)
    yield from (f"  error     {error}" for error in outcome.errors)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of a fault; all, if none is given")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    rows = read_rows() if options.names else {}
    for name in options.names or FAULTS:
        start = time.monotonic()
        rows[name] = "\n".join(describe(try_fault(name)))
        print(rows[name], f"\n  seconds   {time.monotonic() - start:.1f}", flush=True)
    if options.write:
        FILE.write_text("\n\n".join([summarize(rows), *(rows[name] for name in FAULTS if name in rows)]) + "\n")


def read_rows() -> dict[str, str]:
    """Return the committed rows by the names of their faults."""
    blocks = FILE.read_text().strip().split("\n\n")[1:] if FILE.exists() else []
    return {block.partition(":")[0]: block for block in blocks}


def summarize(rows: dict[str, str]) -> str:
    """Return the line that counts the verdicts."""
    verdicts = [row.partition("\n")[0].partition(": ")[2] for row in rows.values()]
    return f"{len(rows)} faults of kernels: " + ", ".join(f"{verdicts.count(v)} {v}" for v in dict.fromkeys(verdicts))


if __name__ == "__main__":
    main()
