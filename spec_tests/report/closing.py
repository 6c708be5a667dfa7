"""The verdict at the end of a run's output: what deviates and why, what conforms, what was not tried, and what to do next."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ..implementation.missing_parts import OTHER_PYTHON
from ..inputs.effort import current_effort
from ..specification.tiers import EQUATION
from .bugs import Bug, group_bugs, list_errors, list_failures
from .conventions import describe_differences
from .cut import Cut
from .verdict import ToldCause, Verdict
from .verdicts import (
    describe_beyond,
    describe_failed_names,
    describe_missed_levels,
    describe_shapes,
    describe_unrequired,
    find_refusing,
)

NO_CUTS: Mapping[str, Cut] = MappingProxyType({})
MAX_WIDTH = 120
NAMED_OPERATIONS = 4  # of a list in the verdict; the table has all


def format_closing(
    verdicts: Sequence[Verdict],
    told: Sequence[ToldCause] = (),
    cuts: Mapping[str, Cut] = NO_CUTS,
    *,
    is_kept: bool = False,
    complaints: Sequence[str] = (),
) -> list[str]:
    """Return the lines of the verdict on each backend.

    `told` are the causes that the run has printed. They have the commands that show them again. `cuts` says
    of which backends not every law was tried. Nothing is claimed of them. `is_kept` says that the run writes a report.
    `complaints` are sentences on what fails the run besides its laws, such as a required operation that was not tried.
    """
    lines: list[str] = []
    for backend in dict.fromkeys([*(v.backend for v in verdicts), *cuts]):
        own = [v for v in verdicts if v.backend == backend]
        bugs = group_bugs([v for v in own if not v.known])
        cut = cuts.get(backend)
        lines += _format_backend(backend, own, bugs, cut)
        if command := _find_command(backend, bugs, told):
            lines.append(f"next: {command}")
        elif not (bugs or complaints) and (advice := _advise(own, cut, is_kept=is_kept)):
            lines.append(f"next: {advice}")
    for complaint in complaints:
        lines += _wrap_first(f"the run fails: {complaint}")
    return lines


def _format_backend(backend: str, verdicts: list[Verdict], bugs: list[Bug], cut: Cut | None) -> list[str]:
    failed = {v.operation for v in list_failures(verdicts) if not v.known}
    known = {v.operation for v in verdicts if v.status == "failed" and v.known}
    errors = list_errors(verdicts)
    broken = {v.operation for v in errors} - failed
    little = find_refusing(verdicts)
    tried = {v.operation for v in verdicts if v.examples and v.level is None}
    compared = {v.operation for v in verdicts if v.worst is not None and v.is_comparison}
    groups = {
        "fails only as a file says": known - failed,
        _describe_conformance(cut): compared & tried - failed - known - little - broken,
        "answered too little to conform": little - failed - broken,
        "not compared with the oracle": tried - compared - failed - known - little - broken,
    }
    causes = f"{len(bugs)} cause{'s' * (len(bugs) != 1)} of failures in {len(failed)} operation{'s' * (len(failed) != 1)}"
    if cut:
        lines = _wrap_first(f"{backend}: {cut.sentence}; until then {causes if failed else 'nothing failed'}")
    else:
        found = "nothing fails but what a file lists" if known else "nothing wrong found" if tried else "nothing was tried"
        lines = [f"{backend}: {causes if failed else 'no verdict' if errors else found}"]
    if errors:
        lines += _wrap(_describe_errors(errors), "    ")
    for number, bug in enumerate(bugs, 1):
        tier = "" if bug.tier == EQUATION else f"{bug.tier}: "
        lines += _wrap(f"{number}. {tier}{bug.operation} ({_describe_extent(bug)}): {bug.what}", "     ")
    for taken in describe_failed_names(verdicts):
        lines += _wrap(taken, "    ")
    for text in describe_unrequired(verdicts):
        lines += _wrap(text, "    ")
    for title, names in groups.items():
        if names:
            lines += _wrap(f"{title}: {', '.join(sorted(names))}", "    ")
    untried = set(cut.untried) if cut else set()
    if untried:
        lines += _wrap(f"cut before their last law: {_list_some(sorted(untried))}", "    ")
    absent = {v.operation for v in verdicts} - tried - failed - known - broken - untried
    if 0 < len(absent) <= NAMED_OPERATIONS or (absent and not failed):
        text = ", ".join(sorted(absent)) if len(absent) <= NAMED_OPERATIONS else f"{len(absent)} operations, listed above"
        lines += _wrap(f"not tried: {text}", "    ")
    if choices := describe_differences(verdicts):
        lines += _wrap(f"with choices that differ from PyTorch's: {choices}", "    ")
    if levels := describe_missed_levels(verdicts):
        lines += _wrap(f"levels not reached: {levels}", "    ")
    if shapes := describe_shapes(verdicts):
        lines += _wrap(shapes, "    ")
    for text in describe_beyond(verdicts):
        lines += _wrap(f"not covered by this suite: {text}", "    ")
    return lines


def _describe_errors(errors: list[Verdict]) -> str:
    """Say how many tests ended with an error that is none of the backend."""
    tests = f"{len(errors)} test{'s' * (len(errors) != 1)}"
    names = _list_some(list(dict.fromkeys(v.operation for v in errors)))
    return f"{tests} of {names} ended with an error outside of the backend; at first {errors[0].reason}"


def _describe_conformance(cut: Cut | None) -> str:
    if cut:
        return "held so far, which is no verdict"
    return "nothing wrong found at smoke effort" if current_effort().name == "smoke" else "conforms"


def _describe_extent(bug: Bug) -> str:
    """Return how many tests fail from a cause, of which other operations, and what its explanation rests on."""
    count = f"{len(bug.verdicts)} failed test{'s' * (len(bug.verdicts) != 1)}"
    others = [name for name in bug.operations if name != bug.operation]
    also = f", also of {_list_some(others)}" if others else ""
    return "; ".join(filter(None, (count + also, bug.confidence)))


def _list_some(names: list[str]) -> str:
    more = len(names) - NAMED_OPERATIONS
    return ", ".join(names[:NAMED_OPERATIONS]) + (f" and {more} more" if more > 0 else "")


def _find_command(backend: str, bugs: list[Bug], told: Sequence[ToldCause]) -> str:
    """Return the command that shows the first cause again, "" if the run has printed none."""
    for bug in bugs:
        for cause in told:
            if cause.backend == backend and cause.cause.is_same(bug.cause):
                return cause.again
    return ""


def _advise(verdicts: list[Verdict], cut: Cut | None, *, is_kept: bool) -> str:
    """Return what to do after a run in which nothing failed."""
    if cut:
        return "try the other laws, too; --report=DIR --resume goes on where a run with --report=DIR was cut"
    if list_errors(verdicts):
        return "look at the traceback above; if it ends in spec_tests, report it there"
    if not any(v.examples for v in verdicts) and any(OTHER_PYTHON in v.reason for v in verdicts):
        return f"a package is missing, as the list above says; {OTHER_PYTHON}"
    if not any(v.examples for v in verdicts):
        return "write one of the operations; --list-backends prints backends to look at"
    if current_effort().name == "smoke":
        return "run it without --effort=smoke, which supports no claim"
    if current_effort().name != "default":
        return ""
    return (
        "try more with --effort=thorough"
        if is_kept
        else "keep the verdict with --report=DIR, and try more with --effort=thorough"
    )


def _wrap_first(text: str) -> list[str]:
    return textwrap.wrap(text, MAX_WIDTH, subsequent_indent="    ")


def _wrap(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, MAX_WIDTH, initial_indent="  ", subsequent_indent=indent)
