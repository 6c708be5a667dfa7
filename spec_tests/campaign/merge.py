"""Merge the reports of a campaign into one, and refuse those that do not belong together."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..report import DATA, Report, ReportError, format_line, read
from ..report.cut import MISSING_ITEMS
from ..report.run_lines import SCHEMA, Footer, Header, Totals
from ..report.verdict import RecordedVerdict
from ..report.verdicts import is_tried
from ..running.report_folder import replace_file
from .added_verdicts import add_verdicts, identify
from .item import read_key
from .plan import Plan

VERSION_FIELDS = ("version", "sha256", "imports")  # of a backend: equal in every report of a campaign
MERGED = "merged"  # the folder of the merged report, inside of that of the campaign
SHOWN = 5  # complaints of one kind that are listed


class MergeError(Exception):
    """The reports cannot be merged. The message has one line for each kind of complaint."""


def merge(plan: Plan, folder: Path, *, partial: bool = False, required: Sequence[str] = ()) -> Report:
    """Merge the reports of all items into one report, in the folder `merged` of the campaign.

    Raise MergeError if an item has no report, several, or one that was cut off; if a report is of no item of the plan; or if
    reports come from different versions of the suite, of the equations or of a backend.
    partial: items may be missing or cut off. The merged report is then incomplete, and says so.
    required: operations of which an item must have tried a law on each backend.
    """
    found, complaints = _collect(plan, folder)
    gaps = list(_find_gaps(plan, found))
    complaints += _find_mixed_versions(plan, [reports[0] for reports in found.values()])
    if complaints or (gaps and not partial):
        raise MergeError("\n".join(_shorten([*complaints, *gaps])))
    reports = [found[item.key][0] for item in plan.items if item.key in found]
    if not reports:
        raise MergeError(f"{folder} has no report of an item of its plan: spec-tests work makes them")
    if untried := list(_find_untried(plan, reports, required)):
        raise MergeError("\n".join(untried))
    return _write(plan, reports, folder / MERGED, len(gaps))


def _collect(plan: Plan, folder: Path) -> tuple[dict[tuple[Any, ...], list[Report]], list[str]]:
    """Return the reports by item, from all folders inside of `folder`, and what is wrong with others."""
    names = {item.key: str(item) for item in plan.items}
    found: dict[tuple[Any, ...], list[Report]] = {}
    complaints = []
    for path in sorted(folder.rglob(DATA)):
        if path.parent.name == MERGED:
            continue
        try:
            report = read(path)
        except ReportError as error:
            complaints.append(f"unreadable: {error}")
            continue
        if (key := read_key(report.header)) in names:
            found.setdefault(key, []).append(report)
        else:
            complaints.append(f"of no item: {path} is of none that the plan lists")
    for key, reports in found.items():
        if len(reports) > 1:
            places = ", ".join(str(report.path.parent) for report in reports)
            complaints.append(f"duplicate: {names[key]} has {len(reports)} reports ({places}); remove all but one")
    return found, complaints


def _find_gaps(plan: Plan, found: dict[tuple[Any, ...], list[Report]]) -> Iterator[str]:
    for item in plan.items:
        if item.key not in found:
            yield f"missing: {item} has no report; spec-tests work makes it"
        elif not found[item.key][0].complete:
            yield f"cut off: {item} ended early ({found[item.key][0].ending}); spec-tests work continues it"


def _find_untried(plan: Plan, reports: list[Report], required: Sequence[str]) -> Iterator[str]:
    verdicts = [verdict for report in reports for verdict in report.verdicts]
    for backend in plan.backends:
        own = [verdict for verdict in verdicts if verdict.backend == backend.name]
        for name in required:
            if not is_tried(name, own):
                yield f"untried: no item tried a law of {name} on {backend.name}, which --require names"


def _find_mixed_versions(plan: Plan, reports: list[Report]) -> list[str]:
    """Return what reports disagree about: the versions of suite and equations, and the version and the files of each backend."""
    versions = {"suite": {plan.suite}, "spec": {plan.spec}}
    backends: dict[str, dict[str, set[str]]] = defaultdict(lambda: {name: set[str]() for name in VERSION_FIELDS})
    texts = {backend.text: backend.name for backend in plan.backends}
    for backend in plan.backends:
        for name in VERSION_FIELDS:
            backends[backend.name][name].add(str(getattr(backend, name)))
    for report in reports:
        for name in versions:
            versions[name].add(getattr(report.header, name))
        for backend in report.backends:
            for name in VERSION_FIELDS:
                backends[texts.get(backend.text, backend.name)][name].add(str(getattr(backend, name)))
    found = [f"mixed versions: {name} {' and '.join(sorted(seen))}" for name, seen in versions.items() if len(seen) > 1]
    for owner, fields in backends.items():
        name = next((name for name in VERSION_FIELDS if len(fields[name]) > 1), "")
        if name == "version":
            found.append(f"mixed versions: {owner} is {' and '.join(sorted(fields[name]))}")
        elif name:
            found.append(f"mixed versions: {owner}'s file, or one that it imports, differs between reports, or from the plan's")
    return found


def _shorten(complaints: list[str]) -> Iterator[str]:
    """Yield the first complaints of each kind, and how many more there are."""
    kinds: dict[str, list[str]] = {}
    for complaint in complaints:
        kinds.setdefault(complaint.partition(":")[0], []).append(complaint)
    for kind, found in kinds.items():
        yield from found[:SHOWN]
        if len(found) > SHOWN:
            yield f"{kind}: {len(found) - SHOWN} more"


def _write(plan: Plan, reports: list[Report], folder: Path, gaps: int) -> Report:
    groups: dict[tuple[str, ...], list[RecordedVerdict]] = {}
    for report in reports:
        for verdict in report.verdicts:
            groups.setdefault(identify(verdict), []).append(verdict)
    verdicts = list(map(add_verdicts, groups.values()))
    backends = {backend.name: backend for report in reports for backend in report.backends}
    errors = [error for report in reports for error in report.errors]
    lines = [_merge_headers(plan, reports), *backends.values(), *verdicts, *errors]
    text = "".join(map(format_line, lines))
    totals = Counter[str](verdict.status for verdict in verdicts)
    footer = Footer(
        complete=not gaps,
        reason=MISSING_ITEMS if gaps else "finished",
        exit_status=1 if totals["failed"] or errors else 0,
        selected=len(verdicts),
        totals=Totals.of(totals | Counter(error=len(errors))),
        stale=sum(bool(verdict.stale) for verdict in verdicts),
        examples=sum(verdict.examples for verdict in verdicts),
        seconds=round(sum(report.footer.seconds for report in reports if report.footer), 2),
        sha256=hashlib.sha256(text.encode("ascii")).hexdigest(),
    )
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(folder / DATA, text + format_line(footer))
    return read(folder)


def _merge_headers(plan: Plan, reports: list[Report]) -> Header:
    """Return the header of the merged report. Where the machines differ, it lists what they have."""
    headers = [report.header for report in reports]
    libraries = {name: _join(h.libraries.get(name) for h in headers) for h in headers for name in h.libraries}
    items = plan.items
    return Header(
        schema=SCHEMA,
        suite=plan.suite,
        spec=plan.spec,
        started=min(header.started for header in headers),
        command=("spec-tests", "merge"),
        backends=tuple(dict.fromkeys(item.backend for item in items)),
        dtypes=_find_restriction(plan),
        precision=None,
        effort=items[0].effort,
        shapes=None,
        required=(),
        required_levels=(),
        isolate=all(header.isolate for header in headers),
        world_size=next((item.world_size for item in items if item.world_size), None),
        known={},
        selection={},
        seed=str(items[0].seed),
        seeds=(min(item.first_seed for item in items), max(item.last_seed for item in items)),
        items=len(reports),
        python=_join(header.python for header in headers),
        platform=_join(header.platform for header in headers),
        machine=_join(header.machine for header in headers),
        libraries=libraries,
    )


def _find_restriction(plan: Plan) -> tuple[str, ...]:
    """Return the dtypes of the items if a backend has others. Return () if every dtype is tried."""
    tried = dict.fromkeys(item.dtype for item in plan.items if item.dtype)
    return tuple(tried) if any(set(backend.dtypes) - set(tried) for backend in plan.backends) else ()


def _join(values: Any) -> str:
    return ", ".join(sorted({value for value in values if value}))
