"""Run the suite on a file of `meta_tests/backends/imported/`, in an empty folder, on the comparisons with the oracle alone."""

from __future__ import annotations

from pathlib import Path

from ..support.paths import BACKENDS
from ..support.pytest_process import Run, suite

IMPORTED = BACKENDS / "imported"


def try_import(folder: Path, file: str, *operations: str, more: tuple[str, ...] = ()) -> Run:
    """Return the run on a file of a format, or on the path that it is, and on these operations."""
    text = str(IMPORTED / file)
    selected = " or ".join(f"{operation}.reference" for operation in operations)
    return suite(folder, f"--backend={text}", "--effort=smoke", "--hypothesis-seed=1", "-k", selected, *more)


def find_passed(run: Run) -> set[str]:
    """Return the operations whose comparison with the oracle passed."""
    return {fact["operation"] for fact in run.facts if fact["status"] == "passed" and fact["id"].endswith(".reference")}


def flatten(text: str) -> str:
    """Return the text with each run of blanks and line ends as one blank, so that wrapped lines can be compared."""
    return " ".join(text.split())
