"""Files of known failures, of --known-failing and --known-flaky: JSON lines, each with a reason and the example that fails."""

from __future__ import annotations

import difflib
import fnmatch
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import pytest

from ..implementation.printable import printable
from ..inputs.choices import parse_choices
from ..report.verdict import TrialIdentity, Verdict
from ..specification.formats import RESULT_DTYPES
from ..trials.collection import invariants
from .selection import operation_names

SELECTORS = ("id", "operation", "deviation", "backend", "dtype", "device")  # the fields of an entry that say what it is about
FAILING, FLAKY = "failing", "flaky"  # the kinds of files: what must fail, and what may fail


class MalformedKnownFile(Exception):
    """A file cannot be read. The message is one sentence: the file, the line, and what is wrong with it."""


@dataclass(frozen=True)
class Entry:
    """One line of a file. A field that is empty matches every value.

    An entry with the id of one invariant must fail wherever it matches. The others are patterns, of which some trials may hold.
    """

    id: str = ""  # of an invariant, or a pattern with *, ? or [
    operation: str = ""
    deviation: str = ""  # id of a deviation, or of a near miss, that must explain the failure
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

    @property
    def is_pattern(self) -> bool:
        """Whether the entry may be about several invariants, or about a part of the failures of one."""
        return bool(self.operation or self.deviation or set(self.id) & {*"*?["})

    def matches(self, trial: TrialIdentity, deviations: Collection[str] = ()) -> bool:
        """Whether the entry is about a trial, or about its verdict.

        `deviations` are the ids that explain its failure. An entry with a deviation is about no other trials.
        """
        return self.covers(trial) and (not self.deviation or self.deviation in deviations)

    def covers(self, trial: TrialIdentity) -> bool:
        """Whether the entry is about the trial, if its deviation explains the failure."""
        wanted = (
            (self.operation, trial.subject),
            (self.backend, trial.backend),
            (self.dtype, trial.dtype),
            (self.device, trial.device),
        )
        matches_id = self.id in ("", trial.id) or (self.is_pattern and fnmatch.fnmatchcase(trial.id, self.id))
        return matches_id and all(value in ("", own) for value, own in wanted)


@dataclass
class KnownFile:
    """One file of known failures."""

    kind: str  # FAILING or FLAKY
    path: Path
    entries: dict[int, Entry]  # by line number

    def find_entry(self, trial: TrialIdentity, deviations: Collection[str] = ()) -> tuple[int, Entry] | None:
        """Return the entry that is about a trial, with its line number. An entry of one invariant goes before a pattern."""
        found = [(line, entry) for line, entry in self.entries.items() if entry.matches(trial, deviations)]
        return min(found, key=lambda pair: pair[1].is_pattern, default=None)

    def describe_unknown_name(self, ids: Collection[str]) -> str:
        """Return one sentence about the first entry that no invariant of these ids matches, or ""."""
        for line, entry in self.entries.items():
            for kind, name, names in (
                ("invariant", entry.id, ids),
                ("operation", entry.operation, {known.partition(".")[0] for known in ids}),
            ):
                if name and name not in names and not fnmatch.filter(names, name):
                    near = difflib.get_close_matches(name, names, n=2)
                    hint = f"; did you mean {' or '.join(near)}?" if near else ""
                    return f"{self.path}, line {line}: there is no {kind} {name}{hint}"
            if entry.deviation and (complaint := _describe_unknown_deviation(entry.deviation)):
                return f"{self.path}, line {line}: {complaint}"
        return ""

    def find_stale_patterns(self, verdicts: Sequence[Verdict]) -> Iterator[str]:
        """Yield the place of each pattern that covers trials of which none has failed as it says."""
        for line, entry in self.entries.items() if self.kind == FAILING else ():
            covered = [v for v in verdicts if entry.is_pattern and entry.covers(v) and v.status in ("failed", "passed")]
            if covered and not any(v.status == "failed" and entry.matches(v, v.explanation_ids) for v in covered):
                yield f"{self.path.name}, line {line}"


