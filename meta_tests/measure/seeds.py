"""Run the README's first command with many seeds: `python -m meta_tests.measure.seeds > docs/measured/seeds.txt`.

A user's run draws other examples each time, and the tests of this project draw the same ones each time. What a rare draw shows is
seen here before a user sees it. Each row is one run of a backend at default effort with one seed: how many laws passed, and which
failed. There must be none.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from spec_tests import report

from ..support.kept_rows import KeptRows
from ..support.paths import MEASURED
from ..support.pytest_process import environment, python

BACKENDS = ("torch-cpu", "numpy-cpu")
SEEDS = (1, 2, 3)
COMMAND = ("-m", "pytest", "-q", "--color=no", "-p", "spec_tests.plugin", "-p", "no:cacheprovider", "--pyargs", "spec_tests")
ROW = re.compile(r"(\S+) +seed +(\d+): +(\d+) passed, +(\d+) failed(?:: (.+))?")


@dataclass(frozen=True)
class SeedRun:
    """What one run with one seed found."""

    backend: str
    seed: int
    passed: int
    failed: tuple[str, ...]  # laws, each with its dtype

    def __str__(self) -> str:
        laws = f": {', '.join(self.failed)}" if self.failed else ""
        return f"{self.backend:<10} seed {self.seed:>4}: {self.passed:>5} passed, {len(self.failed)} failed{laws}"


def run(backend: str, seed: int, workers: int, *options: str) -> SeedRun:
    """Run all laws that pytest's options select on a backend, in an empty folder."""
    words = (*COMMAND, f"--backend={backend}", f"--hypothesis-seed={seed}", "--hypothesis-profile=default", f"-n{workers}")
    with tempfile.TemporaryDirectory() as folder:
        done = python(Path(folder), *words, *options, "--report=kept", env=environment(), timeout=None)
        found = report.read(Path(folder, "kept"))
    if not found.complete:
        raise SystemExit(f"the run of {backend} with seed {seed} did not end: {found.ending}\n{done.stdout}{done.stderr}")
    failed = (f"{verdict.id} {verdict.dtype}" for verdict in found.verdicts if verdict.status == "failed")
    passed = sum(verdict.status == "passed" for verdict in found.verdicts)
    return SeedRun(backend, seed, passed, tuple(sorted(failed)))


def parse_row(line: str) -> SeedRun:
    """Return the run of which a line was printed."""
    row = ROW.fullmatch(line)
    assert row, f"this is no row of the table: {line}"
    return SeedRun(row[1], int(row[2]), int(row[3]), tuple(row[5].split(", ")) if row[5] else ())


def read_table() -> list[SeedRun]:
    """Return the rows of the committed table."""
    return list(map(parse_row, (MEASURED / "seeds.txt").read_text(encoding="utf-8").splitlines()))


def _measure(backends: Iterable[str], seeds: Iterable[int], workers: int) -> Iterator[SeedRun]:
    kept = KeptRows("seeds")
    for seed in seeds:
        for backend in backends:
            key = f"{backend} {seed}"
            if key not in kept.rows:
                found = run(backend, seed, workers)
                kept.add(key, [found.passed, found.failed])
            passed, failed = kept.rows[key]
            yield SeedRun(backend, seed, passed, tuple(failed))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("backends", nargs="*", metavar="BACKEND", default=BACKENDS)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    for row in _measure(options.backends, options.seeds, options.workers):
        print(row, flush=True)


if __name__ == "__main__":
    main()
