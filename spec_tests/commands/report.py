"""Write the page of one report, or of several side by side; or sign a report, or check its signature."""

from __future__ import annotations

from pathlib import Path

from ..report import ReportError
from ..report.__main__ import add_arguments, write_page
from ._parser import Parser, refuse


def main(argv: list[str]) -> int:
    """Write the page, or the signature, and return the exit status.

    It is 0, 1 if a signature is not right, or 4 if a report cannot be read or a file cannot be written.
    """
    parser = Parser("report", __doc__)
    add_arguments(parser)
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--sign", type=Path, metavar="KEY", help="sign the reports with this SSH key, in place of writing a page")
    way.add_argument(
        "--verify",
        type=Path,
        metavar="SIGNERS",
        help="check that each report is signed by one whom this file names",
    )
    options = parser.parse_args(argv)
    if options.sign or options.verify:
        return _sign(options.reports, options.sign) if options.sign else _verify(options.reports, options.verify)
    return write_page(options.reports, options.output)


def _sign(reports: list[str], key: Path) -> int:
    from ..report.signature import sign

    try:
        for report in reports:
            print(sign(report, key))
    except ReportError as error:
        return refuse(error)
    return 0


def _verify(reports: list[str], signers: Path) -> int:
    from ..report import read
    from ..report.signature import verify

    wrong = 0
    for report in reports:
        try:
            print(f"{read(report).path}: signed by {verify(report, signers)}")
        except ReportError as error:
            refuse(error)
            wrong = 1
    return wrong
