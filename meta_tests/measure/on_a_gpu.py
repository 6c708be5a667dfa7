"""Run on a machine with a CUDA device what needs one, in the order of its use, and write what was run and what was not.

python -m meta_tests.measure.on_a_gpu [--minutes 15] [--workers 12] [--write [FOLDER]]

The order: torch-cuda, triton-cuda, the kernels of meta_tests/backends/kernels with --shapes, and at smoke effort jax-cuda,
liger-kernel-cuda, cupy-cuda and torch-compile-cuda. The minutes are a safety limit of the whole command: a run that it cuts
counts as not run. --write writes gpu.json and gpu.txt into docs/measured, or into FOLDER, after each run; the same call on the
same sources and device goes on with what is not there yet. Without a CUDA device the exit status is 4.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from spec_tests.report.verdict import EXPLAINED_KINDS

from ..support.explained_faults import ExplainedFault, Outcome
from ..support.kernels import list_kernels
from ..support.paths import MEASURED
from ..support.pytest_process import Run, pytest_run
from ..support.rotation import hash_judging_sources

SHAPES = 12  # different shapes of each operation: a kernel is compiled anew for each
REFUSED = 4  # the exit status without a device
LIBRARIES = ("torch", "triton", "jax", "cupy", "cupy-cuda12x", "cupy-cuda13x", "liger-kernel", "numpy")


@dataclass(frozen=True)
class Step:
    """One run of the suite."""

    name: str
    arguments: tuple[str, ...]
    alone: bool = False  # it has workers of its own
    kind: str = "library"  # or "right" or "faulty"
    fault: ExplainedFault | None = None


@dataclass(frozen=True)
class Row:
    """How the run of a step ended."""

    outcome: str
    exit_status: int
    seconds: float
    counts: dict[str, int]  # of verdicts, by their status
    said: tuple[str, ...] = ()  # the sentence of each cause that was found
    seen: tuple[str, ...] = ()  # of each other cause, and of a run that ended otherwise the last line


@dataclass
class Record:
    """What the file holds."""

    sources: str
    machine: dict[str, str]
    rows: dict[str, Row] = field(default_factory=dict)


Runner = Callable[[Step, float], Row | None]  # None: the run was cut after so many seconds


def list_steps(workers: int) -> list[Step]:
    """Return all steps in their order."""
    parallel, smoke = ("-n", str(workers), "--dist=loadgroup"), ("--effort=smoke",)
    first = [Step(name, (f"--backend={name}", *parallel), alone=True) for name in ("torch-cuda", "triton-cuda")]
    last = ("jax-cuda", "liger-kernel-cuda", "cupy-cuda", "torch-compile-cuda")
    return [*first, *list_kernel_steps(), *(Step(name, (f"--backend={name}", *smoke, *parallel), alone=True) for name in last)]


def list_kernel_steps() -> Iterator[Step]:
    """Yield a step for each kernel, faulty ones and right ones in turn, so that a run that is cut has tried both."""
    right, faulty = (
        [
            Step(f"{folder}/{kernel.name}", (f"--backend={kernel.path}", f"--shapes={SHAPES}"), kind=folder, fault=kernel.fault)
            for kernel in list_kernels(folder)
        ]
        for folder in ("right", "faulty")
    )
    for place in range(max(len(right), len(faulty))):
        yield from (*faulty[place : place + 1], *right[place : place + 1])


def run_step(step: Step, seconds: float) -> Row | None:
    """Run the suite in a process of its own, and return how it ended, or None if it was cut."""
    folder, begin = Path(tempfile.mkdtemp(prefix="on-a-gpu-")), time.monotonic()
    plugin = ("-p", "spec_tests.plugin", "-p", "no:cacheprovider", "--pyargs", "spec_tests")
    try:
        run = pytest_run(folder, *plugin, *step.arguments, timeout=seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return judge(step, run, round(time.monotonic() - begin, 1))


def judge(step: Step, run: Run, seconds: float) -> Row:
    """Return the row of a run that has ended."""
    causes = {cause["key"]: cause for fact in run.facts for cause in fact.get("causes", ())}.values()
    said = tuple(cause["what"] for cause in causes if cause["kind"] in EXPLAINED_KINDS)
    seen = tuple(cause["what"] for cause in causes if cause["kind"] not in EXPLAINED_KINDS)
    if run.code not in (0, 1):
        seen = (*seen, (run.text.strip().splitlines() or ["no text"])[-1])
    statuses = [fact["status"] for fact in run.facts]
    counts = {status: statuses.count(status) for status in sorted(set(statuses))}
    return Row(state_outcome(step, run.code, said, seen), run.code, seconds, counts, said, seen)


def state_outcome(step: Step, code: int, said: tuple[str, ...], seen: tuple[str, ...]) -> str:
    """Return how a run ended in a few words."""
    if code not in (0, 1):
        return f"ended with {code}"
    if step.fault is not None:
        return Outcome(step.fault, said, seen, ()).verdict
    return ("red" if step.kind == "library" else "ALARM") if code else "green"


def run_steps(
    steps: Sequence[Step],
    record: Record,
    seconds: float,
    runner: Runner = run_step,
    workers: int = 1,
    keep: Callable[[], None] = lambda: None,
    now: Callable[[], float] = time.monotonic,
) -> None:
    """Run the steps that the record lacks, in their order, until the time is over. `keep` is called after each row."""
    end, lock = now() + seconds, threading.Lock()

    def run(step: Step) -> None:
        left = end - now()
        row = runner(step, left) if left > 0 else None
        if row is not None:
            with lock:
                record.rows[step.name] = row
                keep()

    for group in group_steps(step for step in steps if step.name not in record.rows):
        with ThreadPoolExecutor(1 if group[0].alone else workers) as pool:
            list(pool.map(run, group))


def group_steps(steps: Iterator[Step]) -> Iterator[list[Step]]:
    """Yield the steps that run at once. One with workers of its own runs alone."""
    group: list[Step] = []
    for step in steps:
        if group and (step.alone or group[0].alone):
            yield group
            group = []
        group.append(step)
    if group:
        yield group


def describe(record: Record, steps: Sequence[Step]) -> Iterator[str]:
    """Yield the lines of gpu.txt."""
    yield ", ".join(f"{name} {value}" for name, value in record.machine.items())
    for step in steps:
        if (row := record.rows.get(step.name)) is not None:
            counts = ", ".join(f"{count} {status}" for status, count in row.counts.items())
            yield f"\n{step.name}: {row.outcome}; {counts or 'no verdict'}; {row.seconds:.0f} s"
            yield from [f"  expected  {' … '.join(step.fault.says)}"] if step.fault else []
            yield from (f"  said      {sentence}" for sentence in row.said)
            yield from (f"  seen      {sentence}" for sentence in row.seen)
    missing = [step.name for step in steps if step.name not in record.rows]
    yield f"\nnot run: {', '.join(missing) or 'nothing'}"


def describe_machine() -> dict[str, str]:
    """Return GPU, driver and versions."""
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    found = subprocess.run(query, capture_output=True, text=True, check=False) if shutil.which(query[0]) else None
    torch = import_module("torch")
    machine = {"GPU": torch.cuda.get_device_name(), "driver": found.stdout.split("\n")[0].strip() if found else "unknown"}
    return machine | {"CUDA": str(torch.version.cuda)} | dict(list_versions())


def list_versions() -> Iterator[tuple[str, str]]:
    """Yield the version of each library that is installed."""
    installed = {str(found.metadata["Name"]).lower(): found.version for found in metadata.distributions()}
    yield from ((name, installed[name]) for name in LIBRARIES if name in installed)


def has_cuda() -> bool:
    return bool(import_module("torch").cuda.is_available())


def read_record(file: Path, today: Record) -> Record:
    """Return the record of the file if it is of these sources and this machine, else an empty one of today."""
    if not file.exists():
        return today
    data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    if (data["sources"], data["machine"]) != (today.sources, today.machine):
        return today
    rows = {name: Row(**{**row, "said": tuple(row["said"]), "seen": tuple(row["seen"])}) for name, row in data["rows"].items()}
    return replace(today, rows=rows)


def write_record(folder: Path, record: Record, steps: Sequence[Step]) -> None:
    """Write gpu.json and gpu.txt, each at once."""
    folder.mkdir(parents=True, exist_ok=True)
    data = json.dumps(asdict(record), indent=1, ensure_ascii=False)
    for name, text in (("gpu.json", data), ("gpu.txt", "\n".join(describe(record, steps)))):
        (folder / f"{name}.new").write_text(text + "\n", encoding="utf-8")
        (folder / f"{name}.new").replace(folder / name)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=15.0, help="after which no more is run")
    parser.add_argument("--workers", type=int, default=min(os.cpu_count() or 1, 12), help="processes at once")
    parser.add_argument("--write", nargs="?", type=Path, const=MEASURED, metavar="FOLDER")
    options = parser.parse_args(arguments)
    if not has_cuda():
        print("There is no CUDA device that PyTorch finds here; nothing was run.", file=sys.stderr)
        return REFUSED
    folder, steps = options.write, list_steps(options.workers)
    today = Record(hash_judging_sources(), describe_machine())
    record = read_record(folder / "gpu.json", today) if folder else today

    def keep() -> None:
        if folder:
            write_record(folder, record, steps)

    run_steps(steps, record, options.minutes * 60, workers=options.workers, keep=keep)
    keep()
    print("\n".join(describe(record, steps)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
