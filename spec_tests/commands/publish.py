"""Write the page and the badges of a signed report into a folder for a static host; or check such a folder."""

from __future__ import annotations

import sys
from pathlib import Path

from ..implementation.printable import printable_line
from ..report import ReportError
from ._parser import SENTENCE, Parser, refuse

FOLDER = "public"


def main(argv: list[str]) -> int:
    """Publish or check, and return the exit status.

    It is 0, 1 if a folder that is checked is not as it should be, or 4 if a report cannot be published or a file not be written.
    """
    parser = Parser("publish", __doc__)
    parser.add_argument("report", type=Path, metavar="DIR", help="a signed report; with --check, the published folder")
    parser.add_argument(
        "--signers", type=Path, metavar="FILE", required=True, help="who may sign: a name and a public key in each line"
    )
    parser.add_argument("-o", "--output", type=Path, default=FOLDER, metavar="DIR", help=f"the folder (default: {FOLDER}, here)")
    parser.add_argument(
        "--check", action="store_true", help="check that a published folder is made of its report, and who signed"
    )
    options = parser.parse_args(argv)
    if options.check:
        return _check(options.report, options.signers)
    try:
        return _publish(options.report, options.signers, options.output)
    except ReportError as error:
        return refuse(error)


def _publish(report: Path, signers: Path, folder: Path) -> int:
    from ..publishing.folder import write_files
    from ..publishing.publication import build_files
    from ..publishing.signed_report import read_own
    from ..report.signature import read_signers

    signed = read_own(report, signers)
    files = build_files(signed, read_signers(signers))
    write_files(folder, files)
    print(printable_line(f"{signed.report.path}: signed by {signed.signer}", SENTENCE))
    print(f"written: {', '.join(str(folder / name) for name in files)}")
    return 0


def _check(folder: Path, signers: Path) -> int:
    from ..publishing.check import check_folder

    try:
        signed, wrong = check_folder(folder, signers)
    except ReportError as error:
        refuse(error)
        return 1
    for sentence in wrong:
        print(f"ERROR: {printable_line(sentence, SENTENCE)}", file=sys.stderr)
    if not wrong:
        print(printable_line(f"{folder}: every file is made of the report, which is signed by {signed.signer}", SENTENCE))
    return bool(wrong)
