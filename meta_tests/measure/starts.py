"""How many CPU seconds a start takes, beyond what `import pytest, numpy, hypothesis` takes.

python -m meta_tests.measure.starts

Each command is run four times; the least time counts.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from ..support.pytest_process import NUMPY, RELU, environment, write

TIMES = 4
IMPORTS = ("-c", "import pytest, numpy, hypothesis")
RUN = ("-m", "pytest", "--pyargs", "spec_tests", "--backend=mine.py")
COMMAND = ("-m", "spec_tests")
STARTS = (
    (*RUN, "--help"),
    (*RUN, "--operation=sofmax"),
    (*RUN, "--require=sofmax"),
    (*RUN, "--effort=smok"),
    (*RUN, "--resume"),
    (*COMMAND, "--help"),
    (*COMMAND, "list", "operations"),
    (*COMMAND, "list", "backends"),
    (*COMMAND, "list", "laws"),
    (*COMMAND, "score", "mine.py", "sofmax"),
)


def measure(folder: Path, *words: str) -> float:
    """Return the CPU seconds of a command of Python and of its children."""
    seconds = []
    for _ in range(TIMES):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *words], cwd=folder, env=environment(), capture_output=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(seconds)


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write(folder, mine="import torch\n" + NUMPY + RELU)
        imports = measure(folder, *IMPORTS)
        print(f"{imports:.2f} s  import pytest, numpy, hypothesis", flush=True)
        for words in STARTS:
            print(f"{measure(folder, *words) - imports:+.2f} s  {' '.join(words)}", flush=True)


if __name__ == "__main__":
    main()
