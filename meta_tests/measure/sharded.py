"""Which faults of sharded implementations are caught, and on how many ranks: python -m meta_tests.measure.sharded faults --write

Each fault is tried on 2 ranks, and on 3 and 4, and with more examples, if it is not caught before. What is said is compared with
what the fault has to be called. `layouts` tries the faults of meta_tests/support/faults_of_layouts.py.
`right` tries the right implementations on 1 to 4 ranks.
--write adds each row to docs/measured/sharded.json as soon as it is computed, and writes sharded_faults.txt, sharded_layouts.txt
or sharded_right.txt there. What has a row there is not tried again, unless --again is given, other laws or another effort: the
same command continues a run that was stopped.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from ..support.faults_of_layouts import FAULTS
from ..support.layout_fault import LayoutFault
from ..support.paths import MEASURED
from ..support.pytest_process import Run, suite
from ..support.sharded_variant import BACKENDS, Variant
from ..support.sharded_variants import VARIANTS

DATA = MEASURED / "sharded.json"
ATTEMPTS = ((2, "smoke"), (3, "smoke"), (4, "smoke"), (3, "default"))  # ranks and effort; on one rank most are no faults
RIGHT_SIZES = (1, 2, 3, 4)
SEED = 0
SHIPPED_FAULTS = {f"{variant.operation}: {variant.name} ({variant.file})": variant for variant in VARIANTS}
LAYOUT_FAULTS = {f"{fault.layout}, {fault.operation}: {fault.name}": fault for fault in FAULTS}
NAMING_KINDS = ("deviation", "near miss", "equation", "region")  # of causes that say what is wrong


def run_variant(variant: Variant | LayoutFault, world_size: int, effort: str = "smoke") -> Run:
    """Run the laws of the operation and of its gradient on the wrong backend, up to the first failure."""
    with tempfile.TemporaryDirectory() as folder:
        path = variant.write(Path(folder))
        laws = f"({variant.operation}. or {variant.operation}_vjp.)"
        options = (
            "--dtype=float32",
            f"--world-size={world_size}",
            f"--hypothesis-seed={SEED}",
            "--time-limit=60",
            "-x",
            f"--effort={effort}",
        )
        return suite(Path(folder), f"--backend={path.name}", *options, "-k", laws)


def try_fault(variant: Variant | LayoutFault, attempts: Sequence[tuple[int, str]] = ATTEMPTS) -> dict[str, Any]:
    """Try the fault on more and more ranks until a law fails, at last with more examples. Return its row.

    That has the number of ranks, the effort, the law that failed first, "" if none did, and the cause that the run names.
    """
    for world_size, effort in attempts:
        run = run_variant(variant, world_size, effort)
        assert run.code in (0, 1), run.text
        tried = {"backend": variant.backend, "world_size": world_size, "effort": effort}
        for fact in run.facts:
            if fact["status"] == "failed":
                cause = fact["causes"][0] if fact["causes"] else {"kind": "symptom", "what": fact["reason"]}
                return {**tried, "law": fact["id"], "kind": cause["kind"], "cause": cause["what"]}
    return {**tried, "law": "", "kind": "", "cause": ""}


def try_layout(fault: LayoutFault, number: int) -> dict[str, Any]:
    """Try the fault of a layout on 2 or on 3 ranks first, which take turns. Return its row."""
    sizes = ((2, "smoke"), (3, "smoke")) if number % 2 else ((3, "smoke"), (2, "smoke"))
    return try_fault(fault, (*sizes, (3, "default")))


def judge_cause(fault: Variant | LayoutFault, row: dict[str, Any]) -> str:
    """Return how well the cause of a row says the fault.

    "named": it is what the fault has to be called. "quoted": it is an exception, with the line that raises it. "vague": it is a
    region. "unexplained": nothing is said. "false": it is something else.
    """
    if not row["law"]:
        return "not caught"
    if row["kind"] == "exception":
        return "quoted"
    if row["kind"] in NAMING_KINDS and row["kind"] != "region":
        return "named" if re.search(fault.says, row["cause"], re.IGNORECASE) else "false"
    return "vague" if row["kind"] == "region" else "unexplained"


def try_right(backend: str, world_size: int, laws: str, effort: str) -> dict[str, Any]:
    """Try a right backend in all dtypes. Return its row: the counts of its verdicts, and what failed."""
    with tempfile.TemporaryDirectory() as folder:
        options = (f"--world-size={world_size}", f"--hypothesis-seed={SEED}", f"--effort={effort}")
        options += ("-k", laws) if laws else ()
        run = suite(Path(folder), f"--backend={backend.replace('_', '-')}", *options, timeout=None)
    assert run.code in (0, 1), run.text
    counts = Counter(fact["status"] for fact in run.facts)
    alarms = [f"{fact['id']} {fact['dtype']}" for fact in run.facts if fact["status"] == "failed"]
    examples = sum(fact["examples"] for fact in run.facts)
    return {"laws": laws, "effort": effort, "passed": counts["passed"], "alarms": alarms, "examples": examples}


def list_tasks(part: str, laws: str, effort: str) -> dict[str, Callable[[], dict[str, Any]]]:
    """Return what a part has to try, by the key of its row."""
    if part == "faults":
        return {key: partial(try_fault, variant) for key, variant in SHIPPED_FAULTS.items()}
    if part == "layouts":
        return {key: partial(try_layout, fault, number) for number, (key, fault) in enumerate(LAYOUT_FAULTS.items())}
    return {
        f"{backend.replace('_', '-')} on {size} rank{'s' * (size > 1)}": partial(try_right, backend, size, laws, effort)
        for backend in BACKENDS
        for size in RIGHT_SIZES
    }


def describe_judged(faults: Mapping[str, Variant | LayoutFault], what: str, rows: dict[str, Any], count: int) -> Iterator[str]:
    """Yield the lines of the text of faults: how many were caught, how well their causes were said, and each."""
    judged = {key: judge_cause(faults[key], row) for key, row in rows.items()}
    said = Counter(judged.values())
    yield f"{len(rows) - said['not caught']} of {len(rows)} {what} are caught: {said['named']} are named, "
    yield f"{said['quoted']} end with an exception that is quoted, {said['vague']} are described vaguely,"
    yield f"{said['false']} called something else, {said['unexplained']} not explained."
    if len(rows) < count:
        yield f"{count - len(rows)} more have not been tried."
    yield "Each runs in float32. The law is the first that failed."
    for key, row in rows.items():
        found = f"{row['law']} on {row['world_size']} ranks at {row['effort']} effort" if row["law"] else "NOT CAUGHT"
        yield f"\n{key}\n    {judged[key]}: {found}; {row['kind']}: {row['cause']}"


def describe_right(rows: dict[str, Any], count: int) -> Iterator[str]:
    """Yield the lines of sharded_right.txt."""
    yield "The right implementations in all dtypes, the laws about memory left out where ranks are processes."
    if len(rows) < count:
        yield f"{count - len(rows)} more have not been tried."
    for key, row in rows.items():
        examples = f"{row['examples']} examples at {row['effort']} effort" + f" (laws: {row['laws']})" * bool(row["laws"])
        yield f"{key}: {row['passed']} laws held, {len(row['alarms'])} failed, {examples}"
        yield from (f"    ALARM {alarm}" for alarm in row["alarms"])


DESCRIBE: dict[str, Callable[[dict[str, Any], int], Iterator[str]]] = {
    "faults": partial(describe_judged, SHIPPED_FAULTS, "faults of sharded implementations that ship"),
    "layouts": partial(describe_judged, LAYOUT_FAULTS, "faults of six layouts"),
    "right": describe_right,
}


def read_rows() -> dict[str, dict[str, Any]]:
    """Return the rows that were measured, by part and key."""
    found = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {}
    return {part: found.get(part, {}) for part in DESCRIBE}


def format_part(part: str, rows: dict[str, Any]) -> str:
    """Return the text of a part, of the rows of what it tries today."""
    keys = list(list_tasks(part, "", ""))
    return "\n".join(DESCRIBE[part]({key: rows[key] for key in keys if key in rows}, len(keys))) + "\n"


def write_rows(part: str, rows: dict[str, dict[str, Any]]) -> None:
    """Write the rows of all parts, and the text of this one."""
    DATA.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    (MEASURED / f"sharded_{part}.txt").write_text(format_part(part, rows[part]), encoding="utf-8")


def main() -> None:
    """Measure a part, and add its rows to the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=DESCRIBE)
    parser.add_argument("--only", default="", help="a part of the key of a row, such as an operation or a backend")
    parser.add_argument("--laws", default="", help="the laws of the right implementations, as -k selects them (default: all)")
    parser.add_argument("--effort", default="default", help="the effort of the right implementations (default: default)")
    parser.add_argument("--jobs", type=int, default=1, help="how many runs at the same time (default: 1)")
    parser.add_argument("--write", action="store_true", help="add each row to docs/measured/sharded.json")
    parser.add_argument("--again", action="store_true", help="try also what has a row there")
    options = parser.parse_args()
    rows, tasks = read_rows(), list_tasks(options.part, options.laws, options.effort)
    done = rows[options.part]
    asked = {"laws": options.laws, "effort": options.effort} if options.part == "right" else {}
    is_done = {key: all(row[name] == value for name, value in asked.items()) for key, row in done.items()}
    keys = [key for key in tasks if options.only in key and (options.again or not is_done.get(key))]
    with ThreadPoolExecutor(options.jobs) as pool:
        for key, row in zip(keys, pool.map(lambda key: tasks[key](), keys), strict=True):
            print(*DESCRIBE[options.part]({key: row}, 1), sep="\n", flush=True)
            done[key] = row
            if options.write:
                write_rows(options.part, rows)


if __name__ == "__main__":
    main()
