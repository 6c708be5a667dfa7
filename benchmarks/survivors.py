"""List the mutants that this suite does not detect.

python -m benchmarks.survivors [WHAT …] [--every 1] [--workers 2] [--write DIR]

WHAT is part of a mutant's id, such as reference_numpy/rope.py. Without it, all mutants are tried: ten minutes of CPU time.
"""

from __future__ import annotations

import argparse
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from .cpu_time import publish, use_one_core
from .equivalence import CALLS_PER_DTYPE, find_difference
from .ourselves import find_first_failure
from .wrong_implementations import WrongImplementation, list_mutants


@dataclass
class Mutant:
    """What became of one mutant."""

    id: str
    by: str  # the invariant that fails first, at default effort
    apart: str = ""  # if none fails: how far its answers are from the correct ones; empty if they have the same bits


@cache
def _mutants() -> dict[str, WrongImplementation]:
    return {mutant.id: mutant for mutant in list_mutants()}


def try_mutant(name: str) -> Mutant:
    wrong = _mutants()[name]
    failed, _ = find_first_failure(wrong, "default")
    if failed or (difference := find_difference(wrong)) is None:
        return Mutant(name, failed)
    return Mutant(name, "", f"{difference.share:.1e} of the largest number, {difference.operation}, {difference.dtype}")


def format_report(mutants: list[Mutant]) -> str:
    caught = [mutant for mutant in mutants if mutant.by]
    equivalent = [mutant for mutant in mutants if not mutant.by and not mutant.apart]
    missed = [mutant for mutant in mutants if mutant.apart]
    detectors = Counter("the comparison with the oracle" if ".reference[" in mutant.by else "a law" for mutant in caught)
    lines = [
        f"{len(caught)} of {len(mutants) - len(equivalent)} mutants that change anything are detected at default effort, seed 1"
        f" ({', '.join(f'{count} by {detector} first' for detector, count in detectors.most_common())})",
        "",
        f"{len(missed)} pass, though some answer has other bits:",
        *(f"  {mutant.id}\n      {mutant.apart}" for mutant in missed),
        "",
        f"{len(equivalent)} are equivalent: the very bits of the correct code in {2 * CALLS_PER_DTYPE} calls in every dtype:",
        *(f"  {mutant.id}" for mutant in equivalent),
    ]
    return "\n".join(lines) + "\n"


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=[""], help="parts of ids")
    parser.add_argument("--every", type=int, default=1, help="each so manieth of them")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--write", type=Path, help="a folder for the list and its data")
    options = parser.parse_args(argv)
    chosen = [name for name in _mutants() if any(part in name for part in options.what)][:: options.every]
    with ProcessPoolExecutor(options.workers, initializer=use_one_core) as pool:
        mutants = list(pool.map(try_mutant, chosen, chunksize=4))
    publish("survivors", format_report(mutants), {"mutants": [asdict(mutant) for mutant in mutants]}, options.write)


if __name__ == "__main__":
    main()
