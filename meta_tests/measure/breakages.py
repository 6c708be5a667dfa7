"""Run the suite on each broken and each dishonest backend, with --isolate and without, and record how the run ends.

`python -m meta_tests.measure.breakages` writes breakages.txt and dishonest.txt into docs/measured;
a test compares them with new runs.
Each backend has a `sigmoid` that is broken, and a `relu` that is right and must be found so.
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

from ..support.paths import BACKENDS, MEASURED, ROOT
from ..support.pytest_process import environment

FOLDERS = {"breakages": BACKENDS / "broken", "dishonest": BACKENDS / "dishonest"}
WAYS = {"without": (), "--isolate": ("--isolate", "--memory-limit=2GiB")}
EFFORT = {"breakages": "smoke", "dishonest": "default"}  # what cheats is right most of the time
SECONDS, PATIENCE = 3, 120  # of a call; of a run that would not end
ROOM = 4 << 30  # bytes of a process: as `ulimit -d` would limit it


@dataclass(frozen=True)
class Outcome:
    status: str
    said: str  # of the broken operation
    neighbour: str  # what became of the right one

    def __str__(self) -> str:
        return f"{self.status}; {self.said}; relu {self.neighbour}"


def backends(table: str) -> list[Path]:
    return sorted(path for path in FOLDERS[table].glob("*.py") if not path.stem.startswith("_"))


def table_of(path: Path) -> str:
    return next(name for name, folder in FOLDERS.items() if folder == path.parent)


def selection(path: Path) -> str:
    law = re.search(r'^shown_by = "(\w+)"', path.read_text(), re.MULTILINE)
    if path.parent == FOLDERS["breakages"]:
        return f"sigmoid.{law[1] if law else 'reference'} or relu.reference"
    return "(test_every_operation and sigmoid and not vjp and not unbiased) or relu.reference"


def outcome(path: Path, way: str) -> Outcome:
    """Of a run of its own. Whatever it leaves behind is ended with it."""
    with tempfile.TemporaryDirectory() as folder:
        words = ("-p", "spec_tests.plugin", "--hypothesis-profile=default", "-p", "no:cacheprovider", "--junitxml=junit.xml")
        chosen = (
            "--pyargs",
            "spec_tests",
            f"--effort={EFFORT[table_of(path)]}",
            "--hypothesis-seed=1",
            f"--time-limit={SECONDS}",
            "-k",
            selection(path),
        )
        command = [sys.executable, "-m", "pytest", *words, *chosen, f"--backend={path}", *WAYS[way]]
        with subprocess.Popen(
            command,
            cwd=folder,
            env=environment(ROOT),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as run:
            resource.prlimit(run.pid, resource.RLIMIT_DATA, (ROOM, ROOM))  # no more memory than a run needs
            try:
                text = run.communicate(timeout=PATIENCE)[0]
            except subprocess.TimeoutExpired:
                text = ""
            ended = run.poll()
            with suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)
        junit = Path(folder) / "junit.xml"
        return _read(ended, text, list(_facts(junit)))


def _facts(junit: Path) -> Iterator[dict[str, Any]]:
    for tag in ElementTree.parse(junit).iter("property") if junit.exists() else ():
        if tag.get("name") == "spec_tests":
            yield json.loads(tag.get("value", ""))


def _read(status: int | None, text: str, facts: list[dict[str, Any]]) -> Outcome:
    if status is None:
        return Outcome("the run hangs", "no verdict", "is not tried")
    if status == 4:
        (line,) = re.findall(r"^ERROR: (.*)$", text, re.MULTILINE)
        return Outcome("exit 4", f"refused: {_plain(line)}", "is not tried")
    ended = f"exit {status}" if status >= 0 else f"the run ends with {signal.Signals(-status).name}"
    if not facts:
        return Outcome(ended, "no verdict", "is not tried")
    broken = [f for f in facts if f["operation"] == "sigmoid" and f["status"] == "failed"]
    laws = [f["id"].partition(".")[2] for f in broken]
    others = " and others" if len(laws) > 1 else ""
    said = f"breaks {laws[0]}{others}: {_plain(broken[0]['reason'])}" if broken else "conforms"
    said += "; it has imported the oracle" if "it has imported the oracle" in text else ""
    neighbour = {f["status"] for f in facts if f["operation"] == "relu"}
    return Outcome(ended, said, " and ".join(neighbour) or "is not tried")


def _plain(text: str) -> str:
    """Without what differs from machine to machine."""
    text = re.sub(r"from '/\S*'", "from its own", re.sub(r"/\S*/(\w+\.py)", r"\1", text)).replace("--backend=", "")
    return re.sub(r"\d+ of \d+ elements are wrong; the worst is .*", "elements are wrong", text)


def block(path: Path) -> str:
    what = path.read_text().split('"""')[1]
    lines = [f"{path.stem}: {what}", *(f"  {way:<10} {outcome(path, way)}" for way in WAYS)]
    return "\n".join(lines)


def blocks(name: str) -> dict[str, str]:
    """What the committed table says of each backend."""
    text = table(name).read_text().strip() if table(name).exists() else ""
    return {one.partition(":")[0]: one for one in text.split("\n\n") if one}


def table(name: str) -> Path:
    return MEASURED / f"{name}.txt"


def main() -> None:
    """All of both tables, or those that are named, as `breakages` or `dishonest/zeros`."""
    for given in sys.argv[1:] or FOLDERS:
        name, _, only = given.partition("/")
        before = blocks(name) if only else {}
        made = [before[path.stem] if only and path.stem != only else block(path) for path in backends(name)]
        table(name).write_text("\n\n".join(made) + "\n")


if __name__ == "__main__":
    main()
