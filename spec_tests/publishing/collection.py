"""Reports that others have made, each with who has signed it, and those that are refused, each with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..report import DATA, ReportError
from ..report.backend_results import BackendResults
from .signed_report import SignedReport, read_others

NAME = 60  # characters of a folder's name that say what is in it


@dataclass(frozen=True)
class Refused:
    """A report that is not in the table."""

    path: Path
    reason: str


@dataclass(frozen=True)
class Collection:
    """The reports that were found, in an order that depends on what they say alone."""

    accepted: tuple[SignedReport, ...]
    refused: tuple[Refused, ...]


@dataclass(frozen=True)
class Column:
    """A column of the table: a backend in a report."""

    signed: SignedReport
    result: BackendResults

    @property
    def library(self) -> str:
        return self.result.name

    @property
    def version(self) -> str:
        return self.result.backend.version if self.result.backend else "of an unknown version"

    @property
    def device(self) -> str:
        return self.result.backend.device if self.result.backend else "an unknown device"

    @property
    def folder(self) -> str:
        """The name of the folder that the report is published in."""
        words = "-".join(dict.fromkeys(f"{column.library}-{column.version}" for column in list_columns(self.signed)))
        return f"{re.sub(r'[^A-Za-z0-9.]+', '-', words).strip('-.')[:NAME]}-{self.signed.sha256}"

    @property
    def order(self) -> tuple[Any, ...]:
        return self.library, split_numbers(self.version), self.signed.report.header.started, self.signed.sha256


def list_columns(signed: SignedReport) -> list[Column]:
    return [Column(signed, result) for result in signed.results]


def split_numbers(text: str) -> tuple[Any, ...]:
    """Return what sorts versions as people do: 1.9 before 1.10."""
    words, numbers = re.split(r"[0-9]+", text), [number.lstrip("0") for number in re.findall(r"[0-9]+", text)]
    return tuple(zip(words, [*((len(number), number) for number in numbers), (0, "")], strict=True))


def collect(places: Sequence[Path], signers: Path, leave_out: Path) -> Collection:
    """Read all reports in these folders and in folders inside of them, but for one folder. Raise ReportError if one has none."""
    accepted: dict[str, SignedReport] = {}
    refused = []
    for path in find_reports(places, leave_out):
        try:
            signed = read_others(path, signers)
        except ReportError as error:
            refused.append(Refused(path, str(error)))
            continue
        if (other := accepted.setdefault(signed.sha256, signed)) is not signed:
            refused.append(Refused(path, f"{path} is the report that {other.report.path} is, signed by {other.signer}"))
    order = sorted(accepted.values(), key=lambda signed: min(column.order for column in list_columns(signed)))
    return Collection(tuple(order), tuple(refused))


def find_reports(places: Sequence[Path], leave_out: Path) -> list[Path]:
    """Return the data of all reports in these folders, each once, by the order of their paths. Leave one folder out."""
    found: dict[Path, Path] = {}
    for place in places:
        own = [path for path in _search(place) if leave_out.resolve() not in path.resolve().parents]
        if not own:
            raise ReportError(f"{place} holds no {DATA}: name a folder that does, or one with such folders inside")
        for path in own:
            key = path.resolve()
            found[key] = min(path, found.get(key, path))
    return sorted(found.values())


def _search(place: Path) -> Iterator[Path]:
    """Yield the files, as a pipe or a device in the place of one would have no end."""
    yield from (path for path in ([place] if place.is_file() else place.rglob(DATA)) if path.is_file())
