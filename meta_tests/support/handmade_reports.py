"""Write reports by hand, with verdicts that a run cannot be made to give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spec_tests.report import Report, format_line, format_record, read
from spec_tests.report.records import Malformed, from_record, read_line
from spec_tests.report.verdict import RecordedVerdict

HEADER = {
    "record": "header", "schema": 1, "suite": "0.1.0", "spec": "1.0", "started": "2026-01-02T03:04:05+00:00",
    "command": ["pytest"], "backends": ["mine.py"], "dtypes": [], "precision": None, "effort": "default", "required": [],
    "required_levels": [],
    "selection": {}, "seed": None, "python": "3.12.0", "platform": "an OS", "machine": "a machine", "libraries": {"numpy": "2.0"},
}  # fmt: skip
BACKEND = {
    "record": "backend", "name": "mine", "text": "mine.py", "version": "numpy 2.0", "file": "mine.py", "sha256": "0" * 64,
    "framework": {"name": "numpy", "version": "2.0"}, "device": "cpu", "dtypes": ["float32"], "operations": ["relu"],
    "gradients": [], "domain": {}, "conventions": {},
}  # fmt: skip
VERDICT = {
    "record": "verdict", "id": "relu.reference", "operation": "relu", "backend": "mine", "version": "numpy 2.0",
    "dtype": "float32", "domain": "", "kind": "B", "level": None, "status": "passed", "reason": "", "class": "fused",
    "examples": 128, "refused": 0,
    "worst": 0.25, "median": 0.1, "unclaimed": 0.0, "seconds": 0.1, "statement": "The value equals the equation.", "source": "",
    "device": "cpu", "names": "", "drawn": 128, "answered": 128, "unexplained": 0, "refusals": [], "region": None,
    "variants": {"answered": [], "refused": [], "classes answered": [], "classes refused": []},
    "dtypes_stated": True, "conventions": {"stated": {}, "answers": {}}, "results": {}, "example": None, "known": "", "stale": "",
    "repeats": True, "oracle": False, "causes": [], "other_failures": [],
    "hardest": None, "failure": None, "node": "test_every_operation.py::test_reference[relu-mine-float32]",
}  # fmt: skip
TOTALS = {"passed": 0, "failed": 0, "skipped": 0, "not held": 0, "error": 0}
FOOTER = {
    "record": "footer", "complete": True, "reason": "finished", "exit_status": 0, "selected": 1, "totals": TOTALS,
    "examples": 128, "seconds": 1.0,
}  # fmt: skip
FAILURE = {
    "broken": "mine breaks relu.reference", "statement": "The value equals the equation.", "circumstances": "within the bound",
    "inputs": "relu(\n    x = [1.]\n)", "what": "1 of 1 elements are wrong", "facts": [["expected", "1"], ["got", "0"]],
    "diagnosis": [], "script": "print(1)", "again": "pytest -k relu.reference",
}  # fmt: skip


def verdict(name: str = "relu.reference", dtype: str = "float32", **other: Any) -> dict[str, Any]:
    """Return the record of a verdict that passed; `other` replaces its fields."""
    return {**VERDICT, "id": name, "operation": name.partition(".")[0], "dtype": dtype, **other}


def failed(
    name: str = "relu.reference", dtype: str = "float32", said: str = "", explained: dict[str, str] | None = None, **other: Any
) -> dict[str, Any]:
    """Return the record of a verdict that failed.

    `said` is its reason, `explained` the deviations that explain it, by their ids; `other` replaces fields of its failure.
    """
    explanations = [{"id": key, "what": what, "kind": "deviation"} for key, what in (explained or {}).items()]
    failure = {**FAILURE, "broken": f"mine breaks {name}", "diagnosis": explanations, **other}
    what = " or ".join(f"{found['what']} ({found['id']})" for found in explanations)
    said = said or (f"matches: {what}" if what else failure["what"])
    ids = list(explained or [f"{name} is wrong"])
    cause = {
        "key": " or ".join(ids), "ids": ids, "kind": "deviation" if explained else "symptom", "operation": name.partition(".")[0],
        "what": what or said, "explanations": explanations, "wrong": 1, "right": 0, "failing": 1,
    }  # fmt: skip
    return verdict(name, dtype, status="failed", reason=said, failure=failure, causes=[cause])


def judged(record: dict[str, Any]) -> RecordedVerdict:
    """Return the verdict of a record."""
    return from_record(RecordedVerdict, record)


def find_complaint(record: dict[str, Any]) -> str:
    """Return what reading a record says that is wrong with it, "" if nothing is."""
    try:
        read_line(record)
    except Malformed as error:
        return str(error)
    return ""


def report(
    folder: Path, *records: dict[str, Any] | RecordedVerdict, footer: dict[str, Any] | None = FOOTER, **header: Any
) -> Report:
    """Write a report with these records into the folder, and read it."""
    folder.mkdir(parents=True, exist_ok=True)
    all_records = [{**HEADER, **header}, BACKEND, *records, *([footer] if footer else [])]
    lines = (format_record(record) if isinstance(record, dict) else format_line(record) for record in all_records)
    (folder / "report.jsonl").write_text("".join(lines))
    return read(folder)
