"""Files of known failures, of --known-failing and --known-flaky: JSON lines, each with a reason and the example that fails."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import pytest

from ..implementation.printable import printable
from ..inputs.choices import parse_choices
from ..specification.formats import RESULT_DTYPES
from ..trials.collection import invariants
from .selection import operation_names

FAILING, FLAKY = "failing", "flaky"  # the kinds of files: what must fail, and what may fail


class MalformedKnownFile(Exception):
    """A file cannot be read. The message is one sentence: the file, the line, and what is wrong with it."""


@dataclass(frozen=True)
class Entry:
    """One line of a file. A field that is empty matches every value."""

    id: str
    backend: str = ""
    dtype: str = ""
    device: str = ""
    reason: str = ""
    link: str = ""
    example: str = ""  # the choices that make the failing example, as text

    @property
    def choices(self) -> tuple[int, ...]:
        """The choices that make the failing example, or ()."""
        return parse_choices(self.example) if self.example else ()

    def matches(self, record: Mapping[str, Any]) -> bool:
        """Whether the entry is about the trial of a verdict record, or of an identity alone."""
        criteria = {name: getattr(self, name) for name in ("id", "backend", "dtype", "device")}
        return all(value in ("", record[name]) for name, value in criteria.items())


@dataclass
class KnownFile:
    """One file of known failures."""

    kind: str  # FAILING or FLAKY
    path: Path
    entries: dict[int, Entry]  # by line number

    def find_entry(self, record: Mapping[str, Any]) -> tuple[int, Entry] | None:
        """Return the entry that is about a trial, with its line number."""
        return next(((line, entry) for line, entry in self.entries.items() if entry.matches(record)), None)

    def describe_unknown_id(self, ids: Collection[str]) -> str:
        """Return one sentence about the first entry whose id no invariant has, or ""."""
        for line, entry in self.entries.items():
            if entry.id not in ids:
                near = difflib.get_close_matches(entry.id, ids, n=2)
                hint = f"; did you mean {' or '.join(near)}?" if near else ""
                return f"{self.path}, line {line}: there is no invariant {entry.id}{hint}"
        return ""


@dataclass(frozen=True)
class KnownFailures:
    """The files of known failures of a run."""

    files: tuple[KnownFile, ...] = ()
    update: bool = False  # whether the run writes its failures into the files

    def find_entry(self, identity: Mapping[str, str]) -> tuple[str, str, Entry | None]:
        """Return the kind of the failure, the place of its entry in words, and the entry. ("", "", None) if it is not known."""
        for file in self.files:
            if found := file.find_entry(identity):
                line, entry = found
                return file.kind, f"{file.path.name}, line {line}", entry
        return "", "", None

    def check_ids(self, collected: set[str]) -> None:
        """Raise UsageError if an entry has an id that no invariant has. Only the collected ids are looked at if they suffice."""
        if any(file.describe_unknown_id(collected) for file in self.files):
            every = {test.invariant.id_for(name) for test in invariants() for name in operation_names(test.invariant)}
            for complaint in filter(None, (file.describe_unknown_id(every) for file in self.files)):
                raise pytest.UsageError(complaint)

    def update_files(self, verdicts: Sequence[Mapping[str, Any]]) -> None:
        """Write what the verdicts show into the files, if the run is asked to."""
        for file in self.files if self.update else ():
            file.path.write_text(format_updated_file(file, verdicts), encoding="utf-8")


def read_known_file(kind: str, path: Path, *, may_be_missing: bool = False) -> KnownFile:
    """Read a file of known failures. `may_be_missing`: a file that does not exist has no entries."""
    if may_be_missing and not path.exists():
        return KnownFile(kind, path, {})
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, ValueError) as error:
        raise MalformedKnownFile(f"{path} cannot be read ({getattr(error, 'strerror', None) or error})") from None
    entries: dict[int, Entry] = {}
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                entries[number] = _parse_entry(line, entries)
            except ValueError as error:
                raise MalformedKnownFile(f"{path}, line {number}: {error}") from None
    return KnownFile(kind, path, entries)


def _parse_entry(line: str, earlier: Mapping[int, Entry]) -> Entry:
    """Return the entry of a line. Raise ValueError if it has none, or if it is about the same trials as an earlier entry."""
    try:
        stated = json.loads(line)
    except ValueError as error:
        raise ValueError(f"it is no JSON ({error})") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    names = [field.name for field in fields(Entry)]
    if not isinstance(stated, dict):
        raise ValueError('it is no entry; write {"id": …, "reason": …}')
    for name, value in stated.items():
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            raise ValueError(
                f"it has {printable(name, 100)!r}{f' for {near[0]!r}' if near else ''}; an entry has {', '.join(names)}"
            )
        if not isinstance(value, str):
            raise ValueError(f"its {name} is {printable(repr(value), 100)}; give a string")
        if any("\ud800" <= character <= "\udfff" for character in value):  # JSON can state half of a pair; UTF-8 cannot
            raise ValueError(f"its {name} has a character that is none")
    for name in ("id", "reason"):
        if not stated.get(name, "").strip():
            raise ValueError(f"it has no {name}")
    if stated.get("dtype") and stated["dtype"] not in RESULT_DTYPES:
        raise ValueError(f"its dtype is {stated['dtype']!r}; there are {', '.join(RESULT_DTYPES)}")
    if stated.get("example"):
        parse_choices(stated["example"])
    entry = Entry(**stated)
    for number, other in earlier.items():
        if (other.id, other.backend, other.dtype, other.device) == (entry.id, entry.backend, entry.dtype, entry.device):
            raise ValueError(f"line {number} speaks of the same")
    return entry


def format_updated_file(known: KnownFile, verdicts: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of the file after a run.

    An entry stays if its trial failed, with the new example, or if it was not tried. An entry whose trial passed is removed,
    unless the file is of flaky failures. New failures are added.
    """
    kept = []
    for entry in known.entries.values():
        tried = [verdict for verdict in verdicts if entry.matches(verdict) and verdict["status"] in ("failed", "passed")]
        failed = [verdict for verdict in tried if verdict["status"] == "failed"]
        if failed:
            kept.append(replace(entry, example=failed[0]["example"] or entry.example))
        elif not tried or known.kind == FLAKY:
            kept.append(entry)
    return "".join(_format_entry(entry) for entry in (*kept, *_find_new_entries(known, verdicts)))


def _find_new_entries(known: KnownFile, verdicts: Sequence[Mapping[str, Any]]) -> Iterator[Entry]:
    """Yield an entry for each failure that has none: of repeatable failures in a failing file, of the others in a flaky file."""
    for verdict in verdicts:
        is_new = verdict["status"] == "failed" and known.find_entry(verdict) is None
        if is_new and verdict["repeats"] is (known.kind == FAILING):
            stated = {name: verdict[name] for name in ("id", "backend", "dtype", "device", "reason")}
            yield Entry(**stated, example=verdict["example"] or "")


def _format_entry(entry: Entry) -> str:
    return json.dumps({name: value for name, value in asdict(entry).items() if value}, ensure_ascii=False) + "\n"
