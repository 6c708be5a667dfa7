"""The report of a run: failure messages, tables, the page, the badge. `read` reads the data of a report back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .chain import is_whole
from .records import Malformed, read_line, write_line
from .run_lines import SCHEMA, Footer, Header, RunError, StatedBackend
from .verdict import RecordedVerdict

DATA, PAGE, BADGE = "report.jsonl", "report.html", "badge.json"


class ReportError(Exception):
    """A file is not a report that can be used. The message is one sentence."""


@dataclass
class Report:
    """The lines of the report of one run, in the order in which they were written."""

    path: Path
    header: Header
    backends: list[StatedBackend] = field(default_factory=list)
    verdicts: list[RecordedVerdict] = field(default_factory=list)
    errors: list[RunError] = field(default_factory=list)
    footer: Footer | None = None

    @property
    def complete(self) -> bool:
        """Whether every selected invariant has its verdict. False if the run was killed or stopped."""
        return self.footer is not None and self.footer.complete

    @property
    def shared(self) -> list[str]:
        """The backends that ran in the suite's own process, and could change what it says of them."""
        if self.header.isolate:
            return []
        isolated = {backend.name for backend in self.backends if backend.isolated}
        names = dict.fromkeys([*(backend.name for backend in self.backends), *(v.backend for v in self.verdicts)])
        return [name for name in names or self.header.backends if name not in isolated]

    @property
    def ending(self) -> str:
        """How the run ended, in a few words."""
        if self.footer and self.footer.cuts:
            return "; ".join(dict.fromkeys(cut.sentence for cut in self.footer.cuts.values()))
        return self.footer.reason if self.footer else "killed, or still running"


def read(path: str | Path) -> Report:
    """Read the report in a folder or file. A last line that was cut off is left out, and the report is then incomplete."""
    return read_data(read_bytes(file := find_data(path)), file)


def find_data(path: str | Path) -> Path:
    """Return the file of the data of a report, in a folder or by its own name."""
    path = Path(path)
    return path / DATA if path.is_dir() else path


def read_bytes(file: Path) -> bytes:
    """Return the data of a report as they are."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise ReportError(f"{file}: there is no report ({error.strerror or error}); --report=DIR writes one") from None


def read_data(data: bytes, path: Path) -> Report:
    """Read the data of a report. `path` is what messages call them."""
    try:
        records = list(_parse_records(data.decode(errors="replace")))
    except ValueError as error:
        raise ReportError(f"{path} is no report of this suite: {error}") from None
    if not records or records[0].get("record") != "header":
        raise ReportError(f"{path} is no report of this suite: its first line is no header")
    schema = records[0].get("schema")
    if isinstance(schema, int) and schema > SCHEMA:
        raise ReportError(f"{path} has schema {schema}, and this version reads {SCHEMA}: install a newer one")
    lines = []
    for number, record in enumerate(records, 1):
        try:
            lines.append(read_line(record))
        except Malformed as error:
            raise ReportError(f"{path} is no report of this suite: its record {number} {error}") from None
    report = _build_report(path, lines)
    if not is_whole(data) or (report.footer and not _is_sealed(data, report.footer)):
        raise ReportError(f"{path} was changed after the run had written it: run the suite again")
    return report


def _is_sealed(data: bytes, footer: Footer) -> bool:
    """Whether the data before the footer have the hash that the footer states. Older reports state none."""
    if not footer.sha256:
        return True
    before, _, last = data.rstrip(b"\n").rpartition(b"\n")
    return hashlib.sha256(before + b"\n").hexdigest() == footer.sha256 and b'"footer"' in last


def _build_report(path: Path, lines: list[Any]) -> Report:
    """Return the report of its lines. Of several verdicts on one trial the last counts, which is the worst."""
    report = Report(path, lines[0])
    verdicts: dict[tuple[str, ...], RecordedVerdict] = {}
    for line in lines[1:]:
        if isinstance(line, Footer):
            report.footer = line
        elif isinstance(line, RecordedVerdict):
            verdicts[line.node, line.id, line.backend, line.dtype] = line
        elif isinstance(line, StatedBackend):
            report.backends.append(line)
        elif isinstance(line, RunError):
            report.errors.append(line)
    report.verdicts = list(verdicts.values())
    return report


def _parse_records(text: str) -> Iterator[dict[str, Any]]:
    """Yield the record of each line. Raise ValueError for a line that holds none, unless it is a last line without an end."""
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line) if line.strip() else None
        except RecursionError:
            raise ValueError(f"line {number} is nested too deeply") from None
        except ValueError:
            if number < len(lines):
                raise ValueError(f"line {number} is no JSON") from None
            continue  # the process died while it wrote the last line
        if record is not None:
            if not isinstance(record, dict) or "record" not in record:
                raise ValueError(f"line {number} is no record")
            yield record


def format_line(known: Any) -> str:
    """Return the line of the report that says this: a header, a backend, a verdict, an error or a footer."""
    return format_record(write_line(known))


def format_record(record: dict[str, Any]) -> str:
    """Return the line of a record. It is ASCII and has no number that JSON lacks, so that every reader can read it."""
    return json.dumps(to_json_value(record), allow_nan=False) + "\n"


def to_json_value(x: Any) -> Any:
    """Return a value that JSON has: the words Infinity, -Infinity and NaN for such numbers, the text of an unknown object."""
    if isinstance(x, float) and (x != x or x in (float("inf"), float("-inf"))):
        return {"inf": "Infinity", "-inf": "-Infinity"}.get(str(x), "NaN")
    if isinstance(x, dict):
        return {str(key): to_json_value(value) for key, value in x.items()}
    if isinstance(x, list | tuple):
        return [to_json_value(value) for value in x]
    return x if x is None or isinstance(x, bool | int | float | str) else str(x)
