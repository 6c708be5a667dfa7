"""Print the figures that prove the suite, each with the command that prints it: python -m meta_tests.measure.proof [--write]

This takes half an hour on two cores. The kill matrix, which meta_tests.measure.detection reads, takes another half.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from ..support.paths import MEASURED, ROOT

PROOF_TXT = MEASURED / "proof.txt"
COMMANDS = {
    "every deviation at smoke effort": "meta_tests.measure.kill_matrix --effort smoke",
    "every failing example, shrunk": "meta_tests.measure.kill_matrix --named --shrink",
    "two bugs at once": "meta_tests.measure.two_bugs --pairs 100",
}


def run_commands() -> Iterator[str]:
    """Run each command and yield its last line, which sums it up."""
    for title, command in COMMANDS.items():
        run = subprocess.run([sys.executable, "-m", *command.split()], capture_output=True, text=True, cwd=ROOT)
        yield from (f"{title}: python -m {command}", f"  {(run.stdout.splitlines() or run.stderr.splitlines())[-1]}")


def main() -> None:
    lines = list(run_commands())
    print("\n".join(lines))
    if "--write" in sys.argv:
        PROOF_TXT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
