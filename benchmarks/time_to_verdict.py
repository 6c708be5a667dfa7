"""Measure how long a verdict takes with the README's command.

python -m benchmarks.time_to_verdict [--backend numpy-cpu torch-cpu] [--effort smoke default] [--workers 0 2]
                                     [-k WHAT] [--write DIR]
"""

from __future__ import annotations

import argparse
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import asdict, dataclass
from json import loads
from pathlib import Path
from typing import Any

from meta_tests.support.in_process import backend
from meta_tests.support.paths import ROOT
from spec_tests.inputs.effort import EFFORTS

from .cpu_time import format_table, measure_command, measure_least_cpu, publish

LATE_IMPORTS = {"torch": "torch.fx.experimental.symbolic_shapes"}  # imported when the framework first differentiates


@dataclass(frozen=True)
class Verdict:
    """One run, and what it cost."""

    backend: str
    effort: str
    workers: int
    examples: int
    statuses: dict[str, int]
    cpu: float  # CPU seconds of all processes
    framework: float  # CPU seconds that one process spends on importing the framework
    wall: float  # seconds
    peak: float  # MiB of the largest process

    @property
    def cells(self) -> list[Any]:
        """The row of the table."""
        outcome = ", ".join(f"{count} {status}" for status, count in sorted(self.statuses.items()))
        own = self.cpu - self.framework * max(self.workers, 1)
        times = [f"{seconds:.1f}" for seconds in (self.cpu, own, self.wall, self.wall - self.framework)]
        numbers = (self.examples, *times, f"{self.examples / own:.0f}", f"{self.peak:.0f}")
        return [self.backend, self.effort, f"-n {self.workers}" if self.workers else "serial", outcome, *numbers]


HEADERS = (
    "backend", "effort", "", "verdicts", "examples", "CPU s", "without the\nframework's import", "wall s",
    "without the\nframework's import", "examples per\nCPU s", "peak MiB of\none process",
)  # fmt: skip


def measure_verdict(name: str, effort: str, workers: int, framework: float, only: str = "") -> Verdict:
    """Run the suite once. `framework` is the CPU seconds that importing the framework takes."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "junit.xml")
        options = [f"--backend={name}", f"--effort={effort}", f"--junitxml={report}", "-q"]
        options += ["-p", "no:cacheprovider", *(["-n", str(workers)] if workers else []), *(["-k", only] if only else [])]
        used = measure_command("-m", "pytest", *options, folder=ROOT)
        if used.code not in (0, 1):
            raise RuntimeError(f"{name} at {effort} effort ended with exit code {used.code}:\n{used.text[-2000:]}")
        tags = ElementTree.parse(report).iter("property")
        facts = [loads(tag.get("value", "")) for tag in tags if tag.get("name") == "spec_tests"]
    statuses = Counter(str(fact["status"]) for fact in facts)
    examples = sum(fact["examples"] for fact in facts)
    return Verdict(name, effort, workers, examples, dict(statuses), used.cpu_seconds, framework, used.wall_seconds, used.peak_mib)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", nargs="+", default=["numpy-cpu", "torch-cpu"])
    parser.add_argument("--effort", nargs="+", default=["smoke", "default"], choices=tuple(EFFORTS))
    parser.add_argument("--workers", nargs="+", type=int, default=[0, 2], help="0: in one process")
    parser.add_argument("-k", dest="only", default="", help="as pytest's")
    parser.add_argument("--write", type=Path, help="a folder for the table and its data")
    options = parser.parse_args(argv)
    verdicts = []
    for name in options.backend:
        framework = backend(name).framework.name
        imports = ("import numpy", f"import numpy, {LATE_IMPORTS.get(framework, framework)}")
        numpy_only, with_framework = (measure_least_cpu(3, "-c", line) for line in imports)
        import_seconds = with_framework - numpy_only
        for effort in options.effort:
            verdicts += [measure_verdict(name, effort, workers, import_seconds, options.only) for workers in options.workers]
    text = format_table("Time to a verdict", HEADERS, (verdict.cells for verdict in verdicts), disable_numparse=True)
    publish("time_to_verdict", text, {"runs": [asdict(verdict) for verdict in verdicts]}, options.write)


if __name__ == "__main__":
    main()
