"""Write the page of one report, or of several side by side."""

from __future__ import annotations

from ..report.__main__ import add_arguments, write_page
from ._parser import Parser


def main(argv: list[str]) -> int:
    """Write the page, and return the exit status: 0, or 4 if a report cannot be read or the page cannot be written."""
    parser = Parser("report", __doc__)
    add_arguments(parser)
    options = parser.parse_args(argv)
    return write_page(options.reports, options.output)
