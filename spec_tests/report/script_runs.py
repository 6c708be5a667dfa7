"""Run printed scripts once, one after the other in a fresh process, and say what each shows."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ..implementation.printable import printable_line
from ..trials.written_script import Printed, WrittenScript
from .script_process import PATHS

LIMIT_SECONDS = 60.0  # a safety net for the scripts of one backend together, which says so


def check_scripts(scripts: Sequence[WrittenScript], framework: str, device: str, limit: float = LIMIT_SECONDS) -> Iterator[str]:
    """Run the scripts of one framework and device in one process. Yield a sentence on each."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / PATHS).write_text(json.dumps([str(Path.cwd()), *sys.path]))
        for number, script in enumerate(scripts):
            (folder / f"{number}.py").write_text(script.text)
        command = [sys.executable, "-m", "spec_tests.report.script_process", name, framework, device]
        try:
            ended = subprocess.run(command, capture_output=True, timeout=limit, check=False)
            said = ended.stderr.decode(errors="replace").strip().splitlines() or [""]
            end = f"the process of the scripts ended with status {ended.returncode} ({printable_line(said[-1]) or 'no message'})"
        except subprocess.TimeoutExpired:
            end = f"the process of the scripts was ended after {limit:g} s"
        is_reached = True
        for number, script in enumerate(scripts):
            is_done = any((folder / f"{number}{suffix}").exists() for suffix in (".npz", ".txt"))
            if is_done:
                yield f"{script.name}: {_judge(script, folder, number)}"
            elif is_reached:  # the first one without a result was running
                yield f"{script.name}: {_describe_end(script, end)}"
                is_reached = False
            else:
                yield f"{script.name}: not reached, since {end}"


def _judge(script: WrittenScript, folder: Path, number: int) -> str:
    """Return what a script that was run has shown."""
    raised = folder / f"{number}.txt"
    if raised.exists():
        kind = "it shows the failure" if script.before or not script.has_answer else "it does not show the failure"
        return f"{kind}: it raises {printable_line(raised.read_text())}"
    with np.load(folder / f"{number}.npz", allow_pickle=False) as arrays:
        printed: defaultdict[int, list[Printed]] = defaultdict(list)
        for place, _, dtype, key in sorted((*_split(key), key) for key in arrays.files):
            printed[place].append((dtype, arrays[key]))
    try:
        is_wrong = script.is_wrong([*printed.values()])
    except ValueError:  # other results than those of the calls
        is_wrong = True
    if not script.shows:
        return "an answer is wrong here, unlike in the run" if is_wrong else "each answer is right, as it says"
    needs_more = "its answers are right in a fresh process: the failure needs what the run did before"
    return "it shows the failure" if is_wrong else needs_more


def _describe_end(script: WrittenScript, end: str) -> str:
    return f"it shows the failure: {end}" if not script.has_answer else f"it has no result: {end}"


def _split(key: str) -> tuple[int, int, str]:
    """Return the number of the print statement, the position of the array in it, and the dtype of the array."""
    place, number, dtype = key.split(".")
    return int(place), int(number), dtype
