"""The process that runs printed scripts once, one after the other, and keeps what each prints as arrays.

python -m spec_tests.report.script_process FOLDER FRAMEWORK DEVICE

FOLDER has the scripts 0.py, 1.py, … For each, 0.npz has the arrays of what it prints, named after
their places and dtypes, or 0.txt the exception that it raises. What
it has neither of was not reached, or has ended the process.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ..implementation.framework import Framework
from ..specification.pytree import leaves
from ..trials.written_script import NO_ARRAY

PATHS = "paths.json"  # in FOLDER: the folders in which modules are looked for, and the one to work in


def run_script(script: Path, name: str, device: str) -> None:
    """Run a script, and write what it prints, or the exception that it raises, beside it."""
    printed: list[list[tuple[str, np.ndarray]]] = []

    def keep(*shown: Any) -> None:
        framework = Framework(name, device or None)  # not before the backend is there, which may register its device
        arrays = [x for _, x in leaves(list(shown)) if framework.is_array(x)]
        beside = [(NO_ARRAY, np.empty(0)) for _, x in leaves(list(shown)) if arrays and not framework.is_array(x)]
        printed.append([*((framework.dtype_of(x), framework.numpy(x)) for x in arrays), *beside])

    try:
        exec(compile(script.read_text(), str(script), "exec"), {"__name__": "__main__", "print": keep})
    except Exception as error:
        text = (str(error).strip().splitlines() or [""])[0]
        script.with_suffix(".txt").write_text(f"{type(error).__name__}: {text}".rstrip(": "))
        return
    named = {f"{i}.{j}.{dtype}": x for i, arrays in enumerate(printed) for j, (dtype, x) in enumerate(arrays)}
    part = script.with_suffix(".part.npz")  # so that a file that is there is whole
    np.savez(part, allow_pickle=False, **named)
    part.rename(script.with_suffix(".npz"))


def main(folder: str, name: str, device: str) -> None:
    sys.path[:] = json.loads((Path(folder) / PATHS).read_text())
    for script in sorted(Path(folder).glob("*.py"), key=lambda path: int(path.stem)):
        run_script(script, name, device)


if __name__ == "__main__":
    main(*sys.argv[1:])
