"""Merge the reports of a campaign into one, with its page, badges and tables. Gaps, duplicates and mixed versions are refused."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from . import USAGE_ERROR
from ._parser import Parser

MAX_LISTED = 10  # lines of one kind


def main(argv: list[str]) -> int:
    """Merge, and return the exit status: 0 if nothing deviates, 1 if something does, 4 if the reports cannot be merged.

    It is 2 if nothing deviates, and items were given up.
    """
    import pytest

    from ..campaign.durations import say_duration
    from ..campaign.merge import MergeError, merge
    from ..campaign.outcome import Ending
    from ..campaign.plan import PlanError, read_plan
    from ..campaign.tables import publish
    from ..report import ReportError, read
    from ..report.backend_results import build_results
    from ..running.names import validate_choices
    from ..specification.registry import gradients, operations

    parser = Parser("merge", __doc__)
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder of the campaign; reports may be in folders inside")
    parser.add_argument("--partial", action="store_true", help="items may be missing: the merged report is then incomplete")
    parser.add_argument(
        "--require",
        action="append",
        default=[],
        metavar="OPERATION",
        help="refuse to merge if no item has tried a law of this operation; may be repeated",
    )
    parser.add_argument("--before", type=Path, metavar="DIR", help="an earlier merged report, to list what differs from it")
    options = parser.parse_args(argv)
    try:
        required = validate_choices("require", options.require, (*operations(), *gradients()))
        before = read(options.before) if options.before else None
        merged = merge(read_plan(options.folder), options.folder, partial=options.partial, required=required)
        report = merged.report
        files = publish(report, before)
    except MergeError as error:
        for line in str(error).splitlines():
            print(f"ERROR: {line}", file=sys.stderr)
        return USAGE_ERROR
    except (PlanError, ReportError, pytest.UsageError) as error:
        parser.error(str(error))
    except OSError as error:
        parser.error(f"{error.filename or options.folder} cannot be written ({error.strerror or error})")
    for result in build_results([report]):
        print(f"{result.name}: {result.sentence}")
    assert report.footer is not None
    header, footer = report.header, report.footer
    cpu = "CPU time not measured" if footer.cpu_seconds is None else f"{say_duration(footer.cpu_seconds)} of CPU time"
    print(f"{header.items} item{'s' * (header.items != 1)}, {footer.examples} examples, {cpu}")
    given_up = tuple(str(each.item) for each in merged.untried)
    _print_some([f"  {sentence}" for sentence in footer.retries if not sentence.startswith(given_up)])
    _print_some([f"  not tried to its end: {each}" for each in merged.untried])
    if any(each.last.ending == Ending.KILLED and not each.item.isolate for each in merged.untried):
        print("  spec-tests plan --isolate gives each backend a process of its own: to end it is then a wrong answer of one law")
    print(f"written: {report.path}, {', '.join(path.name for path in files)}")
    return footer.exit_status


def _print_some(lines: Sequence[str]) -> None:
    for line in lines[:MAX_LISTED]:
        print(line)
    if len(lines) > MAX_LISTED:
        print(f"  {len(lines) - MAX_LISTED} more")
