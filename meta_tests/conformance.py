"""What each backend reaches: `python -m meta_tests.conformance [--gradients] [--effort=…] [--write] [BACKEND …]`.

Each backend runs in a pytest of its own, since libraries will not share a process; what is not installed is listed as absent.
--write puts the results into docs/conformance.json, among those of other runs, and the table of all into docs/conformance.txt;
those of --gradients, which tries nothing else, into docs/gradients.json and docs/gradients.txt.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import textwrap
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from spec_tests.finding import built_in
from spec_tests.specification import gradients, operations
from spec_tests.summary import DTYPES

from .commanding import ROOT, Run, environment, pytest_run

Entry = dict[str, Any]
DATA, FINDINGS = ROOT / "docs" / "conformance.json", ROOT / "docs" / "findings"
GRADIENTS = ROOT / "docs" / "gradients.json"
COLUMNS = {"float64": "f64", "float32": "f32", "bfloat16": "bf16", "float16": "f16"}
SUITE = ("-p", "spec_tests.plugin", "-p", "no:cacheprovider", "--pyargs", "spec_tests")
SEED = ("--hypothesis-profile=default", "--hypothesis-seed=0")  # where CI is set, another profile ignores the seed
LEGEND = """
Four characters, or columns, for float64, float32, bfloat16, float16; masks and counts have the first one alone.
f, m, e: conforms, in the precision class fused, mixed or eager; x: exactly. The numbers are the largest and the median
share of the allowed error that an example used, in percent. !: deviates, with the number of invariants that are broken.
·: not implemented. Blank: not taken in that dtype. ?: its laws hold, and the equation could not be tried.
"""


def measured(
    backend: str,
    effort: str,
    *more: str,
    names: tuple[str, ...] = operations(),
    shapes: int | None = None,
    apart: int = 0,
) -> Entry:
    """One backend's results in these operations, or gradients, or the sentence that refuses it."""
    began, selected = time.monotonic(), ("" if names == gradients() else "not ") + "_vjp"
    chosen = [f"--backend={backend}", f"--effort={effort}", *more, *[f"--shapes={shapes}"] * (shapes is not None)]
    selections = [f"{selected} and {own}" for own in map(alone, names)] if apart else [selected]
    with ThreadPoolExecutor(apart or 1) as pool:
        runs = list(pool.map(lambda selection: _run(*chosen, "-k", selection), selections))
    if runs[0].code == 4:
        return {"absent": re.split(r" \(line |; ", runs[0].complaint.partition(": ")[2])[0]}
    if wrong := next((run for run in runs if run.code not in (0, 1, 5)), None):
        raise SystemExit(f"{backend}: pytest ended with {wrong.code}\n{wrong.text[-2000:]}")
    found = list({(fact["id"], fact["dtype"]): fact for run in runs for fact in run.facts}.values())
    cells: dict[str, Entry] = {name: {} for name in names}
    for name, own in cells.items():
        for dtype in DTYPES:
            if facts := [f for f in found if (f["operation"], f["dtype"], f["level"]) == (name, dtype, None)]:
                own[dtype] = _cell([fact for fact in facts if fact["status"] in ("passed", "failed")])
    return {
        "version": found[0]["version"],
        "effort": effort,
        "shapes": shapes,
        "examples": sum(fact["examples"] for fact in found),
        "seconds": round(time.monotonic() - began),
        "cells": cells,
    }


def _run(*args: str) -> Run:
    with tempfile.TemporaryDirectory() as folder:  # JAX has float64 only so
        return pytest_run(Path(folder), *SUITE, *SEED, *args, env=environment(ROOT, JAX_ENABLE_X64="1"), timeout=None)


def alone(name: str) -> str:
    """Selects an operation's tests, and not those of one whose name contains its name; some come twice, but none is left out."""
    plain = name.removesuffix("_vjp")
    return " and not ".join([name, *(other for other in operations() if plain in other and plain != other)])


def _cell(tried: list[Entry]) -> Entry:
    compared = next((fact for fact in tried if fact["id"].endswith(".reference")), {"class": None, "worst": None, "median": None})
    broken = [fact["id"].partition(".")[2] for fact in tried if fact["status"] == "failed"]
    reached = {name: compared[name] for name in ("class", "worst", "median")}
    return {**reached, "tried": len(tried), "broken": broken} if tried else {}


def written(cell: Entry) -> str:
    if not cell or cell["broken"]:
        return f"!{len(cell['broken'])}" if cell else "·"
    letter = {"exact": "x"}.get(cell["class"], (cell["class"] or "?")[0])
    shares = [cell[name] for name in ("worst", "median") if cell.get(name) is not None]
    return letter if letter == "x" else letter + "/".join(f"{100 * share:.0f}" for share in shares)


