"""Check a published folder: the signature is one of a signer whom the reader trusts, and every file is made of the report."""

from __future__ import annotations

from pathlib import Path

from ..report import ReportError
from .folder import find_differences
from .publication import SIGNERS, build_files
from .signed_report import SignedReport, read_others


def check_folder(folder: Path, signers: Path) -> tuple[SignedReport, list[str]]:
    """Return the report of a published folder, and a sentence on each file that is not as it should be.

    Raise ReportError if the report is not to be trusted. The file of signers in the folder may name others than the reader's.
    """
    signed = read_others(folder, signers)
    theirs = folder / SIGNERS
    files = build_files(signed, theirs.read_bytes() if theirs.is_file() else b"")
    wrong = [
        f"{folder / name} is not what this version of the suite makes of the report" for name in find_differences(folder, files)
    ]
    return signed, wrong + _check_signers(folder, theirs, signed)


def _check_signers(folder: Path, theirs: Path, signed: SignedReport) -> list[str]:
    """Return a sentence if the file of signers that the folder shows to others does not name who has signed."""
    try:
        other = read_others(folder, theirs).signer
    except ReportError as error:
        return [str(error)]
    return [] if other == signed.signer else [f"{theirs} names the key of {signed.signer} as that of {other.principal}"]
