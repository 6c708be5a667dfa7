"""Print the scores of graded kernels, from the best to the worst: `python -m meta_tests.measure.score_orders [OPERATION …]`.

For each of five operations and three seeds, one run of `spec-tests score` judges all kernels of
`meta_tests/support/graded_kernels.py`. The order that a person would give them is that of their grades: a right one, attempts,
trivial answers. `--effort=smoke` prints the scores of the effort that takes seconds, `--seeds` those of other seeds.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from spec_tests.commands.score import judge
from spec_tests.report.score import compute_score

from ..support.graded_kernels import GRADES, SIGNATURES, Kernel, by_operation
from ..support.kept_rows import KeptRows
from ..support.paths import MEASURED

SEEDS = (1, 2, 3)
NAME_WIDTH = 38  # of the column of names, in characters


def write_kernel(folder: Path, kernel: Kernel) -> Path:
    path = folder / f"{kernel.name.replace(' ', '_')}.py"
    path.write_text(kernel.source)
    return path


def score_kernels(folder: Path, kernels: Sequence[Kernel], seed: int, effort: str) -> dict[str, float]:
    """Return the values of the scores of kernels of one operation. One run judges all, each in a process of its own."""
    operation = kernels[0].operation
    paths = [write_kernel(folder, kernel) for kernel in kernels]
    report, status = judge([str(path) for path in paths], operation, {}, effort, seed, "--spec-no-causes")

    def find_value(name: str) -> float:
        own = replace(report, verdicts=[verdict for verdict in report.verdicts if verdict.backend == name])
        return compute_score(own, operation, (), seed, status).value

    return {kernel.name: find_value(path.stem) for kernel, path in zip(kernels, paths, strict=True)}


def format_operation(operation: str, by_seed: Mapping[int, Mapping[str, float]]) -> str:
    """Return the lines of an operation: its kernels, from the best to the worst, with the score of each seed."""
    grades = {kernel.name: kernel.grade for kernel in by_operation()[operation]}
    names = sorted(grades, key=lambda name: [-by_seed[seed][name] for seed in by_seed])
    head = f"{operation:<{NAME_WIDTH}}{'grade':<10}" + "".join(f"{f'seed {seed}':>8}" for seed in by_seed)
    rows = (
        f"  {name:<{NAME_WIDTH - 2}}{GRADES[grades[name]]:<10}" + "".join(f"{by_seed[seed][name]:>8.3f}" for seed in by_seed)
        for name in names
    )
    return "\n".join((head, *rows))


def read_table() -> dict[str, dict[int, dict[str, float]]]:
    """Return the scores of the committed table, by operation, seed and kernel."""
    found: dict[str, dict[int, dict[str, float]]] = {}
    for block in (MEASURED / "score_orders.txt").read_text().strip().split("\n\n"):
        head, *rows = block.splitlines()
        seeds = list(map(int, re.findall(r"seed (\d+)", head)))
        by_seed: dict[int, dict[str, float]] = {seed: {} for seed in seeds}
        for row in rows:
            for seed, value in zip(seeds, row[NAME_WIDTH:].split()[1:], strict=True):
                by_seed[seed][row[:NAME_WIDTH].strip()] = float(value)
        found[head.split()[0]] = by_seed
    return found


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operations", nargs="*", metavar="OPERATION", default=list(SIGNATURES), help="default: all five")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--effort", default="default")
    options = parser.parse_args(None if arguments is None else list(arguments))
    kept = KeptRows("score_orders")
    for number, operation in enumerate(options.operations):
        for seed in options.seeds:
            key = f"{operation} {seed} {options.effort}"
            if key not in kept.rows:
                with tempfile.TemporaryDirectory() as folder:
                    kept.add(key, score_kernels(Path(folder), by_operation()[operation], seed, options.effort))
        by_seed = {seed: kept.rows[f"{operation} {seed} {options.effort}"] for seed in options.seeds}
        print("\n" * bool(number) + format_operation(operation, by_seed), flush=True)


if __name__ == "__main__":
    main()
