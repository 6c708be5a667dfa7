"""Write the page of what changed between two reports of a library: what is fixed, newly wrong, or no longer tried, and why."""

from __future__ import annotations

from pathlib import Path

from ..implementation.printable import printable_line
from ..report import ReportError
from ._parser import SENTENCE, Parser, refuse

PAGE = "changes.html"


def main(argv: list[str]) -> int:
    """Write the page, and return the exit status: 0, or 4 if a report cannot be read or the page not be written."""
    parser = Parser("changes", __doc__)
    parser.add_argument("before", type=Path, metavar="OLD", help="what --report=DIR wrote, or its report.jsonl")
    parser.add_argument("after", type=Path, metavar="NEW", help="a later report of the same library")
    parser.add_argument("-o", "--output", type=Path, default=PAGE, metavar="FILE", help=f"the page (default: {PAGE}, here)")
    options = parser.parse_args(argv)
    try:
        return _write(options.before, options.after, options.output)
    except ReportError as error:
        return refuse(error)
    except OSError as error:
        parser.error(f"{options.output} cannot be written ({error.strerror or error})")


def _write(before: Path, after: Path, page: Path) -> int:
    from ..publishing.changes_page import compare, render_changes
    from ..report import read

    old, new = read(before), read(after)
    page.write_bytes(render_changes(old, new).encode())
    for comparison in compare(old, new):
        print(printable_line(f"{comparison.after.name}: {comparison.sentence}", SENTENCE))
    print(page)
    return 0
