"""Measure figures again, and say which are stale: python -m meta_tests.measure [FILE [OPTION …]] [--check] [--record | --derive]

Without a file, it lists the figures of docs/measured that rest on other operations, laws, bounds or causes than today's, and
how long it takes to measure them again. --check fails if there are any; those that need a device are listed only.

With a file, such as kill_matrix.json, it runs the command that the table of docs/measured/README.md has for it, puts the result
there, records of which commit, day, machine and sources it is, and writes the commit and the date into the pages.
The command works in a folder of .nox/measured/, which is of today's sources alone: if it was stopped, the same call goes on.
Options are added to the command, as `conformance.json jax-cpu --apart=2`; what it measures then is recorded only where the
entries of the file are measured apart.

--record FILE measures nothing: it records that the file's own command has just written it. --derive records what was written
and committed without a record, from the history of the repository.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from ..support.measured_files import Row, read_table
from ..support.paths import KEPT_VARIABLE, ROOT
from ..support.provenance import (
    COMMITTED,
    Figures,
    Provenance,
    derive_from_history,
    describe,
    find_commit,
    hash_content,
    list_figures,
    list_stale,
    list_unrecorded,
    read_record,
    take_today,
    write_record,
)
from ..support.sources import hash_parts_of_today

KEPT = ROOT / ".nox" / "measured"
PAGES = ("README.md", "docs/*.md", "docs/guides/*.md", "docs/findings/*.md")
LINK = re.compile(r"\[[^\]]*\](?=\((?:docs/|\.\./)?measured/([\w/]+\.(?:txt|json))\))")  # its text is the commit and the date


def find_folder(row: Row) -> Path:
    """Return the folder in which a file is measured: one of today's sources."""
    return KEPT / "-".join(hash_parts_of_today().values()) / row.file.replace("/", "-")


def prepare_folder(row: Row, *, whole: bool) -> Path:
    """Copy what is measured into the folder, but what an earlier call has left there of the file that is measured again."""
    folder, started = find_folder(row), find_folder(row).exists()
    (folder / row.file).parent.mkdir(parents=True, exist_ok=True)
    for path in filter(Path.is_file, COMMITTED.rglob("*")):
        name = path.relative_to(COMMITTED)
        of_this = name.as_posix() in (row.file, *list_twins(row))
        if not of_this or not (started or (whole and not row.by_entry)):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, folder / name)
    return folder


def list_twins(row: Row) -> list[str]:
    """Return the other files that the command of a file writes."""
    return [other.file for other in read_table().values() if other.module == row.module and other.made_of == (row.file,)]


def measure(row: Row, options: list[str]) -> None:
    """Run the command of a file in its folder, put the results into docs/measured, and record what they are of."""
    find_commit()  # before the command begins, as the hash of the sources: both may be others when it ends
    folder, before = prepare_folder(row, whole=not options), read_contents()
    words = shlex.split(row.command_line.replace("docs/measured", folder.as_posix()))
    words, target = (words[:-2], Path(words[-1])) if ">" in words else (words, None)
    with open(target or os.devnull, "w", encoding="utf-8") as file:
        done = subprocess.run(
            [sys.executable, *words[1:], *options],
            cwd=ROOT,
            env=os.environ | {KEPT_VARIABLE: str(folder)},
            stdout=file if target else None,
            check=False,
        )
    if done.returncode:
        sys.exit(f"the command of {row.file} ended with {done.returncode}; the same call goes on with what it has in {folder}")
    for name in (row.file, *list_twins(row)):
        shutil.copy(folder / name, COMMITTED / name)
    record_measured(row, before, whole=not options)
    shutil.rmtree(folder)


def read_contents() -> dict[str, str]:
    """Return the hash of the recorded content of all figures."""
    return {name: provenance.content for name, provenance in read_record().items()}


def record_measured(row: Row, before: dict[str, str], *, whole: bool) -> None:
    """Record what was measured: the whole file, or the entries that are new."""
    record = read_record()
    for figures in list_figures():
        is_new = before.get(figures.name) != hash_content(figures.read()) if row.by_entry else whole
        if figures.row == row and is_new:
            record[figures.name] = take_today(figures)
    write_record(record)


def derive() -> None:
    """Record what the history says of figures that were not recorded."""
    record = read_record()
    write_record(record | {figures.name: derive_from_history(figures) for figures in list_unrecorded()})


def date_links(text: str) -> str:
    """Return the text of a page in which each link to a measured file says of which commit and date the file is."""
    return LINK.sub(lambda link: f"[{describe(link[1])}]", text)


def list_pages() -> list[Path]:
    return sorted(path for pattern in PAGES for path in ROOT.glob(pattern))


def date_pages() -> None:
    for path in list_pages():
        text = path.read_text(encoding="utf-8")
        if (dated := date_links(text)) != text:
            path.write_text(dated, encoding="utf-8")


def list_complaints() -> Iterator[str]:
    """Yield what is not true: figures without their provenance, and pages that say another commit or date."""
    if unrecorded := list_unrecorded():
        for figures in unrecorded:
            yield (
                f"{figures.name}: of no recorded commit. If its command has just written it, run `python -m meta_tests.measure "
                f"{figures.row.file} --record`; if that was committed before, run `python -m meta_tests.measure --derive`"
            )
        return
    for path in list_pages():
        text = path.read_text(encoding="utf-8")
        if date_links(text) != text:
            yield f"{path.relative_to(ROOT)}: the commits of its figures are others; run `python -m meta_tests.measure --dates`"


def describe_stale(figures: Figures, provenance: Provenance) -> str:
    device = " (needs a CUDA device)" if figures.needs_device else ""
    return f"{figures.name}: of {provenance}{device}; since then other {', '.join(provenance.changed)}; {figures.row.time}"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m meta_tests.measure", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("file", nargs="?", metavar="FILE", help="of docs/measured: measure it again")
    parser.add_argument("--check", action="store_true", help="fail if figures are stale that need no device")
    parser.add_argument("--record", action="store_true", help="record that the file's own command has just written it")
    parser.add_argument("--derive", action="store_true", help="record what was committed without a record, from the history")
    parser.add_argument("--dates", action="store_true", help="write the commits and the dates into the pages")
    options, others = parser.parse_known_args(arguments)
    table = read_table()
    if others and not options.file:
        parser.error(f"options belong to the command of a file: {' '.join(others)}")
    if options.file:
        if options.file not in table:
            parser.error(f"there is no file {options.file!r} in docs/measured; there are {', '.join(table)}")
        row = table[options.file]
        source = table[row.made_of[0]] if row.made_of and row.module == table[row.made_of[0]].module else row
        if options.record:
            record_measured(source, read_contents(), whole=True)
        else:
            measure(source, others)
    if options.derive:
        derive()
    if options.file or options.derive or options.dates:
        date_pages()
    stale, complaints = list(list_stale()), list(list_complaints())
    print(*[describe_stale(*each) for each in stale], *complaints, sep="\n")
    print(f"{len(stale)} of {len(list_figures())} figures rest on other sources than today's")
    if complaints or (options.check and any(not figures.needs_device for figures, _ in stale)):
        sys.exit(1)


if __name__ == "__main__":
    main()
