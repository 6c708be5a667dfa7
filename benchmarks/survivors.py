"""Which of all mutants this suite lets pass: the bugs to learn from.

python -m benchmarks.survivors [WHAT …] [--every 1] [--workers 2] [--write DIR]

WHAT is part of a mutant's id, such as reference_numpy/rope.py; all mutants, if none is given: ten minutes of CPU time.
"""

from __future__ import annotations

import argparse
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from .cpu_time import one_core, publish
from .equivalence import DRAWN, difference
from .ourselves import first_failure
from .wrong_implementations import Subject, by_machine


@dataclass
class Mutant:
    id: str
    by: str  # the invariant that fails first, at default effort
    apart: str = ""  # of one that passes: how far its answers come to be from the right ones; nothing if never


@cache
def _mutants() -> dict[str, Subject]:
    return {one.id: one for one in by_machine()}


def tried(name: str) -> Mutant:
    subject = _mutants()[name]
    failed, _ = first_failure(subject, "default")
    found = None if failed else difference(subject)
    return Mutant(name, failed, f"{found.share:.1e} of the largest number, {found.operation}, {found.dtype}" if found else "")


def report(mutants: list[Mutant]) -> str:
    caught, equal = [one for one in mutants if one.by], [one for one in mutants if not one.by and not one.apart]
    missed = [one for one in mutants if one.apart]
    laws = Counter("the comparison with the oracle" if ".reference[" in one.by else "a law" for one in caught)
    lines = [
        f"{len(caught)} of {len(mutants) - len(equal)} mutants that change anything are detected at default effort, seed 1"
        f" ({', '.join(f'{count} by {what} first' for what, count in laws.most_common())})",
        "",
        f"{len(missed)} pass, though some answer has other bits:",
        *(f"  {one.id}\n      {one.apart}" for one in missed),
        "",
        f"{len(equal)} are equivalent: the very bits of the correct code in {2 * DRAWN} calls in every dtype:",
        *(f"  {one.id}" for one in equal),
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
    with ProcessPoolExecutor(options.workers, initializer=one_core) as pool:
        mutants = list(pool.map(tried, chosen, chunksize=4))
    publish("survivors", report(mutants), {"mutants": [asdict(one) for one in mutants]}, options.write)


if __name__ == "__main__":
    main()
