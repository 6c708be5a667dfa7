"""What each backend reaches: `python -m meta_tests.measure.conformance [--gradients] [--effort=…] [--write] [BACKEND …]`.

Each backend runs in a pytest of its own, since libraries will not share a process; what is not installed is listed as absent.
--write adds the results to conformance.json in docs/measured and makes conformance.txt there anew. --gradients tries gradients
alone, and writes gradients.json and gradients.txt. --only tries a few operations of a backend again, or with other options: its
entry gets their new cells, and says how they were made.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from spec_tests.implementation.lookup import built_in_backends
from spec_tests.report import Report, ReportError, read
from spec_tests.specification.formats import RESULT_DTYPES
from spec_tests.specification.registry import gradients, operations

from ..support.paths import MEASURED, ROOT
from ..support.pytest_process import Run, environment, pytest_run
from .conformance_table import Entry, table

DATA, GRADIENTS = MEASURED / "conformance.json", MEASURED / "gradients.json"
SUITE = ("-p", "spec_tests.plugin", "-p", "no:cacheprovider", "--pyargs", "spec_tests")
SEED = ("--hypothesis-profile=default", "--hypothesis-seed=0")  # where CI is set, another profile ignores the seed
ENDED = (0, 1, 5)  # all that was selected was tried, nothing perhaps


def measured(
    backend: str,
    effort: str,
    *more: str,
    names: tuple[str, ...] = operations(),
    shapes: int | None = None,
    apart: int = 0,
    keep: Path | None = None,
) -> Entry:
    """One backend's results in these operations, or gradients, or the sentence that refuses it."""
    chosen = [f"--backend={backend}", f"--effort={effort}", *more, *[f"--shapes={shapes}"] * (shapes is not None)]
    all_of_a_kind = {operations(): "not _vjp", gradients(): "_vjp"}
    selections = list(map(alone, names)) if apart else [all_of_a_kind.get(names) or " or ".join(map(alone, names))]
    with ThreadPoolExecutor(apart or 1) as pool:
        runs = list(pool.map(lambda selection: _tried(keep, *chosen, "-k", selection), selections))
    if runs[0].code == 4:
        return {"absent": re.split(r" \(line |; ", runs[0].complaint.partition(": ")[2])[0]}
    if wrong := next((run for run in runs if run.code not in ENDED), None):
        raise SystemExit(f"{backend}: pytest ended with {wrong.code}\n{wrong.text[-2000:]}")
    found = list({(fact["id"], fact["dtype"]): fact for run in runs for fact in run.facts}.values())
    cells: dict[str, Entry] = {name: {} for name in names}
    for name, own in cells.items():
        for dtype in RESULT_DTYPES:
            if facts := [f for f in found if (f["operation"], f["dtype"], f["level"]) == (name, dtype, None)]:
                own[dtype] = _cell([fact for fact in facts if fact["status"] in ("passed", "failed")])
    return {
        "version": found[0]["version"],
        "effort": effort,
        "shapes": shapes,
        "examples": sum(fact["examples"] for fact in found),
        "seconds": round(sum(fact["seconds"] for fact in found)),
        "cells": cells,
    }


def within(whole: Entry, part: Entry) -> Entry:
    """An entry whose operations that the other one has are the other one's."""
    how = {key: value for key, value in part.items() if key != "cells"}
    earlier = (
        {**again, "operations": [n for n in again["operations"] if n not in part["cells"]]} for again in whole.get("again", ())
    )
    again = [*(one for one in earlier if one["operations"]), {"operations": list(part["cells"]), **how}]
    return {**whole, "cells": {**whole["cells"], **part["cells"]}, "again": again}


def _tried(folder: Path | None, *args: str) -> Run:
    """A run, with the verdicts of its report; what the folder's report of the same words has already is not tried again."""
    with tempfile.TemporaryDirectory() as own:
        place = (folder or Path(own)).resolve() / _named(args)
        before = _report(place)
        if before and before.complete:
            return Run(0, "", {}, before.verdicts)
        resume = ["--resume"] if before else []
        run = _run(Path(own), *args, f"--report={place}", *resume)
        after = _report(place)
    return replace(run, facts=after.verdicts if after else [])


def _named(words: tuple[str, ...]) -> str:
    """A folder's name: short enough for one, however many the words, and another for other words."""
    said = " ".join(words)
    return f"{re.sub(r'[^a-z0-9]+', '-', said.lower()).strip('-')[:100]}-{hashlib.sha256(said.encode()).hexdigest()[:8]}"


def _report(place: Path) -> Report | None:
    with suppress(ReportError):  # none yet, or nothing in it
        return read(place)
    return None


def _run(folder: Path, *args: str) -> Run:
    """The suite, with what JAX needs for float64."""
    return pytest_run(folder, *SUITE, *SEED, *args, env=environment(ROOT, JAX_ENABLE_X64="1"), timeout=None)


def alone(name: str) -> str:
    """Selects an operation's tests: of the invariants of every operation, and in its own files."""
    return f"([{name}- or test_{name}.py or test_{name}__)"


def _cell(tried: list[Entry]) -> Entry:
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
        metavar="DIR",
        help="the runs' reports are kept there, and what they have is not tried again: for what takes hours, with --apart",
    )
    parser.add_argument("--only", default="", metavar="OPERATIONS", help="these, separated by commas, of the entry that is there")
    parser.add_argument("--write", action="store_true", help="into conformance.json and conformance.txt in docs/measured")
    options = parser.parse_args()
    data, every = (GRADIENTS, gradients()) if options.gradients else (DATA, operations())
    only = options.only.split(",") if options.only else every
    if unknown := [name for name in only if name not in every]:
        parser.error(f"--only={options.only}: there is no {unknown[0]!r}; there are {', '.join(every)}")
    names = tuple(name for name in every if name in only)
    entries: dict[str, Entry] = json.loads(data.read_text()) if options.write and data.exists() else {}
    stated = {"dtype": options.dtype, "precision": options.precision, "time-limit": options.time_limit}
    more = [f"--{option}={value}" for option, value in stated.items() if value]
    how = {"names": names, "shapes": options.shapes, "apart": options.apart, "keep": options.keep}
    for backend in options.backends or built_in_backends():
        entry = measured(backend, options.effort, *more, **how)
        name = f"{backend} ({options.precision})" if options.precision else backend
        if "cells" not in entries.get(name, {}):
            entries[name] = entry
        elif "cells" in entry:
            entries[name] = within(entries[name], entry) if options.only else entry
        if options.write:
            lines = (f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in sorted(entries.items()))
            data.write_text("{\n" + ",\n".join(lines) + "\n}\n")  # a line for each backend
            data.with_suffix(".txt").write_text("\n".join(table(entries)) + "\n")
    print("\n".join(table(entries)))


if __name__ == "__main__":
    main()