def row(entry: Entry, operation: str) -> list[str]:
    """Four columns."""
    own = {dtype if dtype in COLUMNS else "float64": cell for dtype, cell in entry["cells"][operation].items()}
    return [written(own[dtype]) if dtype in own else "" for dtype in COLUMNS] if any(own.values()) else ["·", "", "", ""]


def _line(start: str, columns: list[str], width: int) -> str:
    return (f"{start:<34}" + "".join(f"{column:<{width - 1}} " for column in columns)).rstrip()


def table(entries: dict[str, Entry]) -> Iterator[str]:
    present = {name: entry for name, entry in sorted(entries.items()) if "cells" in entry}
    subjects = list(dict.fromkeys(subject for entry in present.values() for subject in entry["cells"]))
    for number, (name, entry) in enumerate(present.items(), 1):
        few = f", {shapes} shapes of each operation" if (shapes := entry.get("shapes")) else ""
        how = f"{entry['effort']} effort, {entry['examples']} examples in {entry['seconds'] / 60:.0f} min{few}"
        yield f"{number:>2}  {name:<27} {entry['version']:<47} {how}"
    yield from LEGEND.splitlines()
    yield ""
    yield _line("", [str(number) for number in range(1, len(present) + 1)], 6)
    for operation in subjects:
        yield _line(operation, ["".join(t[:1] or " " for t in row(entry, operation)) for entry in present.values()], 6)
    for names in (list(present)[i : i + 3] for i in range(0, len(present), 3)):
        yield from ("", _line("", names, 30), _line("", ["".join(f"{c:<7}" for c in COLUMNS.values())] * len(names), 30))
        for operation in subjects:
            rows = ["".join(f"{text:<7}" for text in row(present[name], operation)) for name in names]
            if any(text.strip(" ·") for text in rows):
                yield _line(operation, rows, 30)
    absent = (f"  {name:<27} {entry['absent']}" for name, entry in sorted(entries.items()) if "absent" in entry)
    yield from ("", "deviates:", *deviations(present), "", "absent where this was run:", *absent)


def broken(entry: Entry) -> int:
    """How many laws, each in each operation and dtype."""
    return sum(len(cell.get("broken", ())) for own in entry["cells"].values() for cell in own.values())


def deviations(entries: dict[str, Entry]) -> Iterator[str]:
    """What is broken where, and the findings that say why."""
    for name, operation, own in ((name, *pair) for name, entry in entries.items() for pair in entry.get("cells", {}).items()):
        sharing: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for dtype, cell in own.items():
            if cell.get("broken"):
                sharing[tuple(cell["broken"])].append(dtype)
        for laws, dtypes in sharing.items():
            line = f"  {name}: {operation} in {', '.join(dtypes)}: {', '.join(laws)}"
            yield from textwrap.wrap(line, 125, subsequent_indent="      ")
        found = list(findings(name.partition(" (")[0], operation, {law for laws in sharing for law in laws}))
        yield from (f"    → {title}" for title in found or ["not among the findings"] * bool(sharing))


def findings(backend: str, operation: str, laws: set[str]) -> Iterator[str]:
    """The sections about this backend that name one of the invariants."""
    for page in sorted(FINDINGS.glob("*.md")):
        introduction, *sections = page.read_text().split("\n## ")
        if re.search(rf"`{backend}`|--backend={backend}`", introduction):
            for title, _, text in (section.partition("\n") for section in sections):
                if any(f"`{operation}.{law}`" in text for law in laws):
                    yield f"findings/{page.stem}: {title}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m meta_tests.conformance")
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
    parser.add_argument("--write", action="store_true", help="into docs/conformance.json and docs/conformance.txt")
    options = parser.parse_args()
    data, names = (GRADIENTS, gradients()) if options.gradients else (DATA, operations())
    entries: dict[str, Entry] = json.loads(data.read_text()) if options.write and data.exists() else {}
    stated = {"dtype": options.dtype, "precision": options.precision, "time-limit": options.time_limit}
    more = [f"--{option}={value}" for option, value in stated.items() if value]
    for backend in options.backends or built_in():
        entry = measured(backend, options.effort, *more, names=names, shapes=options.shapes, apart=options.apart)
        name = f"{backend} ({options.precision})" if options.precision else backend
        if "cells" in entry or "cells" not in entries.get(name, {}):
            entries[name] = entry
        if options.write:
            lines = (f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in sorted(entries.items()))
            data.write_text("{\n" + ",\n".join(lines) + "\n}\n")  # a line for each backend
            data.with_suffix(".txt").write_text("\n".join(table(entries)) + "\n")
    print("\n".join(table(entries)))


if __name__ == "__main__":
    main()
