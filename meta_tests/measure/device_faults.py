"""Run the suite on faults of kernels whose right sentence is written down, and count how many are explained rightly.

python -m meta_tests.measure.device_faults [NAME …] [--write]

--write writes the rows of these faults into docs/measured/device_faults.txt. Every law of the faulty operation is tried at
default effort, in one process.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from ..support.device_faults import FAULTS
from ..support.explained_faults import ExplainedFault, Outcome, count_verdicts, try_laws
from ..support.paths import MEASURED

FILE = MEASURED / "device_faults.txt"
ALSO_TRUE = {  # read after a first run: sentences that are true of a fault, and not the one that was written down
    "logarithm_of_few_bits": "log(sum(exp(x - m))) * 0.999932",
    "workspace_of_the_widest_call": "only in the last column",
}


def try_fault(name: str) -> Outcome:
    """Return what the laws of the operation say of the fault."""
    fault = FAULTS[name]
    return try_laws(ExplainedFault(name, fault.operation, fault.says, ALSO_TRUE.get(name)), fault.backend())


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of a fault; all, if none is given")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    rows = read_rows() if options.names else {}
    for name in options.names or FAULTS:
        start = time.monotonic()
        rows[name] = "\n".join(try_fault(name).describe())
        print(rows[name], f"\n  seconds   {time.monotonic() - start:.1f}", flush=True)
    if options.write:
        lines = [count_verdicts(rows, "faults of kernels"), *(rows[name] for name in FAULTS if name in rows)]
        FILE.write_text("\n\n".join(lines) + "\n")


def read_rows() -> dict[str, str]:
    """Return the committed rows by the names of their faults."""
    blocks = FILE.read_text().strip().split("\n\n")[1:] if FILE.exists() else []
    return {block.partition(":")[0]: block for block in blocks}


if __name__ == "__main__":
    main()
