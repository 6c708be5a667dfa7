"""python -m spec_tests.report DIR [DIR …] [-o FILE]: write the page of one report, or of several side by side."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..implementation.printable import printable
from . import PAGE, ReportError, read


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command: the reports, and the file to write."""
    parser.add_argument(
        "reports", nargs="+", metavar="DIR", help="what --report=DIR wrote, or its report.jsonl; differences are from the first"
    )
    parser.add_argument("-o", "--output", metavar="FILE", default=PAGE, help=f"the page (default: {PAGE}, here)")


def write_page(reports: list[str], output: str) -> int:
    """Write the page and return the exit status: 0, or 4 if a report cannot be read or the page cannot be written."""
    from .backend_results import build_results
    from .page import render_page

    try:
        text = render_page(build_results([read(report) for report in reports]))
        Path(output).write_text(text, encoding="utf-8", errors="backslashreplace")
    except ReportError as error:
        print(f"ERROR: {printable(str(error))}", file=sys.stderr)
        return 4
    except OSError as error:
        print(f"ERROR: {output} cannot be written ({error.strerror or error})", file=sys.stderr)
        return 4
    print(output)
    return 0


def main() -> int:
    """Write the page that the command line describes, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m spec_tests.report", description="A page of one report, or of several side by side."
    )
    add_arguments(parser)
    options = parser.parse_args()
    return write_page(options.reports, options.output)


if __name__ == "__main__":
    sys.exit(main())
