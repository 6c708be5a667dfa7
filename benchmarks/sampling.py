"""A pytest plugin, -p benchmarks.sampling: looks a thousand times in a CPU second at what runs, and writes where time went.

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
SUITE = {  # spec_tests/<file>.py: what is done there
    **dict.fromkeys(
        ("bounded", "rules", "sample", "sums", "grid", "primitives", "expectation", "assertions", "violation"), "bound"
    ),
    **dict.fromkeys(("draw", "regimes", "domain", "batch", "slopes", "offsets", "attention"), "data"),
    **dict.fromkeys(("frameworks", "layouts"), "conversion"),
    **dict.fromkeys(("faithful", "deviation", "faults", "narrow", "differentiable"), "backend"),
    **dict.fromkeys(("guard", "surroundings", "integrity"), "guard"),
}
FUNCTIONS = {  # where a file does several things
    ("call", "value"): "oracle",
    ("operation", "tried"): "backend", ("operation", "run"): "backend",
    ("operation", "native"): "conversion", ("operation", "values"): "conversion", ("operation", "_held"): "conversion",
    ("frameworks", "linearized"): "backend", ("frameworks", "accumulated"): "backend", ("frameworks", "computed"): "backend",
}  # fmt: skip
PASSED = ("call", "operation", "gradient", "formats", "tree")  # who called them decides
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
        folder, stem = path.relative_to(ROOT).parts[0], path.stem
        if folder == "backends":
            return "backend"
        if folder != "spec_tests" or stem in PASSED:
            return FUNCTIONS.get((stem, function), "")  # the equations: who called them decides
        if path.parent.name in ("operations", "deviations"):
            return "data" if path.parent.name == "operations" else "backend"
        return FUNCTIONS.get((stem, function)) or SUITE.get(stem) or ("invariants" if stem.startswith("test_") else "the rest")
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
