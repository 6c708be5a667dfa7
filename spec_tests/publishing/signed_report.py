"""A report that others can trust: it is finished, none of its lines was changed, its backends ran apart, and it is signed."""

from __future__ import annotations

import hashlib
import shlex
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ..report import Report, ReportError, find_data, read_bytes, read_data
from ..report.backend_results import BackendResults, build_results
from ..report.chain import has_every_link
from ..report.signature import Signer, read_signature, verify_data


@dataclass(frozen=True)
class SignedReport:
    """A report, the bytes that were signed, the signature, and who has signed."""

    report: Report
    data: bytes = field(repr=False)
    signature: bytes = field(repr=False)
    signer: Signer

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def results(self) -> list[BackendResults]:
        """The results of each backend."""
        return build_results([self.report])


def read_own(path: Path, signers: Path) -> SignedReport:
    """Read a report to publish. Raise ReportError of one sentence, on what is wrong with it before what its signature lacks."""
    data = read_bytes(file := find_data(path))
    report = read_data(data, file)
    check(report, data)
    signature = read_signature(file)
    return SignedReport(report, data, signature, verify_data(data, signature, signers, file))


def read_others(path: Path, signers: Path) -> SignedReport:
    """Read a report that somebody else has made. Nothing of it is looked at before its signature is right."""
    data, signature = read_bytes(file := find_data(path)), read_signature(file)
    signer = verify_data(data, signature, signers, file)
    report = read_data(data, file)
    check(report, data)
    return SignedReport(report, data, signature, signer)


def check(report: Report, data: bytes) -> None:
    """Raise ReportError if nobody should publish the report, with what to type."""
    path, folder = report.path, shlex.quote(str(report.path.parent))
    command = f"spec-tests run BACKEND --isolate --report={folder}"
    if not report.complete:
        raise ReportError(
            f"{path} is not finished ({report.ending}), and only a whole run is published: {command} --resume tries the rest"
        )
    if not has_every_link(data) or not (report.footer and report.footer.sha256):
        raise ReportError(
            f"{path} has no whole chain of hashes, as an earlier version or another program wrote it: {command} writes one"
        )
    if report.shared:
        raise ReportError(
            f"{path} is of a run in which {', '.join(report.shared)} shared the process of its judge, and could change its own"
            f" verdict: publish one of {command}"
        )