@dataclass(frozen=True)
class KnownFailures:
    """The files of known failures of a run."""

    files: tuple[KnownFile, ...] = ()
    update: bool = False  # whether the run writes its failures into the files

    def find_entry(self, trial: TrialIdentity, deviations: Collection[str] = ()) -> tuple[str, str, Entry | None]:
        """Return the kind of the failure, the place of its entry in words, and the entry. ("", "", None) if it is not known."""
        for file in self.files:
            if found := file.find_entry(trial, deviations):
                line, entry = found
                return file.kind, f"{file.path.name}, line {line}", entry
        return "", "", None

    @property
    def has_deviations(self) -> bool:
        """Whether an entry names a deviation, so that a failure must be diagnosed before it is known or not."""
        return any(entry.deviation for file in self.files for entry in file.entries.values())

    def check_names(self, collected: set[str]) -> None:
        """Raise UsageError if an entry names what there is not. Only the collected ids are looked at if they suffice."""
        if any(file.describe_unknown_name(collected) for file in self.files):
            every = {test.invariant.id_for(name) for test in invariants() for name in operation_names(test.invariant)}
            for complaint in filter(None, (file.describe_unknown_name(every) for file in self.files)):
                raise pytest.UsageError(complaint)

    def find_stale_patterns(self, verdicts: Sequence[Verdict]) -> list[str]:
        """Return the places of the patterns that a whole run shows to be stale."""
        return [] if self.update else [place for file in self.files for place in file.find_stale_patterns(verdicts)]

    def update_files(self, verdicts: Sequence[Verdict]) -> None:
        """Write what the verdicts show into the files, if the run is asked to."""
        for file in self.files if self.update else ():
            file.path.write_text(format_updated_file(file, verdicts), encoding="utf-8")


def _describe_unknown_deviation(name: str) -> str:
    """Return what is wrong with the id of a deviation, or "" if the catalogue has it."""
    from ..deviations import catalogue, find

    if find(name) is not None:
        return ""
    near = difflib.get_close_matches(name, catalogue(), n=2)
    hint = f"did you mean {' or '.join(near)}?" if near else "--list-deviations prints the ids"
    return f"there is no deviation {printable(name, 100)}; {hint}"


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
    if not any(stated.get(name, "").strip() for name in ("id", "operation", "deviation")):
        raise ValueError("it has no id, and no operation or deviation in its place")
    if stated.get("deviation") and "/" not in stated["deviation"]:
        raise ValueError(f"its deviation is {printable(stated['deviation'], 100)!r}; --list-deviations prints the ids")
    if not stated.get("reason", "").strip():
        raise ValueError("it has no reason")
    if stated.get("dtype") and stated["dtype"] not in RESULT_DTYPES:
        raise ValueError(f"its dtype is {stated['dtype']!r}; there are {', '.join(RESULT_DTYPES)}")
    if stated.get("example"):
        parse_choices(stated["example"])
    entry = Entry(**stated)
    for number, other in earlier.items():
        if all(getattr(other, name) == getattr(entry, name) for name in SELECTORS):
            raise ValueError(f"line {number} speaks of the same")
    return entry


def parse_key(key: str, reason: str) -> Entry:
    """Return the entry of a key of `known_failing`: an id, an operation, a pattern or a deviation, with or without [dtype]."""
    found = re.fullmatch(r"(.*?)(?:\[(\w+)\])?", key, re.DOTALL)
    assert found is not None
    name, dtype = found[1], found[2] or ""
    kind = "deviation" if "/" in name else "id" if set(name) & {*".*?"} else "operation"
    return Entry(**{kind: name}, dtype=dtype, reason=reason)


def format_updated_file(known: KnownFile, verdicts: Sequence[Verdict]) -> str:
    """Return the text of the file after a run.

    A pattern stays. Another entry stays if its trial failed, with the new example, or if it was not tried. An entry whose trial
    passed is removed, unless the file is of flaky failures. New failures are added.
    """
    kept = []
    for entry in known.entries.values():
        tried = [verdict for verdict in verdicts if entry.matches(verdict) and verdict.status in ("failed", "passed")]
        failed = [verdict for verdict in tried if verdict.status == "failed"]
        if entry.is_pattern:
            kept.append(entry)
        elif failed:
            kept.append(replace(entry, example=failed[0].example or entry.example))
        elif not tried or known.kind == FLAKY:
            kept.append(entry)
    return "".join(_format_entry(entry) for entry in (*kept, *_find_new_entries(known, verdicts)))


def _find_new_entries(known: KnownFile, verdicts: Sequence[Verdict]) -> Iterator[Entry]:
    """Yield an entry for each failure that has none: of repeatable failures in a failing file, of the others in a flaky file."""
    for verdict in verdicts:
        is_new = verdict.status == "failed" and known.find_entry(verdict, verdict.explanation_ids) is None
        if is_new and verdict.repeats is (known.kind == FAILING):
            stated = {name: getattr(verdict, name) for name in ("id", "backend", "dtype", "device", "reason")}
            yield Entry(**stated, example=verdict.example or "")


def _format_entry(entry: Entry) -> str:
    return json.dumps({name: value for name, value in asdict(entry).items() if value}, ensure_ascii=False) + "\n"
