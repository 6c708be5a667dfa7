"""A pytest plugin, -p benchmarks.stack_sampler: looks a thousand times in a CPU second at what runs, and writes where time went.

Each look counts for the CPU time since the last: a signal waits while a library computes, and is then worth more.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

INTERVAL = 0.001
FILE = "BENCHMARKS_SAMPLES"  # the variable that names the file to write
ROOT = Path(__file__).parent.parent
FOLDERS = {"bounds": "bound", "deviations": "backend", "helpers": "data", "inputs": "data", "operations": "data"}  # of spec_tests
FILES = {  # where the files of a folder do different things
    "calls/in_domain": "data", "calls/violation": "bound", "helpers/assertions": "bound",
    "implementation/autodiff": "backend", "implementation/domain": "data",
    "implementation/framework": "conversion", "implementation/layouts": "conversion",
    "implementation/guard": "guard", "implementation/process_state": "guard", "isolation/tampering": "guard",
}  # fmt: skip
FUNCTIONS = {  # where the functions of a file do different things
    ("calls/call", "value"): "oracle",
    ("calls/operation", "tried"): "backend", ("calls/operation", "run"): "backend",
    ("calls/operation", "native"): "conversion", ("calls/operation", "values"): "conversion",
    ("calls/operation", "_held"): "conversion",
    ("implementation/framework", "linearized"): "backend", ("implementation/framework", "accumulated"): "backend",
    ("implementation/framework", "computed"): "backend",
}  # fmt: skip
DECIDED_BY_CALLER = (
    "calls/call", "calls/gradient", "calls/operation", "calls/result", "specification/formats", "specification/pytree",
)  # fmt: skip
PACKAGES = {"hypothesis": "Hypothesis", "_pytest": "pytest", "pluggy": "pytest", "pytest": "pytest", "xdist": "pytest"}
PARTS = ("backend", "oracle", "bound", "data", "conversion", "guard", "invariants", "Hypothesis", "pytest", "imports", "the rest")

spent: Counter[str] = Counter()
before = 0.0


def part(frame: FrameType | None) -> str:
    """What the innermost frame that belongs to some part of a run is doing."""
    while frame is not None:
        if found := _part_of(frame.f_code.co_filename, frame.f_code.co_name):
            return found
        frame = frame.f_back
    return "the rest"


def _part_of(file: str, function: str) -> str:
    if "importlib._bootstrap" in file:
        return "imports"
    path = Path(file)
    if ROOT in path.parents and "site-packages" not in file:
        top, *inside = path.relative_to(ROOT).with_suffix("").parts
        if top == "backends":
            return "backend"
        name = "/".join(inside)
        if top != "spec_tests" or name in DECIDED_BY_CALLER:  # the equations too
            return FUNCTIONS.get((name, function), "")
        part = FUNCTIONS.get((name, function)) or FILES.get(name) or FOLDERS.get(inside[0])
        return part or ("invariants" if name.startswith("test_") else "the rest")
    return next((name for package, name in PACKAGES.items() if f"/{package}/" in file), "")


def _look(signum: int, frame: FrameType | None) -> None:
    global before
    now = time.process_time()
    spent[part(frame)] += now - before  # type: ignore[assignment]
    before = now


if FILE in os.environ:  # started when the plugin is imported
    spent["imports"] += time.process_time()  # type: ignore[assignment]
    before = time.process_time()
    signal.signal(signal.SIGPROF, _look)
    signal.setitimer(signal.ITIMER_PROF, INTERVAL, INTERVAL)


def pytest_unconfigure(config: Any) -> None:
    if FILE in os.environ:
        signal.setitimer(signal.ITIMER_PROF, 0)
        Path(os.environ[FILE]).write_text(json.dumps(spent))
