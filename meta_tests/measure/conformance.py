"""Measure which precision class each backend reaches in each operation and dtype.

python -m meta_tests.measure.conformance [--gradients] [--effort=…] [--write] [BACKEND …]

Each backend runs in its own pytest process, because some libraries cannot share one. Backends whose library is not installed are
listed as absent. Libraries of Node are installed by `npm install` in their folder of examples/. --write adds the results to
docs/measured/conformance.json and writes conformance.txt anew. --gradients measures gradients instead of operations, and writes
gradients.json and gradients.txt. --only measures a few operations of a backend again,
perhaps with other options: the backend's entry gets the new cells and the options of the new run. --merged=DIR runs nothing, and
takes the results from the merged report of a campaign.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from spec_tests.implementation.lookup import built_in_backends
from spec_tests.report import Report, ReportError, read
from spec_tests.report.records import to_record
from spec_tests.specification.formats import RESULT_DTYPES
from spec_tests.specification.registry import gradients, operations

from ..support.paths import KEPT_VARIABLE, MEASURED, ROOT
from ..support.pytest_process import Run, environment, pytest_run
from .conformance_table import Entry, format_table

CONFORMANCE_JSON, GRADIENTS_JSON = MEASURED / "conformance.json", MEASURED / "gradients.json"
SUITE = ("-p", "spec_tests.plugin", "-p", "no:cacheprovider", "--pyargs", "spec_tests")
SEED = ("--hypothesis-profile=default", "--hypothesis-seed=0")  # with CI set, Hypothesis's profile ignores the seed
EXAMPLES = {  # libraries whose backends do not ship with the package, by the file of each backend
    "onnxruntime-web-wasm": "examples/onnxruntime_web/wasm.toml",
    "tensorflow-js-cpu": "examples/tensorflow_js/cpu.toml",
    "tensorflow-js-wasm": "examples/tensorflow_js/wasm.toml",
    "tract-cpu": "examples/tract/tract_cpu.py",
}
COMPLETED_EXIT_CODES = (0, 1, 5)  # every selected test ran; with 5, none was selected


def measure_backend(
    backend: str,
    effort: str,
    *more: str,
    names: tuple[str, ...] = operations(),
    shapes: int | None = None,
    apart: int = 0,
    keep: Path | None = None,
) -> Entry:
    """Return one backend's entry: its results in these operations or gradients, or why it cannot be loaded.

    `apart`: run each operation in its own process, that many at a time. `keep`: a folder whose reports are reused.
    """
    text = str(ROOT / EXAMPLES[backend]) if backend in EXAMPLES else backend
    options = [f"--backend={text}", f"--effort={effort}", *more, *[f"--shapes={shapes}"] * (shapes is not None)]
    every_name = {operations(): "not _vjp", gradients(): "_vjp"}
    selections = list(map(select_operation, names))
    if not apart:
        selections = [every_name.get(names) or " or ".join(selections)]
    with ThreadPoolExecutor(apart or 1) as pool:
        runs = list(pool.map(lambda selection: _run_or_reuse(keep, *options, "-k", selection), selections))
    if runs[0].code == 4:
        return {"absent": re.split(r" \(line |; ", runs[0].complaint.partition(": ")[2])[0]}
    if failed := next((run for run in runs if run.code not in COMPLETED_EXIT_CODES), None):
        raise SystemExit(f"{backend}: pytest ended with {failed.code}\n{failed.text[-2000:]}")
    verdicts = list({(fact["id"], fact["dtype"]): fact for run in runs for fact in run.facts}.values())
    return build_entry(verdicts, names, effort, shapes)


def build_entry(verdicts: list[Entry], names: tuple[str, ...], effort: str, shapes: int | None) -> Entry:
    """Return the entry of a backend from its verdicts."""
    cells: dict[str, Entry] = {name: {} for name in names}
    for name, by_dtype in cells.items():
        for dtype in RESULT_DTYPES:
            if facts := [f for f in verdicts if (f["operation"], f["dtype"], f["level"]) == (name, dtype, None)]:
                by_dtype[dtype] = _make_cell([fact for fact in facts if fact["status"] in ("passed", "failed")])
    return {
        "version": verdicts[0]["version"],
        "date": datetime.now(UTC).date().isoformat(),
        "effort": effort,
        "shapes": shapes,
        "examples": sum(fact["examples"] for fact in verdicts),
        "seconds": round(sum(fact["seconds"] for fact in verdicts)),
        "cells": cells,
    }


def read_merged(folder: Path, names: tuple[str, ...]) -> dict[str, Entry]:
    """Return the entries of the backends in the merged report of a campaign."""
    report = read(folder)
    verdicts = {b.name: [to_record(v) for v in report.verdicts if v.backend == b.name] for b in report.backends}
    return {name: build_entry(found, names, report.header.effort, report.header.shapes) for name, found in verdicts.items()}


def merge_entries(whole: Entry, part: Entry) -> Entry:
    """Return the entry `whole` with the operations of the newer entry `part`, whose options are listed under "again"."""
    options = {key: value for key, value in part.items() if key != "cells"}
    earlier = (
        {**again, "operations": [n for n in again["operations"] if n not in part["cells"]]} for again in whole.get("again", ())
    )
    again = [*(run for run in earlier if run["operations"]), {"operations": list(part["cells"]), **options}]
    return {**whole, "cells": {**whole["cells"], **part["cells"]}, "again": again}


def _run_or_reuse(folder: Path | None, *args: str) -> Run:
    """Run the suite and take the verdicts from its report. Reuse what `folder` has of a run with the same arguments."""
    with tempfile.TemporaryDirectory() as temporary:
        report = (folder or Path(temporary)).resolve() / _name_folder(args)
        before = _read_report(report)
        if before and before.complete:
            return Run(0, "", {}, to_record(before.verdicts))
        resume = ["--resume"] if before else []
        run = _run_suite(Path(temporary), *args, f"--report={report}", *resume)
        after = _read_report(report)
    return replace(run, facts=to_record(after.verdicts) if after else [])


def _name_folder(args: tuple[str, ...]) -> str:
    """Return a folder name for the arguments of a run, of limited length and different for different arguments."""
    text = " ".join(args)
    return f"{re.sub(r'[^a-z0-9]+', '-', text.lower()).strip('-')[:100]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _read_report(folder: Path) -> Report | None:
    with suppress(ReportError):  # there is no report yet, or it is empty
        return read(folder)
    return None


def _run_suite(folder: Path, *args: str) -> Run:
    """Run the suite with JAX's float64 switched on."""
    return pytest_run(folder, *SUITE, *SEED, *args, env=environment(ROOT, JAX_ENABLE_X64="1"), timeout=None)


