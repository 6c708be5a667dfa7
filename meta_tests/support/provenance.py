"""Where the figures of docs/measured come from: the commit, the day, the machine, and the sources as they were then.

docs/measured/provenance.json has an entry for each file that a command measured, and for each entry of a file whose entries are
measured apart. A figure is stale if it rests on other sources than today's. `python -m meta_tests.measure` lists these.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from importlib import import_module

from spec_tests.specification.registry import gradients, operations

from .measured_files import Row, read_table
from .paths import DOCS
from .sources import ask_git, hash_parts_of_commit, hash_parts_of_today

COMMITTED = DOCS / "measured"
RECORD = COMMITTED / "provenance.json"
UNKNOWN = "not recorded"


@dataclass(frozen=True)
class Provenance:
    """Of what a measured file, or one entry of it, is."""

    commit: str  # a plus behind it says that the checkout had other changes
    date: str
    machine: str
    operations: int  # how many operations and gradients the figures are about
    sources: dict[str, str]  # the hash of each part of the sources on which the figures rest
    content: str  # the hash of what was measured

    def __str__(self) -> str:
        return f"{self.commit}, {self.date}"

    @property
    def changed(self) -> list[str]:
        """The parts of the sources that are not today's."""
        return [part for part, found in self.sources.items() if found != hash_parts_of_today()[part]]


