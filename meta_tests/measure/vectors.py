"""Measure which share of the known bugs of values a plain checker of test vectors catches.

python -m meta_tests.measure.vectors [OPERATION …] [--write]

It writes the vectors of each operation, as `spec-tests vectors` does by default, and calls each deviation of the operation with
them, as meta_tests/support/plain_checker.py does. A deviation is a bug of values if a single call shows it: one of the vectors,
or a call that the laws make at default effort, made alone and in fresh state. Laws about memory, state and layouts, and levels,
have no part in that. Without operations it measures those that the checker can call: which have arrays of their own, and one
result.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from spec_tests.commands import main as spec_tests
from spec_tests.deviations import Deviation, OracleBackend, deviations_of
from spec_tests.inputs.covering import Covering
from spec_tests.specification.registry import operations, specification
from spec_tests.specification.run_settings import using_settings
from spec_tests.specification.version import SPEC_VERSION, __version__
from spec_tests.trials.random_choices import RandomChoices
from spec_tests.vectors.candidates import Candidate, list_trials, make_oracle, record_example
from spec_tests.vectors.catches import Prepared, make_function

from ..support.kept_rows import KeptRows
from ..support.paths import MEASURED
from ..support.plain_checker import is_right, list_required_arrays, read_vectors

MAX_ELEMENTS = 1 << 18  # of a call of the suite


def is_measured(name: str) -> bool:
    """Whether the plain checker can call an operation: with arrays of their own, and one result that has a name for no part."""
    spec = specification(name)
    is_nested = "weights" in spec.positional or bool(spec.list_like)
    is_other = spec.has_several_results or is_nested or bool(spec.declaration.formats) or spec.declaration.random
    return bool(spec.positional) and not is_other


def list_suite_calls(name: str) -> Iterator[Candidate]:
    """Yield the calls that the laws make of the oracle at default effort, without those about memory, state and layouts."""
    with using_settings(effort="default"):
        for test, trial in list_trials(name, make_oracle(), ()):
            covering, random = Covering(), Random(f"suite {test.invariant.id} {trial.id}")
            for _ in range(trial.max_examples):
                choices = RandomChoices(random, test.invariant.drawn_operation(trial.operation_name), covering)
                for call in record_example(test, trial, choices):
                    if call.operation.name == name and not call.inexact and call.size <= MAX_ELEMENTS:
                        yield Candidate(call, test.invariant.id_for(trial.operation_name))


def find_seen_by_suite(name: str, deviations: list[Deviation]) -> dict[str, str]:
    """Return which of these bugs a single call of the suite shows, each with the law that makes the call."""
    seen: dict[str, str] = {}
    if not deviations:
        return seen
    for candidate in list_suite_calls(name):
        prepared = Prepared(candidate)
        for deviation in deviations:
            if deviation.id not in seen and prepared.catches(deviation):
                seen[deviation.id] = candidate.law
    return seen


def measure_operation(name: str) -> dict[str, Any]:
    """Return the row of an operation."""
    with tempfile.TemporaryDirectory() as folder:
        spec_tests(["vectors", name, f"--export={folder}"])
        path = Path(folder, f"{name}.safetensors")
        (record,) = json.loads(Path(folder, "vectors.json").read_text())["operations"]
        vectors = read_vectors(path)
    order, right = list_required_arrays(name), getattr(OracleBackend(), name)
    assert all(is_right(right, order, vector) for vector in vectors), f"the checker refuses right answers of {name}"
    caught = [
        deviation
        for deviation in deviations_of(name)
        if any(
            deviation.shows_in(vector[0]["dtype"]) and not is_right(make_function(deviation), order, vector) for vector in vectors
        )
    ]
    missed = find_seen_by_suite(name, [deviation for deviation in deviations_of(name) if deviation not in caught])
    return record | {"caught": len(caught), "missed": missed, "deviations": len(deviations_of(name))}


def _format_row(record: dict[str, Any]) -> str:
    caught = f"{record['caught']} of {record['caught'] + len(record['missed'])}"
    return f"{record['operation']:<36} {record['vectors']:>7} {record['plain']:>6} {record['bytes']:>9}  {caught}"


def format_table(records: list[dict[str, Any]]) -> str:
    caught, missed = sum(r["caught"] for r in records), sum(len(r["missed"]) for r in records)
    size, vectors = (sum(record[key] for record in records) for key in ("bytes", "vectors"))
    lines = [
        f"{vectors} vectors of {len(records)} operations, {size / 1e6:.1f} MB, "
        f"catch {caught} of {caught + missed} bugs of values ({caught / (caught + missed):.1%}).",
        "",
        f"{'operation':<36} vectors  plain     bytes  bugs of values caught",
        *map(_format_row, records),
        "",
        "missed, with a law of the suite that sees it:",
        *(f"    {deviation:<56} {law}" for r in records for deviation, law in sorted(r["missed"].items())),
    ]
    return "\n".join(lines) + "\n"


def measure(names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the rows of these operations, one after the other. A run that was stopped goes on."""
    kept = KeptRows("vectors")
    for name in names:
        if name not in kept.rows:
            kept.add(name, measure_operation(name))
    return [kept.rows[name] for name in names]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operations", nargs="*", metavar="OPERATION")
    parser.add_argument("--write", action="store_true", help="write docs/measured/vectors.json and vectors.txt")
    options = parser.parse_args()
    names = tuple(options.operations) or tuple(name for name in operations() if is_measured(name))
    records = measure(names)
    text = format_table(records)
    print(text)
    if options.write:
        summary = {"spec": SPEC_VERSION, "suite": __version__, "operations": records}
        (MEASURED / "vectors.json").write_text(json.dumps(summary, indent=1) + "\n")
        (MEASURED / "vectors.txt").write_text(text)


if __name__ == "__main__":
    main()
