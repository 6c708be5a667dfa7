"""Merge the reports of a campaign into one, and refuse those that do not belong together."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..report import DATA, Report, ReportError, format_line, read
from ..report.chain import Chain
from ..report.cut import MISSING_ITEMS, Cut
from ..report.run_lines import SCHEMA, Footer, Header, Totals
from ..report.verdict import RecordedVerdict
from ..report.verdicts import is_tried
from ..running.report_folder import replace_file
from .added_verdicts import add_verdicts, identify
from .durations import say_times
from .item import Item, read_key
from .outcome import Ending
from .plan import Plan
from .tries import TRIES, Over, Tries, read_tries

VERSION_FIELDS = ("version", "sha256", "imports")  # of a backend: equal in every report of a campaign
MERGED = "merged"  # the folder of the merged report, inside of that of the campaign
SHOWN = 5  # complaints of one kind that are listed
FAILED, CUT = 1, 2  # exit statuses, as those of pytest


CUT_BY: Mapping[Ending, str] = MappingProxyType(
    {  # what cut the run of a backend, by how the tries of an item ended
        Ending.KILLED: "an item that ended its process",
        Ending.TOO_LONG: "an item that took longer than its limit",
        Ending.TOO_MANY_CALLS: "an item that made as many calls as it may",
        Ending.LOST: "an item whose machine was lost each time",
    }
)


class MergeError(Exception):
    """The reports cannot be merged. The message has one line for each kind of complaint."""


@dataclass(frozen=True)
class Untried:
    """An item that was given up, so that not all of its laws were tried."""

    item: Item
    last: Over  # the end of its last try
    tries: Tries

    def __str__(self) -> str:
        often = self.tries.endings.total()
        return f"{self.item}: {self.last.ending} ({self.last.complaint}){f', tried {say_times(often)}' * (often > 1)}"


@dataclass(frozen=True)
class Merged:
    """A merged report, and the items of which it has not all."""

    report: Report
    untried: tuple[Untried, ...]


def merge(plan: Plan, folder: Path, *, partial: bool = False, required: Sequence[str] = ()) -> Merged:
    """Merge the reports of all items into one report, in the folder `merged` of the campaign.

    Raise MergeError if an item has no report, several, or one that was cut off; if a report is of no item of the plan; or if
    reports come from different versions of the suite, of the equations or of a backend. An item that was given up may lack a
    report: the merged report is then incomplete, and of the item's backend alone claims nothing.
    partial: items may be missing or cut off. The merged report is then incomplete, and says so.
    required: operations of which an item must have tried a law on each backend.
    """
    found, complaints = _collect(plan, folder)
    tries = _read_all_tries(plan, folder)
    unfinished = [item for item in plan.items if item.key not in found or not found[item.key][0].complete]
    untried = [Untried(item, last, tries[item]) for item in unfinished if (last := tries[item].given_up)]
    gaps = list(_find_gaps(unfinished, found, {each.item for each in untried}))
    complaints += _find_mixed_versions(plan, [reports[0] for reports in found.values()])
    if complaints or (gaps and not partial):
        raise MergeError("\n".join(_shorten([*complaints, *gaps])))
    reports = [found[item.key][0] for item in plan.items if item.key in found]
    if not reports:
        raise MergeError(f"{folder} has no report of an item of its plan: spec-tests work makes them")
    if without := list(_find_untried(plan, reports, required)):
        raise MergeError("\n".join(without))
    return Merged(_write(plan, reports, folder / MERGED, len(gaps), untried, tries), tuple(untried))


def _read_all_tries(plan: Plan, folder: Path) -> dict[Item, Tries]:
    """Return the tries of each item, from all folders inside of `folder`."""
    paths = defaultdict(list)
    for path in sorted(folder.rglob(TRIES)):
        paths[path.parent.name].append(path)
    return {item: read_tries(paths[item.name]) for item in plan.items}


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


def _find_gaps(
    unfinished: Sequence[Item], found: dict[tuple[Any, ...], list[Report]], given_up: Collection[Item]
) -> Iterator[str]:
    for item in unfinished:
        if item in given_up:
            continue
        if item.key not in found:
            yield f"missing: {item} has no report; spec-tests work makes it"
        else:
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


def _write(
    plan: Plan, reports: list[Report], folder: Path, gaps: int, untried: Sequence[Untried], tries: Mapping[Item, Tries]
) -> Report:
    groups: dict[tuple[str, ...], list[RecordedVerdict]] = {}
    for report in reports:
        for verdict in report.verdicts:
            groups.setdefault(identify(verdict), []).append(verdict)
    verdicts = list(map(add_verdicts, groups.values()))
    of_untried = {each.item.backend for each in untried}  # which may have left no report at all
    backends = {backend.name: backend for backend in plan.backends if backend.text in of_untried}
    backends |= {backend.name: backend for report in reports for backend in report.backends}
    errors = [error for report in reports for error in report.errors]
    lines = [_merge_headers(plan, reports), *backends.values(), *verdicts, *errors]
    chain = Chain()
    text = b"".join(chain.add(format_line(line)) for line in lines)
    totals = Counter[str](verdict.status for verdict in verdicts)
    footer = Footer(
        cuts=_find_cuts(plan, verdicts, untried, gaps) if untried else None,
        complete=not gaps and not untried,
        reason=MISSING_ITEMS if gaps or untried else "finished",
        exit_status=FAILED if totals["failed"] or errors else CUT if untried else 0,
        selected=len(verdicts),
        totals=Totals.of(totals | Counter(error=len(errors))),
        stale=sum(bool(verdict.stale) for verdict in verdicts),
        examples=sum(verdict.examples for verdict in verdicts),
        seconds=round(sum(report.footer.seconds for report in reports if report.footer), 2),
        cpu_seconds=_add_cpu_seconds(plan, reports, tries),
        retries=tuple(f"{item} {said}" for item in plan.items if (said := tries[item].describe())),
        sha256=chain.hash,
    )
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(folder / DATA, (text + chain.add(format_line(footer))).decode("ascii"))
    return read(folder)


def _find_cuts(plan: Plan, verdicts: Sequence[RecordedVerdict], untried: Sequence[Untried], gaps: int) -> dict[str, Cut]:
    """Return how the runs of backends were cut: those of which an item was given up, and all if items are missing."""
    judged = Counter(verdict.backend for verdict in verdicts if not verdict.cut)
    cuts = {}
    for backend in plan.backends:
        own = [each for each in untried if each.item.backend == backend.text]
        operations = tuple(sorted({each.item.operation for each in own}))
        if own or gaps:
            by = CUT_BY[Ending(own[0].last.ending)] if own else "missing items of the campaign"
            cuts[backend.name] = Cut(by, "", judged[backend.name], None, operations)
    return cuts


def _add_cpu_seconds(plan: Plan, reports: Sequence[Report], tries: Mapping[Item, Tries]) -> float | None:
    """Return the CPU seconds of all tries. None if those of an item that left a report were not measured."""
    keys = {read_key(report.header) for report in reports}
    if any(tries[item].cpu_seconds is None for item in plan.items if item.key in keys):
        return None
    return round(sum(each.cpu_seconds or 0.0 for each in tries.values()), 2)


def _merge_headers(plan: Plan, reports: list[Report]) -> Header:
    """Return the header of the merged report. Where the machines differ, it lists what they have."""
    headers = [report.header for report in reports]
    libraries = {name: _join(h.libraries.get(name) for h in headers) for h in headers for name in h.libraries}
    items = plan.items
    return Header(
        schema=SCHEMA,
        suite=plan.suite,
        spec=plan.spec,
        commit=_join(header.commit for header in headers),
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
