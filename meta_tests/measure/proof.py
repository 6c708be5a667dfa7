"""What proves the suite, in figures, each with the command that prints it: python -m meta_tests.measure.proof [--write]

Half an hour on two cores. The kill matrix, from which meta_tests.measure.detection reads, is the other half.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from ..support.paths import MEASURED, ROOT

TEXT = MEASURED / "proof.txt"
COMMANDS = {
    "every deviation at smoke effort": "meta_tests.measure.kill_matrix --effort smoke",
    "every failing example, shrunk": "meta_tests.measure.kill_matrix --named --shrink",
    "two bugs at once": "meta_tests.measure.two_bugs --pairs 100",
}


def measured() -> Iterator[str]:
    """A command's last line sums it up."""
    for what, command in COMMANDS.items():
        run = subprocess.run([sys.executable, "-m", *command.split()], capture_output=True, text=True, cwd=ROOT)
        yield from (f"{what}: python -m {command}", f"  {(run.stdout.splitlines() or run.stderr.splitlines())[-1]}")


def main() -> None:
    lines = list(measured())
    print("\n".join(lines))
    if "--write" in sys.argv:
        TEXT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