def select_operation(name: str) -> str:
    """Return the expression for -k that selects the tests of an operation: those that every operation has, and its own."""
    return f"([{name}- or test_{name}.py or test_{name}__)"


def _make_cell(tried: list[Entry]) -> Entry:
    """Summarize the verdicts of one operation in one dtype."""
    compared = next((fact for fact in tried if fact["id"].endswith(".reference")), {"class": None, "worst": None, "median": None})
    broken = [fact["id"].partition(".")[2] for fact in tried if fact["status"] == "failed"]
    shares = {name: compared[name] if compared[name] is None else float(compared[name]) for name in ("worst", "median")}
    return {"class": compared["class"], **shares, "tried": len(tried), "broken": broken} if tried else {}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m meta_tests.measure.conformance")
    parser.add_argument("backends", nargs="*", metavar="BACKEND", help="every one that ships, if none is named")
    parser.add_argument("--gradients", action="store_true", help="these, and not the operations")
    parser.add_argument("--effort", default="default")
    parser.add_argument("--dtype", default="", help="only these, separated by commas")
    parser.add_argument("--precision", default="", help="a class to which they are held: that gives entries of their own")
    parser.add_argument("--time-limit", default="", help="seconds for a call, for a backend that compiles in it")
    parser.add_argument("--shapes", type=int, help="of each operation at most, for a backend that compiles for each")
    parser.add_argument(
        "--apart",
        type=int,
        default=0,
        metavar="N",
        help="each operation in a process of its own, N at a time: what JAX compiles fills the memory",
    )
    parser.add_argument(
        "--keep",
        type=Path,
        default=MEASURED / "reports" if KEPT_VARIABLE in os.environ else None,
        metavar="DIR",
        help="the runs' reports are kept there, and what they have is not tried again: for what takes hours, with --apart",
    )
    parser.add_argument("--merged", type=Path, metavar="DIR", help="take the results from this merged report of a campaign")
    parser.add_argument("--only", default="", metavar="OPERATIONS", help="these, separated by commas, of the entry that is there")
    parser.add_argument("--write", action="store_true", help="into conformance.json and conformance.txt in docs/measured")
    options = parser.parse_args()
    data, every = (GRADIENTS_JSON, gradients()) if options.gradients else (CONFORMANCE_JSON, operations())
    only = options.only.split(",") if options.only else every
    if unknown := [name for name in only if name not in every]:
        parser.error(f"--only={options.only}: there is no {unknown[0]!r}; there are {', '.join(every)}")
    names = tuple(name for name in every if name in only)
    entries: dict[str, Entry] = json.loads(data.read_text()) if options.write and data.exists() else {}
    suite_options = {"dtype": options.dtype, "precision": options.precision, "time-limit": options.time_limit}
    more = [f"--{option}={value}" for option, value in suite_options.items() if value]
    settings = {"names": names, "shapes": options.shapes, "apart": options.apart, "keep": options.keep}
    merged = read_merged(options.merged, names) if options.merged else {}
    for backend in merged or options.backends or (*built_in_backends(), *EXAMPLES):
        entry = merged.get(backend) or measure_backend(backend, options.effort, *more, **settings)
        name = f"{backend} ({options.precision})" if options.precision else backend
        if "cells" not in entries.get(name, {}):
            entries[name] = entry
        elif "cells" in entry:
            entries[name] = merge_entries(entries[name], entry) if options.only else entry
        if options.write:
            lines = (f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in sorted(entries.items()))
            data.write_text("{\n" + ",\n".join(lines) + "\n}\n")  # one line for each backend
            data.with_suffix(".txt").write_text("\n".join(format_table(entries)) + "\n")
    print("\n".join(format_table(entries)))


if __name__ == "__main__":
    main()
