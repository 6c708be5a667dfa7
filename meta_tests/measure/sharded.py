"""Which faults of sharded implementations are caught, and on how many ranks: python -m meta_tests.measure.sharded faults

`faults` writes docs/measured/sharded_faults.txt. Each fault is tried on 2 ranks, and on 3 and 4, and with more examples, if
it is not caught before.
`right` tries the right implementations on 1 to 4 ranks, and writes docs/measured/sharded_right.txt.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ..support.paths import DOCS
from ..support.pytest_process import Run, suite
from ..support.sharded_variants import FIRST, SECOND, VARIANTS, Variant

FOLDER = DOCS / "measured"
ATTEMPTS = ((2, "smoke"), (3, "smoke"), (4, "smoke"), (3, "default"))  # ranks and effort; on one rank most are no faults
RIGHT_SIZES = (1, 2, 3, 4)
SEED = 0
NAMING_KINDS = ("deviation", "near miss", "equation", "region")  # of causes that say what is wrong


@dataclass(frozen=True)
class Finding:
    """What became of a fault: the number of ranks, the effort, the law that failed first, and the cause that the run names."""

    variant: Variant
    world_size: int
    effort: str
    law: str = ""
    kind: str = ""
    cause: str = ""

    @property
    def words(self) -> str:
        """The row of the table."""
        caught = f"{self.law} on {self.world_size} ranks at {self.effort} effort" if self.law else "NOT CAUGHT"
        return f"{self.variant.operation}: {self.variant.name}\n    {caught}; {self.kind}: {self.cause}"


def run_variant(variant: Variant, world_size: int, effort: str = "smoke") -> Run:
    """Run the laws of the operation and of its gradient on the wrong backend, up to the first failure."""
    with tempfile.TemporaryDirectory() as folder:
        path = variant.write(Path(folder))
        laws = f"({variant.operation}. or {variant.operation}_vjp.)"
        options = (
            "--dtype=float32",
            f"--world-size={world_size}",
            f"--hypothesis-seed={SEED}",
            "--time-limit=60",
            "-x",
            f"--effort={effort}",
        )
        return suite(Path(folder), f"--backend={path.name}", *options, "-k", laws)


def find(variant: Variant) -> Finding:
    """Try the fault on more and more ranks until a law fails, at last with more examples."""
    for world_size, effort in ATTEMPTS:
        run = run_variant(variant, world_size, effort)
        assert run.code in (0, 1), run.text
        for fact in run.facts:
            if fact["status"] == "failed":
                cause = fact["causes"][0] if fact["causes"] else {"kind": "symptom", "what": fact["reason"]}
                return Finding(variant, world_size, effort, fact["id"], cause["kind"], cause["what"])
    return Finding(variant, world_size, effort)


def count_right(backend: str, world_size: int, laws: str) -> str:
    """Try a right backend in all dtypes. Return the counts of its verdicts, and what failed."""
    with tempfile.TemporaryDirectory() as folder:
        options = (f"--world-size={world_size}", f"--hypothesis-seed={SEED}", *(("-k", laws) if laws else ()))
        run = suite(Path(folder), f"--backend={backend.replace('_', '-')}", *options)
    counts = Counter(fact["status"] for fact in run.facts)
    failed = "".join(f"\n    ALARM {fact['id']} {fact['dtype']}" for fact in run.facts if fact["status"] == "failed")
    examples = sum(fact["examples"] for fact in run.facts)
    return f"{counts['passed']} laws held, {counts['failed']} failed, {examples} examples{failed}"


def measure_faults(options: argparse.Namespace) -> list[str]:
    """Try each fault. Return the lines of the file."""
    chosen = [v for v in VARIANTS if options.only in f"{v.operation}: {v.name}"]
    findings = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for finding in pool.map(find, chosen):
            print(finding.words, flush=True)
            findings.append(finding)
    caught, named = sum(bool(f.law) for f in findings), sum(f.kind in NAMING_KINDS for f in findings)
    return [
        f"{caught} of {len(findings)} faults of sharded implementations are caught; the cause of {named} is named.",
        "Each runs in float32. The law is the first that failed.",
        "",
        *(finding.words for finding in findings),
    ]


def measure_right(options: argparse.Namespace) -> list[str]:
    """Try each right implementation on each number of ranks. Return the lines of the file."""
    lines = [f"The right implementations at smoke effort in all dtypes; laws: {options.laws or 'all'}."]
    for backend in (FIRST, SECOND):
        for size in RIGHT_SIZES:
            lines.append(f"{backend.replace('_', '-')} on {size} ranks: {count_right(backend, size, options.laws)}")
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    """Measure a part, and write its file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("faults", "right"))
    parser.add_argument("--only", default="", help="a part of the name of a fault or of its operation; nothing is written")
    parser.add_argument("--laws", default="", help="the laws of the right implementations, as -k selects them (default: all)")
    parser.add_argument("--jobs", type=int, default=1, help="how many runs at the same time (default: 1)")
    options = parser.parse_args()
    lines = measure_faults(options) if options.part == "faults" else measure_right(options)
    if not options.only:
        (FOLDER / f"sharded_{options.part}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