@dataclass(frozen=True)
class Figures:
    """What was measured at once: a file, or one entry of it."""

    row: Row
    entry: str = ""

    @property
    def name(self) -> str:
        return f"{self.row.file} {self.entry}".strip()

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the sources on which the figures rest. An entry with the name of a commit is of that commit by intent."""
        return () if re.fullmatch(r"[0-9a-f]{7}", self.entry) else self.row.parts

    @property
    def needs_device(self) -> bool:
        return self.row.needs_device or self.entry.endswith("-cuda")

    def read(self) -> str:
        """Return the text of the figures."""
        text = (COMMITTED / self.row.file).read_text(encoding="utf-8")
        return json.dumps(json.loads(text)[self.entry], ensure_ascii=False) if self.entry else text


def list_figures() -> list[Figures]:
    """Return what is measured by itself: each file that is not made of others, or its entries."""
    found = []
    for row in read_table().values():
        if not row.made_of:
            entries = json.loads((COMMITTED / row.file).read_text(encoding="utf-8")) if row.by_entry else [""]
            found += [Figures(row, entry) for entry in entries]
    return found


def find_sources(file: str) -> list[Figures]:
    """Return the figures that a file shows: its own, or those of the files of which it is made."""
    row = read_table()[file]
    if row.made_of:
        return [figures for source in row.made_of for figures in find_sources(source)]
    return [figures for figures in list_figures() if figures.row.file == file]


def read_record() -> dict[str, Provenance]:
    """Return the provenance of all figures by their names."""
    found = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    return {name: Provenance(**fields) for name, fields in found.items()}


def write_record(record: dict[str, Provenance]) -> None:
    """Write the provenance of all figures that there are, one in a line."""
    names = [figures.name for figures in list_figures()]
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(asdict(record[name]))}" for name in names if name in record)
    RECORD.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def hash_content(text: str) -> str:
    return hashlib.sha256(text.replace("\r\n", "\n").encode()).hexdigest()[:12]


def count_operations(text: str) -> int:
    """Return how many operations and gradients a text names. Those without a result do not count. 0: the text names none."""
    return len({*re.findall(r"[a-z]\w*", re.sub(r'"\w+": \{\}', "", text))} & {*operations(), *gradients()})


def take_today(figures: Figures) -> Provenance:
    """Return the provenance of figures that are measured now."""
    text, today = figures.read(), hash_parts_of_today()
    sources = {part: today[part] for part in figures.parts}
    date, machine = datetime.now(UTC).date().isoformat(), describe_machine(with_device=figures.needs_device)
    return Provenance(find_commit(), date, machine, count_operations(text), sources, hash_content(text))


@cache
def find_commit() -> str:
    """Return the last commit that changed the suite, with a plus if the checkout has other changes of its sources.

    Later commits, such as the one that adds the figures, change nothing that was measured, and may still be moved by a rebase.
    """
    try:
        commit = ask_git("log", "-1", "--format=%h", "--abbrev=7", "--", "spec_tests", "reference_numpy", "backends")
        return f"{commit}{'+' * (hash_parts_of_commit('HEAD') != hash_parts_of_today())}"
    except (OSError, subprocess.CalledProcessError):  # there is no git, or no repository
        return UNKNOWN


def derive_from_history(figures: Figures) -> Provenance:
    """Return the provenance of figures for which none was recorded: the last commit that changed them.

    If rows were added to a file, that is the commit of its oldest row.
    """
    text, path = figures.read(), f"docs/measured/{figures.row.file}"
    is_of_rows = figures.entry or re.search("--new|--stale", figures.row.command)
    commit = (
        _find_oldest_row(path, figures.entry) if is_of_rows else ask_git("log", "-1", "--format=%h", "--abbrev=7", "--", path)
    )
    then = hash_parts_of_commit(commit)
    date = ask_git("show", "--no-patch", "--format=%cs", commit)
    sources = {part: then[part] for part in figures.parts}
    device = re.findall(r"NVIDIA \w+", text) if figures.needs_device else []
    machine = f"{device[0] if device else 'a CUDA device'}, the rest {UNKNOWN}" if figures.needs_device else UNKNOWN
    return Provenance(commit, date, machine, count_operations(text), sources, hash_content(text))


def _find_oldest_row(path: str, entry: str) -> str:
    """Return the commit of the oldest line of a file that is a row of its own, or of the lines of one entry."""
    blamed, lines, times = ask_git("blame", "--line-porcelain", "--", path), [], dict[str, int]()
    for line in blamed.splitlines():
        if re.match(r"[0-9a-f]{40} ", line):
            commit = line[:7]
        elif line.startswith("committer-time "):
            times[commit] = int(line.split()[1])
        elif line.startswith("\t"):
            lines.append((commit, line[1:]))
    if entry:
        start = next(i for i, (_, line) in enumerate(lines) if line.lstrip().startswith(f"{json.dumps(entry)}:"))
        depth = len(lines[start][1]) - len(lines[start][1].lstrip())
        ends = (i for i, (_, line) in enumerate(lines) if i > start and len(line) - len(line.lstrip()) <= depth)
        lines = lines[start : next(ends, len(lines))]
        return max((commit for commit, _ in lines), key=times.__getitem__)
    rows = [commit for commit, line in lines if '"' in line]
    return min(rows, key=times.__getitem__)


@cache
def describe_machine(*, with_device: bool = False) -> str:
    facts = [platform.machine(), f"{os.cpu_count()} cores", platform.system(), f"Python {platform.python_version()}"]
    if with_device:
        torch = import_module("torch")
        facts.append(torch.cuda.get_device_name() if torch.cuda.is_available() else "no CUDA device")
    return ", ".join(facts)


def describe(file: str) -> str:
    """Return of when the figures of a file are, as pages say it: the commit and the date of the oldest of them."""
    record = read_record()
    found = [record[figures.name] for figures in find_sources(file)]
    oldest = min(found, key=lambda provenance: provenance.date)
    device = ", on a CUDA device" * all(figures.needs_device for figures in find_sources(file))
    return f"{oldest}{device}" + " and later" * any(str(one) != str(oldest) for one in found)


def list_stale() -> Iterator[tuple[Figures, Provenance]]:
    """Yield the figures that rest on other sources than today's."""
    record = read_record()
    for figures in list_figures():
        if figures.name in record and record[figures.name].changed:
            yield figures, record[figures.name]


def list_unrecorded() -> list[Figures]:
    """Return the figures that are not those of which the provenance was recorded."""
    record = read_record()
    return [
        figures
        for figures in list_figures()
        if figures.name not in record or record[figures.name].content != hash_content(figures.read())
    ]
