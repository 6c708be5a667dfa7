"""Run the suite on each broken and each dishonest backend, with --isolate and without, and record how the run ends.

`python -m meta_tests.measure.breakages` writes breakages.txt and dishonest.txt into docs/measured;
a test compares them with new runs.
Each backend has a `sigmoid` that is broken, and a `relu` that is right and must be found so.
Some are servers of the process protocol, started by a .toml file. They are in a process of their own with --isolate and without.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spec_tests.isolation.survivors import MARK, find_started, new_mark

from ..support.paths import BACKENDS, MEASURED, ROOT
from ..support.pytest_process import environment

FOLDERS = {"breakages": BACKENDS / "broken", "dishonest": BACKENDS / "dishonest"}
ISOLATION_OPTIONS = {"without": (), "--isolate": ("--isolate", "--memory-limit=2GiB")}
EFFORTS = {"breakages": "smoke", "dishonest": "default"}  # a dishonest backend is right in most calls
CALL_TIMEOUT_SECONDS = 3
RUN_TIMEOUT_SECONDS = 120  # after which a run counts as hanging
MEMORY_LIMIT_BYTES = 4 << 30  # data segment of a process, as `ulimit -d` limits it


@dataclass(frozen=True)
class Outcome:
    """One line of the table: how a run on a broken backend ends."""

    status: str
    verdict: str  # on the broken operation
    relu: str  # status of the correct operation

    def __str__(self) -> str:
        return f"{self.status}; {self.verdict}; relu {self.relu}"


def list_backends(table: str) -> list[Path]:
    return sorted(path for path in FOLDERS[table].iterdir() if path.suffix in (".py", ".toml") and not path.stem.startswith("_"))


def find_table(path: Path) -> str:
    return next(name for name, folder in FOLDERS.items() if folder == path.parent)


def select_tests(path: Path) -> str:
    """Return the expression for -k that selects the tests for a backend."""
    law = re.search(r'^shown_by = "(\w+)"', path.read_text(), re.MULTILINE)
    if path.parent == FOLDERS["breakages"]:
        return f"sigmoid.{law[1] if law else 'reference'} or relu.reference"
    return "(test_every_operation and sigmoid and not vjp and not unbiased) or relu.reference"


def run_suite(path: Path, isolation: str) -> Outcome:
    """Run the suite on one backend, and end every process that the run leaves behind."""
    with tempfile.TemporaryDirectory() as folder:
        plugins = ("-p", "spec_tests.plugin", "--hypothesis-profile=default", "-p", "no:cacheprovider", "--junitxml=junit.xml")
        options = (
            "--pyargs",
            "spec_tests",
            f"--effort={EFFORTS[find_table(path)]}",
            "--hypothesis-seed=1",
            f"--time-limit={CALL_TIMEOUT_SECONDS}",
            "-k",
            select_tests(path),
        )
        command = [sys.executable, "-m", "pytest", *plugins, *options, f"--backend={path}", *ISOLATION_OPTIONS[isolation]]
        mark = new_mark()
        with subprocess.Popen(
            command,
            cwd=folder,
            env=environment(ROOT, **{MARK: mark}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as run:
            resource.prlimit(run.pid, resource.RLIMIT_DATA, (MEMORY_LIMIT_BYTES,) * 2)
            try:
                text = run.communicate(timeout=RUN_TIMEOUT_SECONDS)[0]
            except subprocess.TimeoutExpired:
                text = ""
            status = run.poll()
            for left in find_started(run.pid, mark):
                with suppress(ProcessLookupError):
                    os.kill(left, signal.SIGKILL)
            with suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)
        junit = Path(folder) / "junit.xml"
        return _summarize(status, text, list(_read_verdicts(junit)))


def _read_verdicts(junit: Path) -> Iterator[dict[str, Any]]:
    for tag in ElementTree.parse(junit).iter("property") if junit.exists() else ():
        if tag.get("name") == "spec_tests":
            yield json.loads(tag.get("value", ""))


def _summarize(status: int | None, text: str, facts: list[dict[str, Any]]) -> Outcome:
    if status is None:
        return Outcome("the run hangs", "no verdict", "is not tried")
    if status == 4:
        (line,) = re.findall(r"^ERROR: (.*)$", text, re.MULTILINE)
        return Outcome("exit 4", f"refused: {_drop_local_details(line)}", "is not tried")
    ending = f"exit {status}" if status >= 0 else f"the run ends with {signal.Signals(-status).name}"
    if not facts:
        return Outcome(ending, "no verdict", "is not tried")
    broken = [f for f in facts if f["operation"] == "sigmoid" and f["status"] == "failed"]
    laws = [f["id"].partition(".")[2] for f in broken]
    others = " and others" if len(laws) > 1 else ""
    verdict = f"breaks {laws[0]}{others}: {_drop_local_details(broken[0]['reason'])}" if broken else "conforms"
    verdict += "; it has imported the oracle" if "it has imported the oracle" in text else ""
    relu = {f["status"] for f in facts if f["operation"] == "relu"}
    return Outcome(ending, verdict, " and ".join(relu) or "is not tried")


def _drop_local_details(text: str) -> str:
    """Drop paths and numbers, which differ from machine to machine."""
    text = re.sub(r"from '/\S*'", "from its own", re.sub(r"/\S*/(\w+\.(py|toml))", r"\1", text)).replace("--backend=", "")
    return re.sub(r"\d+ of \d+ elements are wrong; the worst is .*", "elements are wrong", text)


def format_block(path: Path) -> str:
    text = path.read_text()
    sentence = text.split('"""')[1] if path.suffix == ".py" else text.splitlines()[0].removeprefix("# ")
    lines = [f"{path.stem}: {sentence}", *(f"  {column:<10} {run_suite(path, column)}" for column in ISOLATION_OPTIONS)]
    return "\n".join(lines)


def read_blocks(name: str) -> dict[str, str]:
    """Return the blocks of the committed table by the names of the backends."""
    text = table_path(name).read_text().strip() if table_path(name).exists() else ""
    return {block.partition(":")[0]: block for block in text.split("\n\n") if block}


def table_path(name: str) -> Path:
    return MEASURED / f"{name}.txt"


def main() -> None:
    """Write both tables, or the named parts of them, such as `breakages` or `dishonest/zeros`, with the backends that are new."""
    for argument in sys.argv[1:] or FOLDERS:
        name, _, only = argument.partition("/")
        before = read_blocks(name) if only else {}
        lines = [
            before[path.stem] if path.stem in before and path.stem != only else format_block(path) for path in list_backends(name)
        ]
        table_path(name).write_text("\n\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
