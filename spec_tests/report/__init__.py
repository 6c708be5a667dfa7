"""What people and machines are told of a run: messages, tables, the page, the badge. `read` reads the data back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SCHEMA = 1  # of report.jsonl, as schema.json describes it: a new number where a reader of the old one would go wrong
DATA, PAGE, BADGE = "report.jsonl", "report.html", "badge.json"


class ReportError(Exception):
    """What was given, and why it is no report: one sentence."""


@dataclass
class Report:
    """The records of one run, in the order in which they were written."""

    path: Path
    header: dict[str, Any]
    backends: list[dict[str, Any]] = field(default_factory=list)
    verdicts: list[dict[str, Any]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    footer: dict[str, Any] | None = None

    @property
    def complete(self) -> bool:
        """Every selected invariant has its verdict: the run was neither killed nor stopped."""
        return self.footer is not None and bool(self.footer["complete"])

    @property
    def ending(self) -> str:
        return self.footer["reason"] if self.footer else "killed, or still running"


def read(path: str | Path) -> Report:
    """The report in a folder, or in a file. A last line that was cut off is left out, and the report is then incomplete."""
    path = Path(path)
    path = path / DATA if path.is_dir() else path
    try:
        records = list(_records(path.read_text(encoding="utf-8", errors="replace")))
    except OSError as error:
        raise ReportError(f"{path}: there is no report ({error.strerror or error}); --report=DIR writes one") from None
    except ValueError as error:
        raise ReportError(f"{path} is no report of this suite: {error}") from None
    if not records or records[0].get("record") != "header":
        raise ReportError(f"{path} is no report of this suite: its first line is no header")
    if records[0]["schema"] > SCHEMA:
        raise ReportError(f"{path} has schema {records[0]['schema']}, and this version reads {SCHEMA}: install a newer one")
    report = Report(path, records[0])
    lists = {"backend": report.backends, "verdict": report.verdicts, "error": report.errors}
    for record in records[1:]:
        if record["record"] == "footer":
            report.footer = record
        elif record["record"] in lists:
            lists[record["record"]].append(record)
    return report


def _records(text: str) -> Iterator[dict[str, Any]]:
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line) if line.strip() else None
        except ValueError:
            if number < len(lines):
                raise ValueError(f"line {number} is no JSON") from None
            continue  # the last one, with no end: the process died there
        if record is not None:
            if not isinstance(record, dict) or "record" not in record:
                raise ValueError(f"line {number} is no record")
            yield record


def format_record(record: dict[str, Any]) -> str:
    """ASCII alone, and no number that JSON lacks: any reader can read it, wherever it is cut."""
    return json.dumps(_plain(record), allow_nan=False) + "\n"


def _plain(x: Any) -> Any:
    if isinstance(x, float) and (x != x or x in (float("inf"), float("-inf"))):
        return {"inf": "Infinity", "-inf": "-Infinity"}.get(str(x), "NaN")
    if isinstance(x, dict):
        return {str(key): _plain(value) for key, value in x.items()}
    if isinstance(x, list | tuple):
        return [_plain(value) for value in x]
    return x if x is None or isinstance(x, bool | int | float | str) else str(x)
