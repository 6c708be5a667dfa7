"""Collect signed reports of others into a table of operations, libraries and versions, with the page of each report."""

from __future__ import annotations

import sys
from pathlib import Path

from ..implementation.printable import printable_line
from ..report import ReportError
from ._parser import SENTENCE, Parser, refuse

FOLDER = "table"


def main(argv: list[str]) -> int:
    """Collect, and return the exit status: 0, 1 if a report is refused, or 4 if there is none or a file cannot be written."""
    parser = Parser("collect", __doc__)
    parser.add_argument(
        "reports", type=Path, nargs="+", metavar="DIR", help="a signed report, or a folder with reports in folders inside"
    )
    parser.add_argument(
        "--signers", type=Path, metavar="FILE", required=True, help="who may sign: a name and a public key in each line"
    )
    parser.add_argument("-o", "--output", type=Path, default=FOLDER, metavar="DIR", help=f"the folder (default: {FOLDER}, here)")
    parser.add_argument("--partial", action="store_true", help="reports that are refused do not change the exit status")
    options = parser.parse_args(argv)
    try:
        return _collect(options.reports, options.signers, options.output) * (not options.partial)
    except ReportError as error:
        return refuse(error)


def _collect(places: list[Path], signers: Path, folder: Path) -> int:
    from ..publishing.collection import collect
    from ..publishing.folder import write_files
    from ..publishing.publication import INDEX
    from ..publishing.table import build_table
    from ..report.signature import read_signers

    allowed = read_signers(signers)
    collection = collect(places, signers, leave_out=folder)
    write_files(folder, build_table(collection, allowed))
    for refused in collection.refused:
        print(f"ERROR: {printable_line(refused.reason, SENTENCE)}", file=sys.stderr)
    for signed in collection.accepted:
        print(printable_line(f"{signed.report.path}: signed by {signed.signer}", SENTENCE))
    print(f"{folder / INDEX}: {len(collection.accepted)} reports, {len(collection.refused)} refused")
    return bool(collection.refused)
