"""Run every benchmark, one after the other: python -m benchmarks [PART …] [--write DIR]

Each part can also be run alone and has its own options: python -m benchmarks.against_rivals --help
"""

from __future__ import annotations

import argparse
import subprocess
import sys

PARTS = ("import_cost", "time_to_detection", "scaling", "profile_of_a_run", "time_to_verdict", "against_rivals", "servers")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=PARTS, metavar="PART", help=f"{', '.join(PARTS)}; all, if none is given")
    parser.add_argument("--write", metavar="DIR", help="a folder for the tables and their data: docs/measured/benchmarks")
    options = parser.parse_args(argv)
    if unknown := [part for part in options.parts if part not in PARTS]:
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    for part in options.parts:  # each in its own process, because some set the number of threads for the whole process
        command = [sys.executable, "-m", f"benchmarks.{part}", *(["--write", options.write] if options.write else [])]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
