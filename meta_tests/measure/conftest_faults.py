"""Run the suite beside each conftest.py of another project, on a wrong and on a right `relu`, and record what a reader sees.

`python -m meta_tests.measure.conftest_faults` writes docs/measured/conftest_faults.txt; a test compares it with new runs.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..support.hostile_process import HostileRun, run_hostile
from ..support.paths import BACKENDS, MEASURED
from ..support.pytest_process import NUMPY, RELU, write

FOLDER = BACKENDS / "foreign_conftests"
TABLE = MEASURED / "conftest_faults.txt"
BODIES = {"wrong": "\n\ndef relu(x):\n    return np.zeros_like(x)\n", "right": RELU}
LAWS = "relu.reference or relu.rectifies or relu.infinities"
OF_PLUGINS = "pyfunc_call|runtest|ignore_collect"  # hooks that pytest does not call of a conftest.py for tests in another folder
RUNS_AT_ONCE = 2


def list_faults() -> list[Path]:
    return sorted(FOLDER.glob("[a-z]*.py"))


def run_beside(path: Path, body: str, *args: str) -> tuple[HostileRun, str]:
    """Run laws of relu beside the conftest.py, and return the run and the colour of its badge, "" if there is none."""
    text = path.read_text()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, mine=NUMPY + BODIES[body])
        is_plugin = re.search(rf"def pytest_({OF_PLUGINS})", text)
        (folder / ("theirs.py" if is_plugin else "conftest.py")).write_text(text)
        options = ["--confcutdir=.", "-c", "/dev/null", "--rootdir=.", "--backend=mine.py", "--effort=smoke", "--report=out"]
        options += ["-p", "theirs"] if is_plugin else []
        options += [] if "a run of the whole suite" in text else ["-k", LAWS]  # with -k, a selection is expected
        run = run_hostile("--pyargs", "spec_tests", ".", *options, *args, folder=folder)
        badge = folder / "out" / "badge.json"
        return run, json.loads(badge.read_text())["color"] if badge.exists() else ""


def describe(run: HostileRun, badge: str) -> str:
    """Return the exit status, the verdicts on relu, what the run says of the other project, and the colour of the badge."""
    verdicts = Counter(fact["status"] for fact in run.facts if fact["operation"] == "relu")
    counts = ", ".join(f"{count} {status}" for status, count in sorted(verdicts.items())) or "no verdict"
    ending = "the run hangs" if run.status is None else f"exit {run.status}"
    return "; ".join([ending, counts, *dict.fromkeys(_find_sentences(run)), f"badge {badge or 'missing'}"])


def _find_sentences(run: HostileRun) -> Iterator[str]:
    """Yield what a run says of another project, without the names of the laws."""
    for line in run.text.splitlines():
        if re.match(r"ERROR: |marks of another project|E   |!!!", line):
            yield re.sub(r"\(test_[^)]*\) ", "", line.strip(" !E")).removeprefix("RROR: ")
    for fact in run.facts:
        if fact["operation"] == "relu" and re.search("another project|a fixture or a plugin", fact["reason"] or ""):
            yield fact["reason"]


def _read_sentence(path: Path) -> str:
    return path.read_text().split('"""')[1]


def format_block(path: Path) -> str:
    lines = [f"  {body:<6} {describe(*run_beside(path, body))}" for body in BODIES]
    return "\n".join([f"{path.stem}: {_read_sentence(path)}", *lines])


def read_table() -> dict[str, dict[str, str]]:
    """Return the lines of the committed table, by the name of the conftest.py and by the body of relu."""
    blocks = [block.splitlines() for block in TABLE.read_text().strip().split("\n\n")]
    return {block[0].partition(":")[0]: dict(line.strip().split(maxsplit=1) for line in block[1:]) for block in blocks}


def main() -> None:
    with ThreadPoolExecutor(RUNS_AT_ONCE) as pool:
        TABLE.write_text("\n\n".join(pool.map(format_block, list_faults())) + "\n")


if __name__ == "__main__":
    sys.exit(main())
