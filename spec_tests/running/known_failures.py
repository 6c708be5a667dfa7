"""What is known to fail, or to fail at times: files of JSON lines, each with a reason and the example that shows it."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from ..inputs.choices import parse_choices as read_row
from ..specification.formats import RESULT_DTYPES

FAILING, FLAKY = "failing", "flaky"


class MalformedKnownFile(Exception):
    """One sentence: the file, the line, what is wrong with it."""


@dataclass(frozen=True)
class Entry:
    """Where a field is empty, any will do."""

    id: str
    backend: str = ""
    dtype: str = ""
    device: str = ""
    reason: str = ""
    link: str = ""
    example: str = ""  # the counterexample

    @property
    def row(self) -> tuple[int, ...]:
        return read_row(self.example) if self.example else ()

    def matches(self, facts: Mapping[str, Any]) -> bool:
        stated = {name: getattr(self, name) for name in ("id", "backend", "dtype", "device")}
        return all(value in ("", facts[name]) for name, value in stated.items())


@dataclass
class KnownFile:
    """The file of a kind of failures."""

    kind: str
    path: Path
    entries: dict[int, Entry]  # by their lines

    def of(self, facts: Mapping[str, Any]) -> tuple[int, Entry] | None:
        """The line that speaks of a trial, and what it says."""
        return next(((line, entry) for line, entry in self.entries.items() if entry.matches(facts)), None)

    def unmatched(self, ids: Collection[str]) -> str:
        """The first line that names no invariant, in one sentence."""
        for line, entry in self.entries.items():
            if entry.id not in ids:
                near = difflib.get_close_matches(entry.id, ids, n=2)
                hint = f"; did you mean {' or '.join(near)}?" if near else ""
                return f"{self.path}, line {line}: there is no invariant {entry.id}{hint}"
        return ""


def read(kind: str, path: Path, *, new: bool = False) -> KnownFile:
    """new: there may be no such file yet."""
    if new and not path.exists():
        return KnownFile(kind, path, {})
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, ValueError) as error:
        raise MalformedKnownFile(f"{path} cannot be read ({getattr(error, 'strerror', None) or error})") from None
    entries: dict[int, Entry] = {}
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                entries[number] = _entry(line, entries)
            except ValueError as error:
                raise MalformedKnownFile(f"{path}, line {number}: {error}") from None
    return KnownFile(kind, path, entries)


def _entry(line: str, before: Mapping[int, Entry]) -> Entry:
    try:
        stated = json.loads(line)
    except ValueError as error:
        raise ValueError(f"it is no JSON ({error})") from None
    names = [field.name for field in fields(Entry)]
    if not isinstance(stated, dict):
        raise ValueError('it is no entry; write {"id": …, "reason": …}')
    for name, value in stated.items():
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            raise ValueError(f"it has {name!r}{f' for {near[0]!r}' if near else ''}; an entry has {', '.join(names)}")
        if not isinstance(value, str):
            raise ValueError(f"its {name} is {value!r}; give a string")
    for name in ("id", "reason"):
        if not stated.get(name, "").strip():
            raise ValueError(f"it has no {name}")
    if stated.get("dtype") and stated["dtype"] not in RESULT_DTYPES:
        raise ValueError(f"its dtype is {stated['dtype']!r}; there are {', '.join(RESULT_DTYPES)}")
    if stated.get("example"):
        read_row(stated["example"])
    entry = Entry(**stated)
    for number, other in before.items():
        if (other.id, other.backend, other.dtype, other.device) == (entry.id, entry.backend, entry.dtype, entry.device):
            raise ValueError(f"line {number} speaks of the same")
    return entry


def update_lines(known: KnownFile, verdicts: Sequence[Mapping[str, Any]]) -> str:
    """The file as the verdicts would have it: what failed stands there, with its example; what holds does not, unless it is
    flaky; what was not tried stays as it was."""
    kept = []
    for entry in known.entries.values():
        own = [facts for facts in verdicts if entry.matches(facts) and facts["status"] in ("failed", "passed")]
        failed = [facts for facts in own if facts["status"] == "failed"]
        if failed:
            kept.append(replace(entry, example=failed[0]["example"] or entry.example))
        elif not own or known.kind == FLAKY:
            kept.append(entry)
    return "".join(_line(entry) for entry in (*kept, *_new_lines(known, verdicts)))


def _new_lines(known: KnownFile, verdicts: Sequence[Mapping[str, Any]]) -> Iterator[Entry]:
    """What failed, and again on the same inputs unless it is flaky, and has no line yet."""
    for facts in verdicts:
        if facts["status"] == "failed" and facts["repeats"] is (known.kind == FAILING) and known.of(facts) is None:
            stated = {name: facts[name] for name in ("id", "backend", "dtype", "device", "reason")}
            yield Entry(**stated, example=facts["example"] or "")


def _line(entry: Entry) -> str:
    return json.dumps({name: value for name, value in asdict(entry).items() if value}, ensure_ascii=False) + "\n"
