"""A pytest plugin, -p benchmarks.stack_sampler: sample the stack 1000 times per CPU second and write how long each part ran.

Each sample counts for the CPU time since the last one, because a signal that arrives while a library computes is handled late.
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

INTERVAL_SECONDS = 0.001
FILE_VARIABLE = "BENCHMARKS_SAMPLES"  # environment variable with the path of the file to write
ROOT = Path(__file__).parent.parent
FOLDERS = {"bounds": "bound", "deviations": "backend", "helpers": "data", "inputs": "data", "operations": "data"}  # of spec_tests
FILES = {  # files that belong to another part than their folder
    "calls/in_domain": "data", "calls/rounding": "conversion", "calls/violation": "bound", "helpers/assertions": "bound",
    "implementation/autodiff": "backend", "implementation/domain": "data",
    "implementation/framework": "conversion", "implementation/layouts": "conversion",
    "implementation/guard": "guard", "implementation/process_state": "guard", "tampering/detector": "guard",
}  # fmt: skip
FUNCTIONS = {  # functions that belong to another part than their file
    ("calls/call", "value"): "oracle",
    ("calls/operation", "attempt"): "backend", ("calls/operation", "run"): "backend",
    ("calls/operation", "native"): "conversion", ("calls/operation", "values"): "conversion",
    ("implementation/backward", "linearize"): "backend", ("implementation/backward", "accumulate"): "backend",
    ("implementation/framework", "force"): "backend",
}  # fmt: skip
DECIDED_BY_CALLER = (  # files whose code counts for the part that calls it
    "calls/call", "calls/gradient", "calls/operation", "calls/result", "specification/formats", "specification/pytree",
)  # fmt: skip
PACKAGES = {"hypothesis": "Hypothesis", "_pytest": "pytest", "pluggy": "pytest", "pytest": "pytest", "xdist": "pytest"}
PARTS = ("backend", "oracle", "bound", "data", "conversion", "guard", "invariants", "Hypothesis", "pytest", "imports", "the rest")

cpu_seconds: Counter[str] = Counter()
last_sample_time = 0.0


def find_part(frame: FrameType | None) -> str:
    """Return the part of the innermost frame that belongs to one."""
    while frame is not None:
        if found := _classify(frame.f_code.co_filename, frame.f_code.co_name):
            return found
        frame = frame.f_back
    return "the rest"


def _classify(file: str, function: str) -> str:
    """Return the part that a function of a file belongs to, or an empty string if its caller decides."""
    if "importlib._bootstrap" in file:
        return "imports"
    path = Path(file)
    if ROOT in path.parents and "site-packages" not in file:
        top, *inside = path.relative_to(ROOT).with_suffix("").parts
        if top == "backends":
            return "backend"
        name = "/".join(inside)
        if top != "spec_tests" or name in DECIDED_BY_CALLER:  # as are the equations in reference_numpy
            return FUNCTIONS.get((name, function), "")
        part = FUNCTIONS.get((name, function)) or FILES.get(name) or FOLDERS.get(inside[0])
        return part or ("invariants" if name.startswith("test_") else "the rest")
    return next((name for package, name in PACKAGES.items() if f"/{package}/" in file), "")


def _sample(signum: int, frame: FrameType | None) -> None:
    global last_sample_time
    now = time.process_time()
    cpu_seconds[find_part(frame)] += now - last_sample_time  # type: ignore[assignment]
    last_sample_time = now


if FILE_VARIABLE in os.environ:  # start when pytest imports the plugin
    cpu_seconds["imports"] += time.process_time()  # type: ignore[assignment]
    last_sample_time = time.process_time()
    signal.signal(signal.SIGPROF, _sample)
    signal.setitimer(signal.ITIMER_PROF, INTERVAL_SECONDS, INTERVAL_SECONDS)


def pytest_unconfigure(config: Any) -> None:
    if FILE_VARIABLE in os.environ:
        signal.setitimer(signal.ITIMER_PROF, 0)
        Path(os.environ[FILE_VARIABLE]).write_text(json.dumps(cpu_seconds))
