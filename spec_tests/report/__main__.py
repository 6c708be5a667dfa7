"""python -m spec_tests.report DIR [DIR …] [-o FILE]: write the page of one report, or of several side by side."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import PAGE, ReportError, read


def main() -> int:
    """Write the page and return the exit status: 0, or 4 if a report cannot be read or the page cannot be written."""
    parser = argparse.ArgumentParser(
        prog="python -m spec_tests.report", description="A page of one report, or of several side by side."
    )
    parser.add_argument(
        "reports", nargs="+", metavar="DIR", help="what --report=DIR wrote, or its report.jsonl; differences are from the first"
    )
    parser.add_argument("-o", "--output", metavar="FILE", default=PAGE, help=f"the page (default: {PAGE}, here)")
    options = parser.parse_args()
    from .backend_results import build_results
    from .page import render_page

    try:
        text = render_page(build_results([read(report) for report in options.reports]))
        Path(options.output).write_text(text, encoding="utf-8", errors="backslashreplace")
    except ReportError as error:
        print(f"ERROR: {error}", file=sys.stderr)
        return 4
    except OSError as error:
        print(f"ERROR: {options.output} cannot be written ({error.strerror or error})", file=sys.stderr)
        return 4
    print(options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
